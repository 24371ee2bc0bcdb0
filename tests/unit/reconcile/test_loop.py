"""The loop of one sis, turn by turn: what is decided, in which order it is written, what brings speculation back."""

import pytest
from tests.unit.builders import DRAFT
from tests.unit.stage import Stage, baseline, busy, is_speculative, rolled_back, watching

from specdec_operator.names import RETRY_ANNOTATION

WINDOW, LIMIT = 10.0, 3
"""The guard of tests.unit.builders."""


async def test_the_whole_story_as_a_film() -> None:
    """Served, warmed up, watched; then the draft is no longer accepted, and the service goes on without it."""
    stage = await rolled_back()
    assert stage.phases == ["RollingOut", "WarmingUp", "Watching", "Responding", "RolledBack"]
    assert [(event.warning, event.reason) for event in stage.events] == [
        (False, "RollingOut"),
        (False, "WarmingUp"),
        (False, "Watching"),
        (True, "RollingBack"),
        (False, "RolledBack"),
    ]
    status = stage.cluster.status
    assert status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    assert "acceptance 0.00 < 0.40" in status["message"]
    assert [turn.get("rate") for turn in status["history"]] == [0.0, 0.0, None, None, None]
    assert (status["serving"]["speculating"], status["serving"]["tokens"]) == (False, 0)
    assert status["serving"]["url"] == "http://llama.team-a"


async def test_a_bad_draft_is_found_within_the_promised_number_of_windows() -> None:
    """Whenever in a window the traffic turns: at most failureLimit + 1 windows."""
    for part in (0.0, 0.3, 0.7, 0.99):
        stage, engine = await watching()
        await stage.run(2 * WINDOW + part * WINDOW)
        engine.acceptance = 0.0
        assert await stage.until("Responding") <= (LIMIT + 1) * WINDOW + 1


async def test_the_window_that_decided_is_shown_with_the_decision() -> None:
    """Not the one before it, which may have passed."""
    stage, engine = await watching(guard={"failureLimit": 1})
    await stage.run(2 * WINDOW)
    assert stage.cluster.status["guard"]["verdict"] == "Pass"
    engine.acceptance = 0.0
    await stage.until("Responding")
    guard = stage.cluster.status["guard"]
    assert (guard["verdict"], guard["reason"], guard["recommendation"]["tokens"]) == ("Fail", "AcceptanceRateLow", 0)
    assert guard["message"] == guard["rollback"]["message"]


async def test_the_pods_are_read_each_interval_while_they_are_watched_and_after_a_rollback() -> None:
    """Not while they roll out or warm up. After a rollback they show the speed of the baseline."""
    stage, engine = Stage(), busy()
    await stage.turn()
    stage.roll_out(engine)
    await stage.until("WarmingUp")
    await stage.run(2)
    assert stage.asked == []
    await stage.run(2 + 4 * WINDOW)
    assert len(stage.asked) == pytest.approx(4 * WINDOW / 2, abs=2)
    engine.acceptance = 0.0
    await stage.until("Responding")
    asked = len(stage.asked)
    await stage.run(20)
    stage.roll_out(baseline())
    await stage.until("RolledBack")
    await stage.run(3)
    assert len(stage.asked) == asked
    await stage.run(4 * WINDOW)
    assert len(stage.asked) - asked == pytest.approx(4 * WINDOW / 2, abs=2)


async def test_a_changed_speculation_starts_again() -> None:
    """The old decision is about another speculation."""
    stage = await rolled_back()
    stage.sis = {"speculation": DRAFT | {"tokens": 2}, "generation": 2}
    await stage.until("RollingOut")
    assert is_speculative(stage.cluster.child)
    assert "rollback" not in stage.cluster.status["guard"]
    assert stage.cluster.status["guard"]["rollbacks"] == 1
    assert stage.conditions()["Ready"]["status"] == "True"


async def test_a_retry_is_granted_once() -> None:
    """The same nonce does not fire again after the next rollback."""
    stage = await rolled_back()
    stage.sis = {"annotations": {RETRY_ANNOTATION: "1"}}
    await stage.until("RollingOut")
    assert is_speculative(stage.cluster.child)
    stage.roll_out(busy(acceptance=0.0))
    await stage.until("Responding")
    stage.roll_out(baseline())
    await stage.until("RolledBack")
    await stage.run(60)
    assert stage.cluster.status["guard"]["rollbacks"] == 2
    assert stage.phases[-1] == "RolledBack"


async def test_a_change_beside_speculation_rolls_out_and_is_watched_again() -> None:
    """Old measurements do not count for new pods."""
    stage, engine = await watching()
    engine.acceptance = 0.0
    await stage.run(2.5 * WINDOW)
    assert stage.cluster.status["guard"]["failures"] == 2
    stage.sis = {"resources": {"limits": {"cpu": "2"}}, "generation": 2}
    await stage.until("RollingOut")
    assert stage.cluster.status["guard"]["failures"] == 0
    stage.roll_out(busy())
    await stage.until("Watching")
    await stage.run(0.8 * WINDOW)
    assert stage.cluster.status["reason"] == "RolloutComplete", "judged before the new pods' first window was over"
    await stage.run(WINDOW)
    assert stage.cluster.status["guard"]["verdict"] == "Pass"


async def test_off_looks_at_nothing() -> None:
    """It serves with speculation and never reads the pods; switched on, it begins to watch."""
    stage = Stage(guard={"mode": "Off"})
    await stage.turn()
    stage.roll_out(busy(acceptance=0.0))
    await stage.until("Serving")
    await stage.run(60)
    assert stage.asked == []
    assert is_speculative(stage.cluster.child)
    stage.sis = {"guard": {"mode": "Enforce"}, "generation": 2}
    await stage.until("Responding")
    assert stage.phases == ["RollingOut", "Serving", "WarmingUp", "Watching", "Responding"]
