"""The loop and its user: hold, Observe, a rollback or a retry by annotation, and retries by itself."""

from typing import Any

import pytest
from tests.unit.stage import Stage, baseline, busy, is_speculative, rolled_back, watching

from specdec_operator.names import HOLD_ANNOTATION, RETRY_ANNOTATION, ROLLBACK_ANNOTATION

WINDOW, LIMIT = 10.0, 3
"""The guard of tests.unit.builders."""
AGAIN: dict[str, Any] = {"guard": {"retry": {"after": "1m", "limit": 2}, "acceptanceRate": {"min": 0.4}}}
"""A minimum of the user's own: these engines answer as fast with a bad draft as without one."""


def asking(**nonces: str) -> dict[str, Any]:
    """A sis with annotations."""
    names = {"hold": HOLD_ANNOTATION, "retry": RETRY_ANNOTATION, "rollback": ROLLBACK_ANNOTATION}
    return {"annotations": {names[each]: value for each, value in nonces.items()}}


def told(stage: Stage, reason: str) -> int:
    """How often an Event with this reason was sent."""
    return [event.reason for event in stage.events].count(reason)


@pytest.mark.parametrize("sis", [{"guard": {"mode": "Observe"}}, asking(hold="1")], ids=["Observe", "held"])
async def test_a_guard_that_may_not_act_shows_what_it_would_have_done(sis: dict[str, Any]) -> None:
    """One Event and one write, however long the draft fails. The condition shows that the windows fail."""
    stage, engine = await watching(**sis)
    engine.acceptance = 0.0
    await stage.run(12 * WINDOW)
    calls = len(stage.cluster.calls)
    await stage.run(60 * WINDOW)
    assert stage.cluster.calls[calls:] == []
    assert told(stage, "WouldRollBack") == 1
    would = stage.cluster.status["guard"]["would"]
    assert (would["action"], would["reason"]) == ("RollBack", "AcceptanceRateLow")
    assert stage.phases[-1] == "Watching"
    assert ("apply", "plain") not in stage.cluster.calls
    assert stage.conditions()["GuardPassing"]["status"] == "False"
    assert ("Held" in stage.conditions()) is ("annotations" in sis)


async def test_what_would_have_been_done_is_forgotten_when_windows_pass() -> None:
    """It was about traffic that is gone."""
    stage, engine = await watching(guard={"mode": "Observe"})
    engine.acceptance = 0.0
    await stage.run((LIMIT + 1) * WINDOW)
    assert "would" in stage.cluster.status["guard"]
    engine.acceptance = 0.8
    await stage.run(2 * WINDOW)
    assert "would" not in stage.cluster.status["guard"]


async def test_a_hold_that_is_released_lets_the_guard_act() -> None:
    """Within the windows that it always needs; nothing was counted behind the user's back."""
    stage, engine = await watching(**asking(hold="1"))
    engine.acceptance = 0.0
    await stage.run(8 * WINDOW)
    stage.sis = {}
    assert await stage.until("Responding", (LIMIT + 1) * WINDOW + 1) > 0
    assert not is_speculative(stage.cluster.child)
    assert "Held" not in stage.conditions()


@pytest.mark.parametrize("guard", [{}, {"mode": "Observe"}, {"mode": "Off"}])
async def test_a_rollback_that_is_asked_for_is_done_at_once(guard: dict[str, Any]) -> None:
    """Whatever the guard may do by itself: the user acts, not the guard. The same value asks once."""
    stage = Stage(guard=guard)
    await stage.turn()
    stage.roll_out(busy())
    await stage.until("Serving" if guard.get("mode") == "Off" else "Watching")
    stage.sis |= asking(rollback="7")
    await stage.turn()
    assert stage.cluster.calls[-2:] == [("status", "Responding"), ("apply", "plain")]
    stage.roll_out(baseline())
    await stage.until("RolledBack")
    await stage.run(60)
    status = stage.cluster.status["guard"]
    assert (status["rollback"]["reason"], status["handledRollback"], status["rollbacks"]) == ("Requested", "7", 1)
    assert stage.cluster.status["message"] == "requested by annotation specdec.io/rollback=7"


async def test_a_rollback_that_was_asked_for_is_ended_by_the_user_only() -> None:
    """Not by the guard's own retries; a retry annotation brings speculation back."""
    stage, _ = await watching(**AGAIN)
    stage.sis = AGAIN | asking(rollback="7")
    await stage.until("Responding")
    stage.roll_out(baseline())
    await stage.until("RolledBack")
    await stage.run(300)
    assert stage.phases[-1] == "RolledBack"
    assert "nextRetry" not in stage.cluster.status["guard"]
    stage.sis = AGAIN | asking(rollback="7", retry="1")
    await stage.until("RollingOut")
    assert is_speculative(stage.cluster.child)


async def failed_again(stage: Stage) -> None:
    """The speculation that is tried once more is as bad as before."""
    stage.roll_out(busy(acceptance=0.0))
    await stage.until("Responding")
    stage.roll_out(baseline())
    await stage.until("RolledBack")


async def test_a_rollback_is_retried_by_itself_later_each_time_and_not_for_ever() -> None:
    """After one minute, after two, and then no more. The status shows the time."""
    stage = await rolled_back(**AGAIN)
    assert "nextRetry" in stage.cluster.status["guard"]
    first = await stage.until("RollingOut", 120)
    assert is_speculative(stage.cluster.child)
    await failed_again(stage)
    second = await stage.until("RollingOut", 240)
    await failed_again(stage)
    await stage.run(2000)
    status = stage.cluster.status["guard"]
    assert (status["retries"], status["rollbacks"], stage.phases[-1]) == (2, 3, "RolledBack")
    assert "nextRetry" not in status
    assert (first, second) == (pytest.approx(60, abs=1), pytest.approx(120, abs=1)), "from the decision on"
