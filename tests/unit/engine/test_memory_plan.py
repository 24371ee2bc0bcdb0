"""The memory plan: worked examples, what it cannot know, and what always holds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine import memory_models as models

from specdec_engine.memory.inputs import GIB, NONE, parse_reserve
from specdec_engine.memory.plan import plan
from specdec_engine.memory.terms import Item


def test_an_eagle3_head_beside_llama_8b_on_80_gib() -> None:
    """Nothing is lowered: the head is within the budget, and 1.05 GiB fit into the 6.4 GiB outside of it.

    Budget 0.92 x 85 899 345 920 = 79 027 398 246. Less target 16 060 522 496, head 849 362 944, graphs 1 GiB and
    activations 2 GiB: 58 896 287 334, at 131 072 + 4 096 bytes a token 435 726 tokens. Without the head
    59 745 650 278, at 131 072 bytes 455 823 tokens.
    """
    made = plan(models.ask("vllm 0.33.0", models.LLAMA_8B, models.EAGLE3_8B, tokens=3))
    assert (made.utilization, made.lowered_by) == (0.92, 0.0)
    assert made.because.startswith("0.92 unchanged: it includes the draft's weights and cache, and 1.05 GiB")
    assert "(verification logits 564 MiB, communication and other processes 512 MiB; estimates)" in made.because
    assert made.draft_weights == 849_362_944
    assert (made.kv_tokens, made.baseline_kv_tokens) == (435_726, 455_823)
    assert made.kv_price == "\u22124 % KV blocks"
    assert made.fits
    assert made.reason == "about 54.9 GiB of cache hold 3.3 requests of 131072 tokens"


def test_a_draft_of_8b_beside_70b_on_four_devices() -> None:
    """A quarter of each: target 35 276 853 248, draft 4 015 130 624; a token takes 81 920 + 32 768 bytes.

    Budget 79 027 398 246 less both, graphs 1 GiB, activations 2 GiB: 36 514 188 902 bytes, 318 378 tokens; plain
    40 529 319 526 bytes, 494 742 tokens. A draft model's cache costs more than its weights.
    """
    made = plan(
        models.ask(
            "vllm 0.25.1", models.LLAMA_70B, models.LLAMA_8B, method="draft_model", tokens=4, tensor_parallel_size=4
        )
    )
    assert made.utilization == 0.92
    assert made.draft_weights == 4_015_130_624
    assert (made.kv_tokens, made.baseline_kv_tokens) == (318_378, 494_742)
    assert made.kv_price == "\u221236 % KV blocks"
    assert made.fits


def test_what_an_old_engine_does_not_count_is_taken_off() -> None:
    """Graphs 1 GiB, 256 x 3 x 128 256 x 10 bytes of logits and 0.5 GiB: 2.42 GiB, but 0.9 of 24 GiB leaves 2.40."""
    made = plan(models.ask("vllm 0.19.1", tokens=4, gib=24, max_model_len=8192))
    assert (made.utilization, made.lowered_by) == (0.89, 0.01)
    assert made.because == (
        "0.9 lowered to 0.89: 2.42 GiB that the engine does not count (graphs 1 GiB, verification logits 939 MiB, "
        "communication and other processes 512 MiB; estimates) exceed the 2.4 GiB that 0.9 of 24 GiB leaves; fewer "
        "than 256 requests in a batch (maxNumSeqs) would need less memory"
    )
    assert made.fits


def test_it_is_not_lowered_below_what_the_model_needs() -> None:
    """Budget of 0.9: 21.6 GiB; needed: 16.48 GiB of weights, 2 of activations and 3.1 of cache for 24 464 tokens."""
    made = plan(models.ask("vllm 0.19.1", tokens=4, gib=24, max_model_len=24_464))
    assert made.utilization == 0.899
    assert "; not to 0.89, because the model and one request of the maximum length need 0.899" in made.because
    assert made.kv_tokens == 24_464


def test_what_exceeds_both_the_budget_and_the_device_does_not_fit() -> None:
    """64 GiB: the model needs 0.75 of it, 1024 requests x 16 tokens have 18.3 GiB of logits: 2.4 GiB too much."""
    made = plan(
        models.ask("vllm 0.20.2", tokens=16, gib=64, max_num_seqs=1024, target_bytes=42 * GIB, max_model_len=16384)
    )
    assert made.fits is False
    assert "missing outside the engine's budget, and the model needs the whole budget" in made.reason
    assert made.kv_tokens == 16384


def test_a_long_request_that_has_no_room_does_not_fit() -> None:
    made = plan(models.ask("vllm 0.33.0", gib=24))
    assert made.fits is False
    assert made.reason.startswith(
        "one request of 131072 tokens needs about 16.5 GiB of cache, and about 2.6 GiB are left"
    )
    assert made.kv_tokens is not None
    assert made.kv_tokens < 131_072


@pytest.mark.parametrize(
    ("gib", "asked", "reserve", "utilization", "says"),
    [
        (80, 0.9, "None", 0.9, "0.9 unchanged: draftReserve is None"),
        (80, 0.9, "6%", 0.84, "0.9 lowered to 0.84: draftReserve is 6%"),
        (80, 0.9, "2Gi", 0.87, "0.9 lowered to 0.87: draftReserve is 2Gi"),  # 0.9 - 2/80 = 0.875
        (80, 0.9, "0.8Gi", 0.89, "0.9 lowered to 0.89: draftReserve is 0.8Gi"),  # 0.9 - 0.01 exactly
        (None, None, "6%", 0.86, "0.92 lowered to 0.86: draftReserve is 6%"),
        (None, None, "2Gi", 0.92, "0.92 unchanged: the device's memory is unknown"),
        (None, None, "Counted", 0.92, "0.92 unchanged: draftReserve is Counted, which needs the device's memory"),
        (None, None, "None", 0.92, "0.92 unchanged: draftReserve is None"),
    ],
)
def test_a_plain_rule_is_followed(
    gib: float | None, asked: float | None, reserve: str, utilization: float, says: str
) -> None:
    """A share needs no device."""
    made = plan(models.ask(gib=gib, gpu_memory_utilization=asked, reserve=parse_reserve(reserve)))
    assert made.utilization == utilization
    assert made.because.startswith(says)


def test_what_is_lowered_is_part_of_the_price() -> None:
    """Budget of 0.8 less 19.5 GiB of target, graphs, activations and head, against all of 0.9 without the head."""
    made = plan(
        models.ask(draft=models.EAGLE3_8B, gpu_memory_utilization=0.9, reserve=parse_reserve("10%"), max_model_len=1024)
    )
    assert made.baseline_kv_tokens == (int(0.9 * 80 * GIB) - 16_060_522_496 - 3 * GIB) // 131_072
    assert made.kv_tokens == (64 * GIB - 16_060_522_496 - 849_362_944 - 3 * GIB) // 135_168
    assert made.kv_price == "\u221219 % KV blocks"


@pytest.mark.parametrize(
    ("args", "per_token"),
    [
        ({}, 131_072 + 4096),
        ({"kv_cache_dtype": "fp8"}, 65_536 + 2048),
        ({"pipeline_parallel_size": 2}, 65_536 + 4096),  # half of the target's layers, the draft's one
        ({"tensor_parallel_size": 2}, 65_536 + 2048),
    ],
)
def test_what_a_token_takes_on_a_device(args: models.Config, per_token: int) -> None:
    made = plan(models.ask(draft=models.EAGLE3_8B, **args))
    caches = sum(term.bytes for term in made.terms if term.name in (Item.TARGET_CACHE, Item.DRAFT_CACHE))
    assert made.kv_tokens == caches // per_token


def test_a_plain_rule_stops_at_what_the_model_needs_too() -> None:
    """14.96 + 1.53 GiB of weights, 3 of graphs and activations and 1.03 of cache are 0.8548 of 24 GiB."""
    made = plan(models.ask("vllm 0.33.0", gib=24, max_model_len=8192, reserve=parse_reserve("40%")))
    assert made.utilization == 0.855
    assert "not to 0.52" in made.because
    assert made.fits


def test_a_plain_rule_leaves_something_of_a_model_that_is_not_known() -> None:
    assert plan(models.ask(target=None, method="ngram", reserve=parse_reserve("99%"))).utilization == 0.01


@pytest.mark.parametrize(("engine", "default"), [("vllm 0.19.1", 0.9), ("vllm 0.20.0", 0.92)])
def test_the_engines_own_default_is_the_start(engine: str, default: float) -> None:
    assert plan(models.ask(engine, method=None)).utilization == default


def test_an_npu_with_uncounted_graphs_stays_at_0_9() -> None:
    made = plan(models.ask("vllm-ascend 0.23.0", gib=64, tokens=1))
    assert (made.utilization, made.lowered_by) == (0.9, 0.02)
    assert made.because == "0.92 lowered to 0.9: vllm-ascend captures graphs (3 GiB, an estimate) outside of it"
    assert plan(models.ask("vllm-ascend 0.22.1", gib=64, tokens=1)).utilization == 0.92
    assert plan(models.ask("vllm-ascend 0.23.0", gib=64, tokens=1, enforce_eager=True)).utilization == 0.92
    assert plan(models.ask("vllm-ascend 0.23.0", gib=64, tokens=1, reserve=NONE)).utilization == 0.92


@pytest.mark.parametrize("gib", [64, None])
def test_a_utilization_of_the_user_for_an_npu_stays(gib: float | None) -> None:
    """0.9 is a rule of thumb, and a utilisation that the user wrote is not."""
    assert plan(models.ask("vllm-ascend 0.23.0", gib=gib, tokens=1, gpu_memory_utilization=0.91)).utilization == 0.91


@pytest.mark.parametrize(
    ("engine", "args", "utilization"),
    [
        ("vllm-ascend 0.23.0", {}, 0.9),
        ("vllm-ascend 0.22.1", {}, 0.92),  # it counts its graphs
        ("vllm-ascend 0.18.0", {}, 0.9),  # its default
        ("vllm-ascend 0.23.0", {"enforce_eager": True}, 0.92),
        ("vllm-ascend 0.23.0", {"method": None}, 0.92),
        ("vllm-ascend 0.23.0", {"reserve": NONE}, 0.92),
        ("vllm-ascend 0.23.0", {"reserve": parse_reserve("6%")}, 0.86),
        ("vllm 0.33.0", {}, 0.92),
    ],
)
def test_an_npu_of_unknown_memory_leaves_room_for_graphs_too(
    engine: str, args: models.Config, utilization: float
) -> None:
    """The spec rarely has the device's memory. To run out of it while graphs are captured is the usual fault there."""
    made = plan(models.ask(engine, gib=None, **args))
    assert made.utilization == utilization
    assert ("vllm-ascend captures graphs outside of this budget" in made.because) is (
        utilization == 0.9 and made.lowered_by > 0
    )


def test_without_speculation_nothing_is_reserved() -> None:
    """Graphs and other processes take 1.5 GiB outside of 0.9, which leaves 1.2 of 12 GiB; that was so before."""
    made = plan(models.ask("vllm 0.17.0", gib=12, method=None, target_bytes=GIB, max_model_len=1024))
    assert made.lowered_by == 0
    assert made.because == "0.9 unchanged: no draft, so no memory is reserved for one"
    assert (made.kv_price, made.draft_weights) == ("", None)
    assert made.kv_tokens == made.baseline_kv_tokens


@pytest.mark.parametrize("method", ["ngram", "suffix"])
def test_guessing_from_text_costs_no_cache(method: str) -> None:
    made = plan(models.ask("vllm 0.33.0", method=method, tokens=4))
    assert (made.draft_weights, made.kv_price) == (0, "no KV blocks")


def test_an_unknown_device_leaves_the_utilisation_as_it_is() -> None:
    made = plan(models.ask("vllm 0.33.0", models.LLAMA_8B, models.EAGLE3_8B, gib=None, gpu_memory_utilization=0.8))
    assert (made.utilization, made.lowered_by, made.fits, made.kv_tokens) == (0.8, 0.0, None, None)
    assert "device's memory is unknown" in made.reason
    assert made.draft_weights == 849_362_944
    assert made.kv_price == "3 % more cache for each token, in addition to the draft's weights"  # 4 096 / 131 072


@pytest.mark.parametrize(
    ("target", "method", "lacking"),
    [
        (None, "ngram", "the target"),
        (models.LLAMA_8B, "custom_class", "the draft"),
        (None, "eagle3", "the target and the draft"),
    ],
)
def test_unknown_models_are_named(target: models.Config | None, method: str, lacking: str) -> None:
    made = plan(models.ask("vllm 0.33.0", target, method=method))
    assert (made.fits, made.kv_tokens, made.kv_price) == (None, None, "")
    assert made.reason == f"it is unknown whether the models fit: the sizes of {lacking} are unknown"
    assert made.utilization == 0.92


def test_a_model_without_a_growing_cache_is_not_judged() -> None:
    mamba = models.LLAMA_8B | {"hybrid_override_pattern": "M" * 32}
    made = plan(models.ask("vllm 0.33.0", mamba, method="ngram"))
    assert (made.fits, made.kv_tokens) == (None, None)
    assert "no cache that grows" in made.reason


def test_a_model_without_a_greatest_length_is_judged_by_one_token() -> None:
    made = plan(models.ask("vllm 0.33.0", models.LLAMA_8B | {"max_position_embeddings": None}))
    assert made.fits
    assert "requests of one token (the maximum length is unknown)" in made.reason


def test_the_counted_terms_make_up_the_budget() -> None:
    made = plan(models.ask("vllm 0.33.0", models.LLAMA_8B, models.EAGLE3_8B))
    assert sum(term.bytes for term in made.terms if term.counted) == math.floor(0.92 * 80 * GIB)
    caches = {term.name: term.bytes for term in made.terms}
    assert caches[Item.TARGET_CACHE] / caches[Item.DRAFT_CACHE] == pytest.approx(32, rel=1e-6)


ENGINES = st.sampled_from(["vllm 0.17.0", "vllm 0.19.1", "vllm 0.27.0", "vllm 0.33.0", "vllm-ascend 0.23.0"])
RESERVES = st.sampled_from(["Auto", "None", "1%", "12.5%", "2Gi", "300Gi"]).map(parse_reserve)
ASKED = st.fixed_dictionaries(
    {
        "engine": ENGINES,
        "gib": st.integers(12, 192),
        "tokens": st.integers(1, 16),
        "max_num_seqs": st.sampled_from([1, 64, 256, 1024]),
        "max_model_len": st.sampled_from([1, 2048, 20_000, 131_072]),
        "gpu_memory_utilization": st.sampled_from([None, 0.1, 0.5, 0.857, 0.9, 0.95, 1.0]),
        "target_bytes": st.sampled_from([None, GIB, 16 * GIB, 60 * GIB]),
        "reserve": RESERVES,
    }
)


@given(ASKED, st.lists(st.integers(0, 40 * GIB), min_size=2, max_size=2))
def test_a_heavier_draft_never_leaves_more_cache(asked: models.Config, weights: list[int]) -> None:
    light, heavy = (plan(models.ask(**asked, draft_bytes=each)).kv_tokens for each in sorted(weights))
    assert light is not None
    assert heavy is not None
    assert light >= heavy


@given(ASKED)
def test_the_utilisation_stays_between_what_is_needed_and_what_is_asked(asked: models.Config) -> None:
    made = plan(models.ask(**asked))
    assert (made.fits is None, bool(made.because), bool(made.reason)) == (False, True, True)
    start = asked["gpu_memory_utilization"] or (0.92 if asked["engine"] > "vllm 0.2" else 0.9)
    assert made.utilization is not None
    assert 0 < made.utilization <= start
    assert made.lowered_by == pytest.approx(start - made.utilization)
    if made.fits:
        needed = sum(t.bytes for t in made.terms if t.counted and t.name not in (Item.TARGET_CACHE, Item.DRAFT_CACHE))
        request = asked["max_model_len"] * (131_072 + 4096)
        assert made.utilization * asked["gib"] * GIB >= needed + request - 1
