"""The API server and etcd go away, hang and come back while a service is watched."""

import asyncio
import pathlib
import signal
from collections.abc import Awaitable, Callable, Iterator

import pytest

from tests.wire.faults import acts, steps
from tests.wire.faults.control_plane import ControlPlane, control_plane
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.world import World

Outage = Callable[[ControlPlane], Awaitable[None]]
_BACK = 60.0
"""Seconds within which all is as it was once the API server serves again; an etcd that was away takes a while."""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An etcd and an API server of this module's own."""
    with control_plane(tmp_path_factory.mktemp("plane")) as made:
        yield made


@pytest.fixture(scope="module")
def kubeconfig(plane: ControlPlane) -> pathlib.Path:
    """Of their administrator: all other fixtures use these instead of the shared ones."""
    return plane.kubeconfig


async def _restart(plane: ControlPlane) -> None:
    await plane.stop_server(signal.SIGTERM)
    await plane.start_server()


async def _kill(plane: ControlPlane) -> None:
    await plane.stop_server(signal.SIGKILL)
    await plane.start_server()


async def _away(plane: ControlPlane) -> None:
    await plane.stop_server(signal.SIGKILL)
    await asyncio.sleep(20)
    await plane.start_server()


async def _hang(plane: ControlPlane) -> None:
    plane.server.send(signal.SIGSTOP)
    await asyncio.sleep(20)
    plane.server.send(signal.SIGCONT)
    await asyncio.to_thread(plane.wait)


async def _etcd_killed(plane: ControlPlane) -> None:
    await asyncio.to_thread(plane.etcd.end, signal.SIGKILL)
    plane.etcd.start()
    await asyncio.to_thread(plane.wait)


async def _etcd_away(plane: ControlPlane) -> None:
    await asyncio.to_thread(plane.etcd.end, signal.SIGKILL)
    await asyncio.sleep(15)
    plane.etcd.start()
    await asyncio.to_thread(plane.wait)


async def _etcd_hangs(plane: ControlPlane) -> None:
    plane.etcd.send(signal.SIGSTOP)
    await asyncio.sleep(15)
    plane.etcd.send(signal.SIGCONT)
    await asyncio.to_thread(plane.wait)


SHORT = [_restart, _kill, _etcd_killed]
LONG = [_away, _hang, _etcd_away, _etcd_hangs]


@fault(
    part=Part.API_SERVER,
    when="the API server is restarted, killed, away for 20 s or hangs for 20 s, or etcd is killed, away for 15 s or "
    "hangs for 15 s, while a draft turns bad",
    then="the draft is taken out once, as soon as that can be written; the operator is the same process and well, and "
    "goes on to follow what is changed",
)
@pytest.mark.parametrize("outage", [*SHORT, *LONG])
async def test_a_draft_that_turns_bad_in_an_outage_is_taken_out_once(
    plane: ControlPlane, world: World, operator: OperatorProcess, outage: Outage
) -> None:
    """The pods are read on while nothing can be written; what was decided then is written once, and acted on."""
    engine, pid = await steps.watched(world), operator.pid
    engine.acceptance = 0.0
    await outage(plane)
    await steps.served(world, _BACK)
    await acts.rolled_back_once(world, seconds=_BACK)
    await steps.lives(operator, pid)
    await steps.still_follows(world, seconds=_BACK)


@fault(
    part=Part.API_SERVER,
    when="the API server is away for 20 s or hangs for 20 s, or etcd is away for 15 s or hangs for 15 s, while a draft "
    "is good",
    then="nothing is decided: no window counts against the draft, and what is changed afterwards is followed",
)
@pytest.mark.parametrize("outage", LONG)
async def test_an_outage_is_no_evidence(
    plane: ControlPlane, world: World, operator: OperatorProcess, outage: Outage
) -> None:
    """That nothing can be read from the API server says nothing about a draft."""
    engine, pid = await steps.watched(world), operator.pid
    await outage(plane)
    await steps.served(world, _BACK)
    asked = engine.asked

    async def read_again() -> bool:
        return engine.asked > asked + 3

    await world.until("more readings of the pod", read_again, _BACK)
    await steps.not_blamed(world)
    await steps.lives(operator, pid)
    await steps.still_follows(world, seconds=_BACK)
    await steps.lives(operator, pid)
