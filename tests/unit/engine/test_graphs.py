"""Which batches NPUs capture as graphs, and when the operator sets them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_engine.graphs import capture_sizes
from specdec_operator.engine.build import build_of
from specdec_operator.engine.translate import translate

RELEASES = ("0.11.0", "0.13.0", "0.17.0", "0.18.0", "0.23.0", "0.25.1")
NGRAM = {"method": "ngram", "tokens": 2}


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
        ("0.23.0", 10, 2, [3, 6, 9, 18, 24, 30]),  # the engine's own end is 24, that is 8 requests
        ("0.23.0", 1, 4, [5]),  # the engine finds no sizes: `No valid cudagraph sizes`
        ("0.23.0", 10, 3, []),  # 40 is among the engine's own
        ("0.23.0", 64, 3, []),
        ("0.18.0", 10, 2, [3, 6, 9, 18, 24, 30]),
        ("0.18.0", 10, 3, []),
        ("0.17.0", 10, 3, [4, 8, 16, 24, 32, 40]),  # the engine's own end is 80: twice what is ever needed
        ("0.11.0", 4, 1, [2, 4, 8]),
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
    assert flag() == {"cudagraph_capture_sizes": [3, 6, 9, 18, 24, 30]}


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
        (NGRAM, {"args": ['--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}']}),
        (NGRAM, {"args": ['-O={"cudagraph_mode":"FULL_DECODE_ONLY"}']}),
        (NGRAM, {"args": ["--compilation-config.cudagraph_mode=PIECEWISE"]}),
        (NGRAM, {"args": ["--cudagraph-capture-sizes", "3", "6"]}),
        (NGRAM, {"args": ["--max-cudagraph-capture-size=64"]}),
    ],
)
def test_no_flag_if_it_controls_nothing_or_the_user_has_set_the_graphs(
    speculation: dict[str, Any] | None, engine: dict[str, Any]
) -> None:
    """The operator never overrides graphs that users choose themselves."""
    assert flag(speculation, **engine) is None
