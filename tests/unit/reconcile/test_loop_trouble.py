"""The loop in trouble: restarts, an API server that is away, metrics that hang, specs that cannot run."""

import pytest
from tests.unit.stage import Stage, is_speculative, watching
from tests.wire.pods import EngineStandIn

from specdec_operator.errors import Unavailable

WINDOW = 10.0
AWAY = Unavailable("ApiServerUnavailable", "the API server did not answer")


async def doubtful() -> tuple[Stage, EngineStandIn]:
    """A watched service with two failing windows."""
    stage, engine = await watching()
    engine.acceptance = 0.0
    await stage.run(2.5 * WINDOW)
    assert stage.cluster.status["guard"]["failures"] == 2
    return stage, engine


async def test_a_restart_inside_a_window_keeps_the_phase_and_begins_the_row_again() -> None:
    """The evidence of earlier windows was lost with the process that saw them: a count
    alone does not make a row fail.
    """
    stage, _ = await doubtful()
    stage.restart()
    await stage.run(0.9 * WINDOW)
    assert stage.cluster.status["guard"]["failures"] == 2
    assert stage.phases == ["RollingOut", "WarmingUp", "Watching"]
    await stage.run(1.2 * WINDOW)
    assert stage.phases[-1] == "Watching", "the first window after it would have been the third"
    await stage.until("Responding", 2 * WINDOW)


async def test_a_restart_after_which_the_draft_is_fine_ends_the_row() -> None:
    """What was counted before is not held against good windows."""
    stage, engine = await doubtful()
    stage.restart()
    engine.acceptance = 0.8
    await stage.run(2 * WINDOW)
    assert (stage.cluster.status["guard"]["failures"], stage.phases[-1]) == (0, "Watching")


async def test_an_api_server_that_is_away_is_asked_again_after_five_seconds() -> None:
    """Not at once, and not after minutes."""
    stage = Stage()
    stage.cluster.failing["status"] = AWAY
    assert (await stage.turn()).requeue_after == 5.0
    assert stage.events == []
    stage.cluster.failing.clear()
    await stage.turn()
    assert stage.cluster.calls == [("status", "RollingOut"), ("apply", "speculative")]


async def test_a_spec_that_cannot_run_is_reported_and_the_pods_are_not_changed() -> None:
    """Stalled with field, value and rule; one write and one Event. After a correction it
    continues in its earlier phase.
    """
    stage, _ = await watching()
    child, calls = stage.cluster.child, len(stage.cluster.calls)
    stage.sis = {"model": {"uri": "hf://x"}, "generation": 2}
    for _ in range(3):
        await stage.turn()
    assert stage.cluster.calls[calls:] == [("status", "Stalled")]
    assert stage.cluster.child == child
    said = stage.conditions()
    assert (said["Stalled"]["status"], said["Ready"]["status"]) == ("True", "True")
    assert said["Stalled"]["message"].startswith("spec.model.uri: 'hf://x': ")
    assert [event.reason for event in stage.events].count("InvalidSpec") == 1
    stage.sis = {"generation": 3}
    await stage.turn()
    assert stage.cluster.status["phase"] == "Watching"
    assert "Stalled" not in stage.conditions()


async def test_the_pods_of_the_spec_before_are_guarded_while_the_new_one_cannot_run() -> None:
    """A typing error must not disarm the guard: the draft that runs is still taken out."""
    stage, engine = await watching()
    stage.sis = {"model": {"uri": "hf://x"}, "generation": 2}
    await stage.run(2 * WINDOW)
    engine.acceptance = 0.0
    await stage.run(5 * WINDOW)
    assert not is_speculative(stage.cluster.child)
    assert stage.cluster.status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    assert stage.conditions()["Stalled"]["message"].startswith("spec.model.uri: 'hf://x': ")
    assert [event.reason for event in stage.events].count("InvalidSpec") == 1


async def test_a_turn_that_fails_again_and_again_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A line at each try, of each service, would be all that there is in the log; after a good turn it is news."""
    stage, _ = await watching()
    for away in (True, True, True, False, True):
        stage.cluster.failing = {"status": AWAY} if away else {}
        stage.cluster.status, stage.now = {}, stage.now + 70
        await stage.turn()
    assert [each.levelname for each in caplog.records if AWAY.message in each.message] == ["WARNING"] * 2
