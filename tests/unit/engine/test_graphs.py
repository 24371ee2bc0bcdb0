"""Which batches NPUs capture as graphs, and when the operator sets them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.cases import NPU, case, spec

from specdec_engine.check import check
from specdec_engine.graph_coverage import coverage
from specdec_engine.graphs import capture_sizes
from specdec_engine.resolve import resolve
from specdec_engine.version import Flavor
from specdec_operator.engine.build import build_of
from specdec_operator.engine.translate import translate

RELEASES = ("0.11.0", "0.13.0", "0.17.0", "0.18.0", "0.23.0", "0.25.1")
NGRAM = {"method": "ngram", "tokens": 2}
SIZES = [3, 6, 9, 12, 18, 24, 30]


def sizes(version: str, requests: int, tokens: int) -> list[int]:
    return capture_sizes(build_of("ascend", version), requests=requests, tokens=tokens)


def flag(speculation: dict[str, Any] | None = NGRAM, **engine: Any) -> Any:
    """The flag of a sis on NPUs with ten requests in a batch; None where there is none."""
    spec = {"engine": {"accelerator": "ascend", "maxNumSeqs": 10} | engine}
    made = translate(spec | ({"speculation": speculation} if speculation else {}), draft_path="/d")
    return made.flags.get("compilation_config")


@pytest.mark.parametrize(
    ("version", "requests", "tokens", "wanted"),
    [
        ("0.23.0", 10, 2, [3, 6, 9, 12, 18, 24, 30]),  # the engine's own end is 24, that is 8 requests
        ("0.23.0", 1, 4, [5]),  # the engine finds no sizes: `No valid cudagraph sizes`
        ("0.23.0", 4, 4, [5, 10, 15, 20]),  # as the operators of NPUs write it: 1 to 4 requests of 5 tokens
        ("0.23.0", 10, 3, []),  # 40 is among the engine's own
        ("0.23.0", 64, 3, []),
        ("0.18.0", 10, 2, [3, 6, 9, 12, 18, 24, 30]),
        ("0.18.0", 10, 3, []),
        ("0.17.0", 10, 3, [4, 8, 12, 16, 24, 32, 40]),  # the engine's own end is 80: twice what is ever needed
        ("0.11.0", 4, 1, [2, 4, 6, 8]),
        ("0.13.0", 129, 3, []),  # 516 tokens: the engine ends at 512, too
        ("0.23.0", 128, 3, []),
    ],
)
def test_sizes_are_given_where_the_engine_would_miss_the_fullest_batch_or_take_too_many(
    version: str, requests: int, tokens: int, wanted: list[int]
) -> None:
    assert sizes(version, requests, tokens) == wanted


@given(
    version=st.sampled_from(RELEASES),
    requests=st.integers(1, 600),
    tokens=st.integers(1, 15),
)
def test_every_size_is_a_whole_number_of_requests_and_the_last_is_the_fullest_batch(
    version: str, requests: int, tokens: int
) -> None:
    """Whatever is asked; and no graph is larger than the engine's own largest."""
    made = sizes(version, requests, tokens)
    assert all(size % (1 + tokens) == 0 for size in made)
    assert made == sorted(set(made))
    assert not made or made[-1] == requests * (1 + tokens) <= 512


def test_the_flag_follows_from_the_spec() -> None:
    assert flag() == {"cudagraph_capture_sizes": SIZES}


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        (['--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'], {"cudagraph_mode": "FULL_DECODE_ONLY"}),
        (["--compilation_config", '{"mode": 3}'], {"mode": 3}),
        (["--compilation-config.cudagraph_mode=PIECEWISE"], {"cudagraph_mode": "PIECEWISE"}),
    ],
)
def test_sizes_are_added_to_the_config_of_the_user(args: list[str], kept: dict[str, Any]) -> None:
    """As one flag, because the engine takes the last of two."""
    asked = ["--seed=1024", *args, "--trust-remote-code"]
    spec = {"engine": {"accelerator": "ascend", "maxNumSeqs": 10, "args": asked}, "speculation": NGRAM}
    made = translate(spec, draft_path="/d")
    assert made.flags["compilation_config"] == kept | {"cudagraph_capture_sizes": SIZES}
    assert made.extra == ("--seed=1024", "--trust-remote-code")
    plain = translate(spec, draft_path="/d", speculate=False)
    assert plain.extra == tuple(asked)


@pytest.mark.parametrize(
    ("speculation", "engine"),
    [
        (NGRAM, {"accelerator": "nvidia"}),
        (NGRAM, {"accelerator": "cpu"}),
        (NGRAM, {"maxNumSeqs": None}),
        (NGRAM, {"enforceEager": True}),
        (None, {}),
        ({"method": "suffix"}, {}),  # 10 requests of 16 tokens: the engine's own
        (NGRAM | {"tokensByBatchSize": [{"upTo": 4, "tokens": 2}, {"tokens": 1}]}, {}),
        (NGRAM, {"args": ['--compilation-config={"cudagraph_mode":"none"}']}),
        (NGRAM, {"args": ['--compilation-config={"level":0}']}),
        (NGRAM, {"args": ['--compilation-config={"cudagraph_capture_sizes":[3]}']}),
        (NGRAM, {"args": ['--compilation-config={"max_cudagraph_capture_size":30}']}),
        (NGRAM, {"args": ['--compilation-config={"cudagraph_mode":"$(MODE)"}']}),
        (NGRAM, {"args": ['-O={"cudagraph_mode":"FULL_DECODE_ONLY"}']}),
        (NGRAM, {"args": ["--cudagraph-capture-sizes", "3", "6"]}),
        (NGRAM, {"args": ["--max-cudagraph-capture-size=64"]}),
    ],
)
def test_no_flag_if_it_controls_nothing_or_the_user_has_set_the_graphs(
    speculation: dict[str, Any] | None, engine: dict[str, Any]
) -> None:
    """The operator never overrides graphs that users choose themselves."""
    assert flag(speculation, **engine) is None


FULL = {"cudagraph_mode": "FULL_DECODE_ONLY"}


@pytest.mark.parametrize(
    ("version", "flavor", "k", "args", "requests"),
    [
        ("0.33.0", Flavor.VLLM, 3, {"max_num_seqs": 256}, 128),
        ("0.33.0", Flavor.VLLM, 3, {"max_num_seqs": 100}, 100),
        ("0.33.0", Flavor.VLLM, 6, {"max_num_seqs": 256}, 73),
        ("0.24.0", Flavor.VLLM, 6, {"max_num_seqs": 256}, 71),  # 497 is the last that a size is rounded to
        ("0.11.2", Flavor.VLLM, 3, {"max_num_seqs": 16}, 8),  # its sizes do not know of draft tokens: 32 at most
        ("0.15.1", Flavor.VLLM, 3, {"max_num_seqs": 16}, 16),
        ("0.23.0", NPU, 2, {"max_num_seqs": 10}, 8),
        ("0.23.0", NPU, 3, {"max_num_seqs": 264, "compilation_config": {"cudagraph_capture_sizes": [4, 8, 16, 32]}}, 8),
        ("0.23.0", NPU, 3, {"max_num_seqs": 64, "compilation_config": {"max_cudagraph_capture_size": 130}}, 32),
        ("0.25.1", Flavor.VLLM, 3, {"max_num_seqs": 64, "cudagraph_capture_sizes": ["6", "9"]}, 2),
        ("0.25.1", Flavor.VLLM, 3, {"max_num_seqs": 64, "cudagraph_capture_sizes": ["2"]}, 0),
        ("0.25.1", Flavor.VLLM, 3, {"max_num_seqs": 64, "max_num_batched_tokens": 64}, 16),
    ],
)
def test_how_many_requests_decode_in_graphs(
    version: str, flavor: Flavor, k: int, args: dict[str, Any], requests: int
) -> None:
    ascend = version if flavor is NPU else ""
    made = coverage(resolve(case(spec("ngram", k), version=version, ascend=ascend, flavor=flavor, **args)))
    assert {each.requests for each in made} == {requests}


@pytest.mark.parametrize(
    ("version", "flavor", "args"),
    [
        ("0.33.0", Flavor.VLLM, {"enforce_eager": True}),
        ("0.33.0", Flavor.VLLM, {"compilation_config": {"cudagraph_mode": "none"}}),
        ("0.33.0", Flavor.VLLM, {"optimization_level": 0}),
        ("0.32.0", Flavor.VLLM_CPU, {}),
        ("0.11.0", NPU, {}),  # the plug-in multiplies its sizes by 1 + K
    ],
)
def test_nothing_is_covered_without_graphs_or_with_graphs_for_every_batch(
    version: str, flavor: Flavor, args: dict[str, Any]
) -> None:
    ascend = version if flavor is NPU else ""
    asked = case(spec("ngram"), version=version, ascend=ascend, flavor=flavor, max_num_seqs=1000, **args)
    assert coverage(resolve(asked)) == ()


def test_a_schedule_of_tokens_has_no_one_size_of_a_request() -> None:
    asked = spec("ngram", num_speculative_tokens_per_batch_size=[[1, 8, 3]])
    assert coverage(resolve(case(asked, version="0.33.0", max_num_seqs=1000))) == ()


def test_a_large_gpu_captures_more() -> None:
    """Twice as many tokens on Blackwell, since 0.28 for certain."""
    asked = case(spec("ngram"), version="0.33.0", max_num_seqs=256)
    (made,) = coverage(resolve(replace(asked, device_name="NVIDIA B200", device_bytes=180 << 30)))
    assert made.requests == 256


def test_the_warning_has_the_number_of_requests_and_the_way_out() -> None:
    sizes = {"cudagraph_capture_sizes": [4, 8, 16, 32], **FULL}
    asked = case(spec("mtp"), version="0.23.0", ascend="0.23.0", flavor=NPU, max_num_seqs=264, compilation_config=sizes)
    (found,) = (each for each in check(asked) if each.rule.id == "GRAPH-COVERAGE")
    assert "above 8 requests" in found.message
    assert "set maxNumSeqs to 8" in found.message


@pytest.mark.parametrize(
    ("sizes", "words"),
    [([6, 9], "captures [8]"), ([1, 2, 5], "captures [4]"), ([1, 4, 6, 12], "captures [4, 8, 12]")],
)
def test_what_becomes_of_other_sizes_is_shown(sizes: list[int], words: str) -> None:
    """The engine rounds them up since 0.11.2."""
    asked = case(spec("ngram"), version="0.25.1", compilation_config={"cudagraph_capture_sizes": sizes})
    (found,) = (each for each in check(asked) if each.rule.id == "GRAPH-SIZES")
    assert words in found.message


def test_an_attention_backend_may_not_capture_whole_steps() -> None:
    """So on GPUs, nothing is refused for a mode or a backend that is only assumed."""
    small: dict[str, Any] = {"cudagraph_capture_sizes": [1, 2]}
    for more in (
        {"compilation_config": small},
        {"compilation_config": small | FULL, "attention_backend": "FLASHINFER"},
    ):
        rules = {each.rule.id for each in check(case(spec("ngram"), version="0.25.1", **more))}
        assert not rules & {"GRAPH-START"}
