"""The API server and etcd go away, hang and come back while a service is watched."""

import asyncio
import pathlib
import signal
from collections.abc import Awaitable, Callable, Iterator

import pytest

from tests.wire.controllers import beside
from tests.wire.faults import acts, steps
from tests.wire.faults.control_plane import ControlPlane, control_plane
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.waiting import until
from tests.wire.world import World

Enough = Callable[[int], Awaitable[None]]
"""Waits until the operator has met an outage so often."""
Outage = Callable[[ControlPlane, Enough], Awaitable[None]]
_WRITES = 'specdec_api_requests_total{verb="patch"}'


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An etcd and an API server of this module's own, with KServe."""
    with control_plane(tmp_path_factory.mktemp("plane")) as made, beside(made.kubeconfig):
        yield made


@pytest.fixture(scope="module")
def kubeconfig(plane: ControlPlane) -> pathlib.Path:
    """Of their administrator: all other fixtures use these instead of the shared ones."""
    return plane.kubeconfig


async def _restart(plane: ControlPlane, _: Enough) -> None:
    await plane.stop_server(signal.SIGTERM)
    await plane.start_server()


async def _kill(plane: ControlPlane, _: Enough) -> None:
    await plane.stop_server(signal.SIGKILL)
    await plane.start_server()


async def _away(plane: ControlPlane, enough: Enough) -> None:
    await plane.stop_server(signal.SIGKILL)
    await enough(2)
    await plane.start_server()


async def _hang(plane: ControlPlane, enough: Enough) -> None:
    plane.server.send(signal.SIGSTOP)
    try:
        await enough(1)
    finally:
        plane.server.send(signal.SIGCONT)
    await asyncio.to_thread(plane.wait)


async def _etcd_killed(plane: ControlPlane, _: Enough) -> None:
    await asyncio.to_thread(plane.etcd.end, signal.SIGKILL)
    plane.etcd.start()
    await asyncio.to_thread(plane.wait)


async def _etcd_away(plane: ControlPlane, enough: Enough) -> None:
    await asyncio.to_thread(plane.etcd.end, signal.SIGKILL)
    await enough(1)
    plane.etcd.start()
    await asyncio.to_thread(plane.wait)


async def _etcd_hangs(plane: ControlPlane, enough: Enough) -> None:
    plane.etcd.send(signal.SIGSTOP)
    try:
        await enough(1)
    finally:
        plane.etcd.send(signal.SIGCONT)
    await asyncio.to_thread(plane.wait)


SHORT = [_restart, _kill, _etcd_killed]
LONG = [_away, _hang, _etcd_away, _etcd_hangs]


@fault(
    part=Part.API_SERVER,
    when="the API server or etcd restarts, dies or hangs while a draft becomes bad",
    then="once, as soon as a write succeeds",
)
@pytest.mark.parametrize("outage", [*SHORT, *LONG])
async def test_a_draft_that_turns_bad_in_an_outage_is_taken_out_once(
    plane: ControlPlane, world: World, operator: OperatorProcess, outage: Outage
) -> None:
    """The pods are read on while nothing can be written; what was decided then is written once, and acted on."""
    engine, pid = await steps.watched(world), operator.pid
    engine.acceptance = 0.0
    written = await operator.metric(_WRITES)

    async def tried(times: int) -> None:
        async def has() -> bool:
            return await operator.metric(_WRITES) >= written + times

        await until("a write in vain", has)

    await outage(plane, tried)
    await steps.served(world)
    await acts.rolled_back_once(world)
    await steps.lives(operator, pid)
    await steps.still_follows(world)


@fault(
    part=Part.API_SERVER,
    when="the same while a draft is good",
    then="no decision",
)
@pytest.mark.parametrize("outage", LONG)
async def test_an_outage_proves_nothing(
    plane: ControlPlane, world: World, operator: OperatorProcess, outage: Outage
) -> None:
    """An API server that cannot be read proves nothing about a draft."""
    engine, pid = await steps.watched(world), operator.pid

    async def three_windows(times: int) -> None:
        await world.read_again(6 * times, engine)

    await outage(plane, three_windows)
    await steps.served(world)
    await world.read_again(4, engine)
    await steps.not_blamed(world)
    await steps.lives(operator, pid)
    await steps.still_follows(world)
    await steps.lives(operator, pid)
