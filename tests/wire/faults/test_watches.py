"""The watches break off, report errors, or fall silent: the operator sees the changes all the same."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

import pytest

from tests.wire.api import SIS
from tests.wire.faults import acts, steps
from tests.wire.faults.deeds import Asked, Deed, Pass, let_pass
from tests.wire.faults.proxy import Proxy
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, World

Break = Callable[[Proxy], Awaitable[None]]


async def _cut(proxy: Proxy) -> None:
    proxy.cut()


async def _error(proxy: Proxy) -> None:
    await proxy.fail(500)


async def _error_of_one(proxy: Proxy) -> None:
    await proxy.fail(500, what="speculativeinferenceservices")


async def _busy(proxy: Proxy) -> None:
    await proxy.fail(429)


@fault(
    part=Part.API_SERVER,
    when="each watch is closed, cut, corrupted, or gets 410, 500 or 429, ten times",
    then="once; no restart of the operator",
)
@pytest.mark.parametrize(
    "broken",
    [_cut, Proxy.cut_in_a_line, Proxy.garble, Proxy.expire, _error, _error_of_one, _busy],
    ids=["cut", "half", "garbled", "410", "500", "500-of-one", "429"],
)
async def test_watches_that_break_lose_nothing(
    world: World, proxied: OperatorProcess, proxy: Proxy, broken: Break
) -> None:
    """They go on from where they were, or from a new list."""
    engine, pid = await steps.watched(world), proxied.pid
    engine.acceptance = 0.0
    for _ in range(10):
        await broken(proxy)
        await asyncio.sleep(0.3)  # the fault itself: they break again before all of them are back
    await acts.rolled_back_once(world)
    await steps.lives(proxied, pid)
    await steps.still_follows(world)


@fault(
    part=Part.API_SERVER,
    when="each watch stays open without events",
    then="the watches start again after 70 s",
)
async def test_watches_that_fall_silent_are_begun_again(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """A connection does not show that its other end is closed."""
    pid = proxied.pid
    await steps.watched(world)
    proxy.mute()
    begun = time.monotonic()
    await world.api.merge(SIS, world.namespace, NAME, {"spec": {"replicas": 3}})
    await world.replicas(3)
    assert time.monotonic() - begun > 5, "it was silent"
    await steps.lives(proxied, pid)
    await steps.still_follows(world)


LATE = 15.0
"""Seconds by which one list comes later than the others."""


@fault(
    part=Part.API_SERVER,
    when="after a restart, the list of pods, Deployments or InferenceServices arrives 15 s late",
    then="no write before",
)
@pytest.mark.parametrize("what", ["pods", "inferenceservices", "deployments"])
async def test_nothing_is_decided_before_everything_is_listed(
    world: World, proxied: OperatorProcess, proxy: Proxy, what: str
) -> None:
    """Without its pods a service looks as if it rolled out, and without its InferenceService as if it had none."""
    await steps.watched(world)
    await proxied.stop(signal.SIGKILL)
    begun, listed = time.monotonic(), len(proxy.requests)

    def late(asked: Asked) -> Deed:
        mine = asked.what == what and asked.method == "GET" and not asked.watch
        return Pass(after=max(0.0, begun + LATE - time.monotonic())) if mine else Pass()

    proxy.rule = late
    await proxied.start()
    await asyncio.sleep(max(0.0, begun + LATE - time.monotonic()))
    asked = [each.asked for each in proxy.requests[listed:]]
    assert "speculativeinferenceservices" in proxy.watching, "it knows the service"
    assert any(each.what == what for each in asked)
    assert [each.what for each in asked if each.writes] == []
    proxy.rule = let_pass
    await steps.still_follows(world)
    assert (await world.status())["guard"].get("rollback") is None
