"""Rules about engines: what finds each mistake and nothing else, and what depends on the device or the version."""

from dataclasses import replace

import pytest
from tests.unit.engine import rule_sides, rule_sides_graphs, rule_sides_newer, rule_sides_sampling
from tests.unit.engine.cases import broken, case, spec
from tests.unit.engine.rule_sides_newer import EAGLE3, newest, npu

SIDES = [*rule_sides.SIDES, *rule_sides_newer.SIDES, *rule_sides_sampling.SIDES, *rule_sides_graphs.SIDES]
"""Each rule on both sides, except those that alone explain a recorded refusal: test_verdicts.py has these."""


def test_a_rule_finds_its_mistake_and_nothing_else() -> None:
    """The rules that do not, each with the case that shows it."""
    silent = [(rule, mistake) for rule, mistake, _ in SIDES if rule not in broken(mistake)]
    wrong = [(rule, sound) for rule, _, sound in SIDES if rule in broken(sound)]
    assert (silent, wrong) == ([], [])


@pytest.mark.parametrize("method", ["eagle", "eagle3", "dflash", "medusa", "draft_model", "mtp", "dspark"])
def test_what_is_not_known_is_not_refused(method: str) -> None:
    """Rules about models that were not read have no findings."""
    asked = spec(method, 1, model="/models/draft")
    assert not {
        each for each in broken(case(asked, target=None)) if each.startswith(("MODEL", "ARCH", "VOCAB", "HEAD"))
    }


@pytest.mark.parametrize(
    ("tokens", "method", "draft", "refused"),
    [
        (3, "eagle3", "d-eagle3", True),
        (4, "eagle3", "d-eagle3", False),
        (4, "dflash", "d-dflash", True),
        (5, "dflash", "d-dflash", False),
        (1, "ngram", None, False),
        (4, "draft_model", "d-llama", False),
    ],
)
def test_since_0_33_a_batch_holds_more_than_one_drafter_writes_ahead(
    *, tokens: int, method: str, draft: str | None, refused: bool
) -> None:
    """K for chains, K + 1 for dflash, nothing for what needs no cache of its own."""
    target = "qwen3" if method == "dflash" else "llama"
    asked = newest(spec(method), target=target, draft=draft, max_num_batched_tokens=tokens, max_num_seqs=1)
    assert ("SLOTS-ONE" in broken(asked)) is refused


@pytest.mark.parametrize(
    ("gib", "name", "k", "args", "refused"),
    [
        (80, "NVIDIA H100", 8, {}, True),
        (80, "NVIDIA H100", 7, {}, False),
        (180, "NVIDIA B200", 8, {}, False),
        (24, "NVIDIA L4", 8, {}, True),
        (None, "", 8, {}, False),
        (None, "", 16, {}, True),
        (80, "NVIDIA H100", 3, {"max_num_batched_tokens": 2048}, True),
        (80, "NVIDIA A100-SXM4-80GB", 3, {"max_num_batched_tokens": 2048}, False),  # filled in like a small device
        (80, "", 3, {"max_num_batched_tokens": 2048}, False),  # which may be an A100
    ],
)
def test_what_is_filled_in_depends_on_the_device(
    *, gib: int | None, name: str, k: int, args: dict[str, int], refused: bool
) -> None:
    """LoRA needs K + 1 tokens for each of 1024 requests, or 256. An unknown device is refused only what every device
    refuses.
    """
    known = newest(spec("ngram", k), enable_lora=True, **args)
    made = replace(known, device_bytes=None if gib is None else gib << 30, device_name=name)
    assert ("LORA-BATCH" in broken(made)) is refused


@pytest.mark.parametrize("mode", ["FULL", "full_decode_only", None])
def test_full_graphs_are_vllm_ascends_default(mode: str | None) -> None:
    """So an unpadded drafter is refused unless graphs are named that can run it."""
    unpadded = {**EAGLE3, "disable_padded_drafter_batch": True}
    graphs = {} if mode is None else {"compilation_config": {"cudagraph_mode": mode}}
    assert "ASC-UNPADDED" in broken(npu(unpadded, draft="d-eagle3", **graphs))
    assert "ASC-UNPADDED" not in broken(npu(unpadded, draft="d-eagle3", compilation_config={"cudagraph_mode": "NONE"}))


def test_a_recurrent_target_has_nothing_to_spread_over_context_ranks() -> None:
    """The engine divides by its number of heads, and falls over it; found by drawing."""
    split = {"tensor_parallel_size": 2, "decode_context_parallel_size": 2}
    assert "DCP-HEADS" in broken(newest(spec("ngram"), target="mamba", **split))
    assert "DCP-HEADS" not in broken(newest(spec("ngram"), target="mamba", tensor_parallel_size=2))


def test_vllm_ascend_runs_a_head_behind_a_pipeline() -> None:
    """Since 0.22.1, while vLLM itself refuses it up to 0.29."""
    assert "PP-DRAFT" not in broken(npu(EAGLE3, draft="d-eagle3", pipeline_parallel_size=2))
    assert "PP-DRAFT" in broken(case(EAGLE3, draft="d-eagle3", pipeline_parallel_size=2, version="0.25.1"))
