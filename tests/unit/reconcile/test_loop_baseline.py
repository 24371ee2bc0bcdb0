"""The reconcile loop and the baseline speed: measured first, learnt after a rollback, used for the comparison."""

from typing import Any

import pytest
from tests.unit.stage import Stage, baseline, busy, is_speculative, rolled_back

WINDOW, WARMUP = 10.0, 4.0
"""The guard of tests.unit.builders."""
FASTER = {"guard": {"speedup": {"min": 1.0}}}


async def measured(**sis: Any) -> Stage:
    """A stage with a baseline of 20 ms per output token, whose speculation is rolling out."""
    stage = Stage(**(FASTER | sis))
    await stage.until("MeasuringBaseline")
    assert stage.flags() == {}
    stage.roll_out(baseline(token_time=0.02))
    await stage.until("RollingOut", WARMUP + 5 * WINDOW)
    assert stage.flags()["num_speculative_tokens"] == 4
    return stage


async def test_the_baseline_is_measured_before_a_service_speculates() -> None:
    """As short as it can be: a load is known from a window's worth of blocks."""
    stage = await measured()
    assert stage.phases == ["MeasuringBaseline", "RollingOut"]
    (baseline_speed,) = stage.cluster.status["guard"]["baseline"]
    assert (baseline_speed["load"], baseline_speed["timePerOutputTokenMs"]) == (1, 20.0)
    assert baseline_speed["tokensPerSecond"] == pytest.approx(400)
    assert [event.reason for event in stage.events] == ["MeasuringBaseline", "RollingOut"]


@pytest.mark.parametrize(
    ("token_time", "phase", "reason"), [(0.01, "Watching", "Accepted"), (0.03, "Responding", "SlowerThanPlain")]
)
async def test_speculation_stays_only_where_it_is_not_slower(token_time: float, phase: str, reason: str) -> None:
    """At the same load and the same acceptance, the time per output token decides."""
    stage = await measured()
    stage.roll_out(busy(acceptance=0.8, token_time=token_time))
    await stage.run(WARMUP + 4 * WINDOW)
    status = stage.cluster.status
    assert status["phase"] == phase
    assert status["performance"]["speedup"] == pytest.approx(0.02 / token_time, abs=0.01)
    assert status["reason"] == reason
    if phase == "Responding":
        assert ("speedup 0.67 (95 % interval 0.67 to 0.67; 30.0 ms per output token, baseline 20.0 ms)") in status[
            "message"
        ]
        assert not is_speculative(stage.cluster.child)


async def test_without_traffic_the_measurement_ends_after_ten_windows() -> None:
    """Then speculation is served, and the status shows that there is no comparison."""
    stage = Stage(**FASTER)
    await stage.turn()
    stage.roll_out(baseline(tokens_per_second=0.0))
    took = await stage.until("RollingOut", 200)
    assert took == pytest.approx(WARMUP + 10 * WINDOW, abs=5)
    assert is_speculative(stage.cluster.child)
    assert "baseline" not in stage.cluster.status["guard"]


async def test_a_rolled_back_service_learns_how_fast_the_baseline_is() -> None:
    """So that a retry can be compared, though nothing was measured first."""
    stage = await rolled_back()
    await stage.run(WARMUP + 2 * WINDOW)
    (baseline_speed,) = stage.cluster.status["guard"]["baseline"]
    assert baseline_speed["timePerOutputTokenMs"] == 20.0
    assert stage.cluster.status["performance"]["timePerOutputTokenMs"] == 20.0
    assert stage.cluster.status["guard"]["reason"] == "AcceptanceRateLow", "the verdict on the draft stays"


async def test_a_service_without_speculation_learns_its_baseline_on_request() -> None:
    """Measured before the user chooses a draft."""
    stage = Stage(speculation=None, guard={"baseline": "MeasureFirst"})
    await stage.turn()
    stage.roll_out(baseline())
    await stage.until("Serving")
    await stage.run(WARMUP + 3 * WINDOW)
    assert stage.cluster.status["guard"]["baseline"][0]["timePerOutputTokenMs"] == 20.0
    assert set(stage.conditions()) == {"Ready", "ArtifactsStaged"}
