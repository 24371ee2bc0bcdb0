"""The API server answers with errors, late or not at all: the decision is the same, and it is made once."""

import time
from collections.abc import Sequence
from typing import Final

import pytest

from tests.wire.faults import stories
from tests.wire.faults.deeds import Asked, Deed, Hang, Pass, Refuse, let_pass
from tests.wire.faults.errors import ERRORS, EachOnce, Some, kind
from tests.wire.faults.expected import ROLLBACK, ROLLED_BACK
from tests.wire.faults.points import events_of, write
from tests.wire.faults.proxy import Proxy
from tests.wire.faults.table import Part, fault
from tests.wire.faults.verdict import as_undisturbed, decided_once
from tests.wire.operator import OperatorProcess
from tests.wire.waiting import until
from tests.wire.world import World

_TOLD: Final = (*events_of(ROLLBACK), *("ApiServerRefused", "ApiServerUnavailable") * 5)
"""The Events of a rollback, and a warning for each time that the InferenceService could not be written."""
_TWICE: Final = (*_TOLD, *_TOLD)
"""If the answer to a created Event is lost, the operator posts the Event again."""
_DECISION: Final = ("status Responding (plain)", "InferenceService (plain)", "status RolledBack (plain)")
_AT_START: Final = ("status RollingOut (4 tokens)", "InferenceService (4 tokens)")


async def _rolled_back_once(world: World, events: Sequence[str] = _TWICE, untold: Sequence[str] = ()) -> None:
    await decided_once(world, "AcceptanceRateLow")
    await as_undisturbed(world, states=ROLLED_BACK, events=events, generation=2, untold=untold)


@fault(
    part=Part.API_SERVER,
    when="each kind of write, list and watch fails once during a rollback: 409 (writes), 429, 500, 503, a "
    "reset connection",
    then="once; an Event may exist twice",
)
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
async def test_errors_during_a_rollback(world: World, proxied: OperatorProcess, proxy: Proxy, error: Deed) -> None:
    """From the status that holds the decision to the last of its Events."""
    engine = await stories.watched(world)
    proxy.rule = rule = EachOnce(error)
    proxy.cut()
    engine.acceptance = 0.0
    await stories.taken_out(world)
    told = _TWICE if error == ERRORS["reset after"] else _TOLD
    await _rolled_back_once(world, told)
    await world.event("RolledBack")
    assert set(_DECISION) < set(rule.met)
    assert any(each.startswith("watch") for each in rule.met) is (error != ERRORS["409"])


@fault(
    part=Part.API_SERVER,
    when="each kind of request fails once while a service is new",
    then="rolled out once",
)
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
async def test_errors_at_a_start(world: World, proxied: OperatorProcess, proxy: Proxy, error: Deed) -> None:
    """The operator goes on by itself once it is answered."""
    await proxied.stop()
    proxy.rule = rule = EachOnce(error)
    await proxied.start()
    await stories.watched(world)
    await as_undisturbed(world, states=ROLLED_BACK[2:], events=_TWICE, generation=1, untold=["WarmingUp"])
    assert set(_AT_START) < set(rule.met)


@fault(
    part=Part.API_SERVER,
    when="a third of all requests fails, is reset, or is one second late",
    then="once",
)
@pytest.mark.parametrize("seed", range(2))
async def test_errors_in_any_order(world: World, proxied: OperatorProcess, proxy: Proxy, seed: int) -> None:
    """The order does not matter. A warm-up can be over before its status is written at last."""
    proxy.rule = rule = Some(seed, share=0.33)
    await stories.rollback(world)
    proxy.rule = let_pass
    await _rolled_back_once(world, untold=["WarmingUp"])
    assert rule.met > 2


@fault(
    part=Part.API_SERVER,
    when="a write of a rollback gets no answer",
    then="repeated after 30 seconds; once",
)
@pytest.mark.parametrize("done", [False, True], ids=["not made", "made"])
async def test_writes_that_are_never_answered(
    world: World, proxied: OperatorProcess, proxy: Proxy, *, done: bool
) -> None:
    """No request waits for ever. The status that holds the decision is the first, the InferenceService the second."""
    hung: dict[str, Asked] = {}

    def once_each(asked: Asked) -> Deed:
        name = kind(asked)
        if name in hung or name not in _DECISION[:2]:
            return Pass()
        hung[name] = asked
        return Hang(done=done)

    proxy.rule = once_each
    await stories.rollback(world)
    await _rolled_back_once(world)
    assert [*hung] == [*_DECISION[:2]]
    for name, first in hung.items():
        again = next(each for each in proxy.writes if each.at > first.at and write(each) == name)
        assert 20 < again.at - first.at < 90


@fault(
    part=Part.API_SERVER,
    when="the API server answers each request with 429 and Retry-After: 10",
    then="per service at most 80 requests in 20 s, and 6 writes",
)
async def test_too_many_requests_are_answered_with_fewer(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """A server that is overloaded is not asked more often."""
    engine = await stories.watched(world)
    proxy.rule = _too_many
    proxy.cut()
    engine.acceptance = 0.0
    begun, before = time.monotonic(), len(proxy.requests)

    async def tried() -> bool:
        tries = [write(each.asked) for each in proxy.requests[before:] if each.asked.writes]
        return any(tries.count(each) == _TRIES for each in tries)

    await until(f"{_TRIES} tries", tried)
    seconds = time.monotonic() - begun
    asked = [each.asked for each in proxy.requests[before:]]
    writes = [each for each in asked if each.writes]
    assert seconds > 10.0 * (_TRIES - 1), "it was asked for patience"
    assert len(writes) <= seconds / 10 * 3, [write(each) for each in writes]
    assert len(asked) <= seconds / 2 * 8
    proxy.rule = let_pass
    await stories.taken_out(world)
    await _rolled_back_once(world)


_TRIES: Final = 3
"""Tries of one write after which it is seen how often the server is asked."""


def _too_many(_: Asked) -> Deed:
    return Refuse(status=429, retry_after=10)
