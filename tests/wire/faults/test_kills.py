"""The operator is killed at each of its writes, and started again: what was to be decided is decided, and only once.

One story has all kills of a kind: a story for each would start fifty operators and services more. The writes are those
of expected.py, which the first tests compare with a recorded run.
"""

from typing import Final

import pytest

from tests.wire.faults import stories
from tests.wire.faults.expected import LADDER, REDUCED, RETRIED, RETRY, ROLLBACK, ROLLED_BACK
from tests.wire.faults.points import AFTER, BEFORE, Killer, events_of, in_turn
from tests.wire.faults.proxy import Proxy
from tests.wire.faults.table import Part, fault
from tests.wire.faults.verdict import as_undisturbed, decided_once, nothing_left
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, is_speculative

_REPORTS: Final = ("status RollingOut (4 tokens)", "status Responding (plain)", "status RolledBack (plain)")
"""Statuses that are written a second time, with nothing decided: what has become of the pods."""

_EVENTS: Final = tuple(each for each in ROLLBACK if each.startswith("Event"))


def _decisions(writes: tuple[str, ...]) -> list[str]:
    """The writes without the Events: these only inform, and an operator that died does not send them again."""
    return [each for each in writes if not each.startswith("Event")]


def _killed(done: bool) -> str:
    return "after it" if done is AFTER else "before it"


async def test_a_rollback_takes_these_writes(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """And a retry after it takes those; no other."""
    await stories.rollback(world)
    await world.event("RolledBack")
    assert in_turn(proxy.writes) == list(ROLLBACK)
    await decided_once(world, "AcceptanceRateLow")
    await as_undisturbed(world, states=ROLLED_BACK, events=events_of(ROLLBACK), generation=2)
    proxy.requests.clear()
    await stories.retry(world)
    await world.until("the Event of the retry's watch", lambda: _told(proxy, "Event Watching"))
    assert [each for each in in_turn(proxy.writes) if "RolledBack" not in each] == list(RETRY)


async def test_two_steps_take_these_writes(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """Two steps down: fewer tokens, then none."""
    await stories.ladder(world)
    await world.event("RolledBack")
    assert in_turn(proxy.writes) == list(LADDER)


async def _told(proxy: Proxy, event: str) -> bool:
    return event in in_turn(proxy.writes)


@fault(
    part=Part.OPERATOR,
    when="SIGKILL before and after each write of a rollout and a rollback",
    then="once",
)
async def test_kills_at_each_write_of_a_rollback(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """The end is the same as without the kills."""
    proxy.rule = killer = Killer(proxied, _decisions(ROLLBACK), BEFORE, AFTER)
    await stories.rollback(world)
    await killer.over()
    await _rolled_back_once(world)


@fault(
    part=Part.OPERATOR,
    when="SIGKILL before, or after, each Event of a rollout and a rollback",
    then="once; at most that Event is missing",
)
@pytest.mark.parametrize("done", [BEFORE, AFTER], ids=_killed)
async def test_a_kill_at_each_event_of_a_rollback(
    world: World, proxied: OperatorProcess, proxy: Proxy, *, done: bool
) -> None:
    """An operator that died does not send an Event again, so it is killed at each once."""
    proxy.rule = killer = Killer(proxied, _EVENTS, done)
    await stories.rollback(world)
    await killer.over()
    await _rolled_back_once(world)


@fault(
    part=Part.OPERATOR,
    when="SIGKILL at a status that only reports progress",
    then="once",
)
@pytest.mark.parametrize("done", [BEFORE, AFTER], ids=_killed)
async def test_a_kill_at_each_report(world: World, proxied: OperatorProcess, proxy: Proxy, *, done: bool) -> None:
    """A report that is lost is made again; it decides nothing."""
    proxy.rule = killer = Killer(proxied, _REPORTS, done, skip=1)
    await stories.rollback(world, slowly=True)
    await killer.over()
    await _rolled_back_once(world)


@fault(
    part=Part.OPERATOR,
    when="two kills at each write of a retry (specdec.io/retry)",
    then="speculation returns once",
)
async def test_two_kills_at_each_write_of_a_retry(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """The annotation's value counts as handled exactly when the decision is written."""
    await stories.rollback(world)
    proxy.rule = killer = Killer(proxied, _decisions(RETRY), BEFORE, AFTER)
    await stories.retry(world)
    await killer.over()
    await world.phase("Watching")
    await as_undisturbed(world, states=RETRIED, events=events_of((*ROLLBACK, *RETRY)), generation=3)
    guard = (await world.status())["guard"]
    assert (guard["handledRetry"], guard["rollbacks"]) == ("1", 1)
    assert is_speculative(await world.child())
    await nothing_left(world)


@fault(
    part=Part.OPERATOR,
    when="the same for a guard that first uses fewer tokens",
    then="each step runs once",
)
async def test_two_kills_at_each_write_of_two_steps(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """A step that was taken is not taken back, and none is left out. The rollout before them is that of a rollback."""
    steps = LADDER[LADDER.index("status Responding (2 tokens)") :]
    proxy.rule = killer = Killer(proxied, _decisions(steps), BEFORE, AFTER)
    await stories.ladder(world)
    await killer.over()
    await as_undisturbed(world, states=REDUCED, events=events_of(LADDER), generation=3)
    status = await world.phase("RolledBack")
    assert (status["guard"]["rollbacks"], status["serving"]["tokens"]) == (1, 0)
    assert not is_speculative(await world.child())
    await nothing_left(world)


async def _rolled_back_once(world: World) -> None:
    await decided_once(world, "AcceptanceRateLow")
    await as_undisturbed(world, states=ROLLED_BACK, events=events_of(ROLLBACK), generation=2)
