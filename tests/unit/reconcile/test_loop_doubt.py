"""The loop and a speed in doubt, in a service of one pod: it serves plain for a while, and the faster one stays."""

import pytest
from tests.unit.reconcile.test_loop_baseline import WARMUP, WINDOW, measured
from tests.unit.stage import Stage, baseline, busy, is_speculative


async def in_doubt(token_time: float, running: int = 8) -> Stage:
    """A stage whose pod runs more requests at once than plain was measured with, and serves plain on trial."""
    stage = await measured()
    stage.roll_out(busy(acceptance=0.8, token_time=token_time, running=running))
    await stage.until("Responding", WARMUP + 8 * WINDOW)
    assert stage.cluster.status["reason"] == "BeyondBaseline"
    assert "provisional" in stage.cluster.status["message"]
    assert not is_speculative(stage.cluster.child)
    return stage


async def test_a_draft_that_piles_requests_up_stays_out() -> None:
    """Plain takes 20 ms on the same traffic, and speculation took 60."""
    stage = await in_doubt(0.06)
    stage.roll_out(baseline(token_time=0.02))
    await stage.until("RolledBack")
    assert stage.conditions()["ComparingWithPlain"]["reason"] == "ServingPlain"
    await stage.run(WARMUP + 7 * WINDOW)
    status = stage.cluster.status
    assert status["phase"] == "RolledBack"
    assert "trial" not in status["guard"]["rollback"]
    assert "speedup 0.33 (95 % interval 0.32 to 0.35), required 1.00" in status["guard"]["rollback"]["message"]
    assert "ComparingWithPlain" not in stage.conditions()
    assert [each.reason for each in stage.events if each.reason in ("RollingBack", "RollbackSettled")] == [
        "RollingBack",
        "RollbackSettled",
    ]


async def test_a_draft_that_was_faster_comes_back_once() -> None:
    """Plain takes 40 ms on the same traffic, and speculation took 20: more requests came, and that was all."""
    stage = await in_doubt(0.02)
    stage.roll_out(baseline(token_time=0.04, running=8))
    await stage.until("RolledBack")
    await stage.until("RollingOut", WARMUP + 8 * WINDOW)
    assert is_speculative(stage.cluster.child)
    acquitted = next(each for each in stage.events if each.reason == "DraftAcquitted")
    assert acquitted.message.startswith("speculation returns: the baseline took 40.0 ms per output token")
    stage.roll_out(busy(acceptance=0.8, token_time=0.02, running=8))
    await stage.run(WARMUP + 6 * WINDOW)
    status = stage.cluster.status
    assert (status["phase"], status["reason"]) == ("Watching", "Accepted")
    assert status["performance"]["speedup"] == pytest.approx(2.0, abs=0.01)
