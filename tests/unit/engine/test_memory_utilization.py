"""draftReserve Auto: the utilisation is lowered wherever a draft is loaded, by what speculation adds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine import memory_models as models

from specdec_engine.memory.inputs import AUTO, COUNTED, NONE
from specdec_engine.memory.plan import MemoryPlan, plan


def auto(engine: str = "vllm 0.33.0", draft: models.Config | None = models.EAGLE3_8B, **asked: object) -> MemoryPlan:
    """The plan for an EAGLE-3 head with an 8B target, unless the arguments change it."""
    return plan(models.ask(engine, asked.pop("target", models.LLAMA_8B), draft, reserve=AUTO, **asked))  # type: ignore[arg-type]


def test_an_eagle3_head_beside_an_8b_on_an_a30() -> None:
    """256 x 2 x 128 256 x 10 bytes of logits, 1 GiB of graphs that 0.19 does not count, 0.5 GiB: 2.11 GiB of 24."""
    made = auto("vllm 0.19.1", gib=24, max_model_len=4096)
    assert (made.utilization, made.lowered_by) == (0.81, pytest.approx(0.09))
    assert made.because == (
        "0.9 lowered to 0.81: 2.11 GiB that speculation adds and the engine does not count (verification logits "
        "626 MiB, graphs of the draft 1 GiB, fragmentation 512 MiB; upper ends of estimates), at least 0.02"
    )
    assert made.fits


@pytest.mark.parametrize(
    ("engine", "gib", "utilization"),
    [("vllm 0.33.0", 80, 0.9), ("vllm 0.33.0", 141, 0.9), ("vllm 0.33.0", 24, 0.87), ("vllm 0.19.1", 80, 0.87)],
)
def test_it_is_lowered_however_large_the_device(engine: str, gib: float, utilization: float) -> None:
    made = auto(engine, gib=gib, max_model_len=4096)
    assert made.utilization == utilization
    assert "at least 0.02" in made.because


@pytest.mark.parametrize(
    ("asked", "utilization", "says"),
    [
        ({"gib": None}, 0.87, "0.92 lowered to 0.87: 0.05 for a draft, because the device's memory is unknown"),
        ({"gib": None, "gpu_memory_utilization": 0.8}, 0.75, "0.8 lowered to 0.75"),
        ({"target": None, "draft": None}, 0.87, "at least 0.05 for a draft whose target is unknown"),
        ({"target": None, "draft": None, "gib": None}, 0.87, "0.05 for a draft"),
        ({"method": "ngram", "draft": None, "gib": None}, 0.92, "the method loads nothing on the device"),
        ({"method": "ngram", "draft": None, "target": None}, 0.92, "0.92 unchanged"),
        ({"method": "extract_hidden_states", "draft": None, "tokens": 1, "gib": None}, 0.92, "loads nothing"),
        ({"method": None, "draft": None}, 0.92, "no draft, so"),
        ({"method": None, "draft": None, "gib": None}, 0.92, "no draft, so"),
    ],
)
def test_what_is_not_known_is_met_with_care(asked: dict[str, object], utilization: float, says: str) -> None:
    """0.05 for a draft that is loaded; nothing for a method that loads none."""
    made = auto(**asked)  # type: ignore[arg-type]
    assert made.utilization == utilization
    assert says in made.because
    assert bool(made.kv_price) or made.lowered_by == 0, "what is taken off has its price"


def test_a_look_up_is_lowered_by_its_logits_only() -> None:
    """256 x 3 x 128 256 x 6 bytes: 0.55 GiB of 80, and not 0.02."""
    made = auto(method="ngram", draft=None, tokens=4)
    assert (made.utilization, made.lowered_by) == (0.91, pytest.approx(0.01))
    assert "verification logits 752 MiB" in made.because
    assert "0.02" not in made.because


def test_graphs_are_not_taken_off_twice() -> None:
    """The engine counts them itself, or captures none."""
    assert auto("vllm 0.19.1", gib=24, enforce_eager=True, max_model_len=4096).utilization == 0.85
    counted = auto("vllm 0.33.0", gib=24, max_model_len=4096)
    assert "graphs" not in counted.because


def test_on_an_npu_the_larger_of_both_holds() -> None:
    """Uncounted graphs leave 0.9 at most; what speculation adds may be more."""
    assert auto("vllm-ascend 0.23.0", gib=64).utilization == 0.88
    assert auto("vllm-ascend 0.23.0", gib=None).utilization == 0.87


@given(st.sampled_from(("vllm 0.19.1", "vllm 0.33.0", "vllm-ascend 0.23.0")), st.integers(16, 192), st.integers(1, 16))
def test_auto_never_asks_for_more_than_the_rules_below_it(engine: str, gib: int, tokens: int) -> None:
    asked = [
        models.ask(engine, models.LLAMA_8B, models.EAGLE3_8B, gib=gib, tokens=tokens, max_model_len=2048, reserve=each)
        for each in (NONE, COUNTED, AUTO)
    ]
    none, counted, lowered = (plan(each).utilization or 0.0 for each in asked)
    assert lowered <= counted <= none


@pytest.mark.parametrize("gib", [80, None])
def test_what_ran_out_of_memory_is_lowered_further(gib: float | None) -> None:
    """With any reserve, but never for the baseline."""
    for reserve in (AUTO, COUNTED, NONE):
        first, second = (
            plan(models.ask(gib=gib, reserve=reserve, lowered_further=each, max_model_len=4096)) for each in (0.0, 0.05)
        )
        assert first.utilization is not None
        assert second.utilization == pytest.approx(first.utilization - 0.05)
    baseline = plan(models.ask(gib=gib, method=None, lowered_further=0.05))
    assert baseline.lowered_by == 0.0
