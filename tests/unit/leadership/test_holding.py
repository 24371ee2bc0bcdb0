"""The thread that keeps a Lease: it goes on while the work's event loop hangs, and ends the process in time."""

import asyncio
import subprocess
import sys
import time

import pytest
from kubernetes.aio import client

from specdec_operator.errors import Unavailable
from specdec_operator.leadership.holding import LOST, Tell, work_while_held
from specdec_operator.leadership.share import Share, all_services

MOST = 20.0
"""Seconds that anything here may take on a busy machine."""


class Ticking:
    """Stands for a Lease that can be had at once, or not at all: `error`. ticks: how often it was renewed."""

    name = "a stand-in for a Lease"

    def __init__(self, *, free: bool = True, error: Exception | None = None) -> None:
        self.ready = asyncio.Event()
        self.share = all_services(self.held)
        self.ticks = 0
        self.acts: list[str] = []
        self._free, self._error = free, error

    def held(self) -> bool:
        return self._free

    async def keep(self, tell: Tell) -> None:
        if self._error is not None:
            raise self._error
        while True:
            self.ticks += 1
            if self._free:
                tell(self.ready)
            await asyncio.sleep(0.01)

    async def give_back(self) -> None:
        self.acts.append("given back")


async def _worked(holder: Ticking, stop: asyncio.Event) -> None:
    async def work(_: Share) -> None:
        holder.acts.append("begins")
        await stop.wait()
        holder.acts.append("ends")

    async with asyncio.timeout(MOST):
        await work_while_held(client.ApiClient(client.Configuration()), holder, work, stop)


async def test_a_lease_is_renewed_while_the_event_loop_of_the_work_stands_still() -> None:
    """With 10,000 services on full cores it was late by more than a Lease lasts."""
    holder, seen = Ticking(), list[int]()

    async def work(_: Share) -> None:
        begun, deadline = holder.ticks, time.monotonic() + MOST
        while holder.ticks < begun + 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        seen.append(holder.ticks - begun)

    await work_while_held(client.ApiClient(client.Configuration()), holder, work, asyncio.Event())
    assert seen[0] >= 5


async def test_it_is_given_back_after_the_work_has_ended() -> None:
    """Else two replicas would work for a moment."""
    holder, stop = Ticking(), asyncio.Event()
    working = asyncio.create_task(_worked(holder, stop))
    async with asyncio.timeout(MOST):
        while "begins" not in holder.acts:
            await asyncio.sleep(0.01)
    stop.set()
    await working
    assert holder.acts == ["begins", "ends", "given back"]


async def test_a_standby_replica_ends_on_request() -> None:
    holder, stop = Ticking(free=False), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, stop.set)
    await _worked(holder, stop)
    assert holder.acts == ["given back"]
    assert holder.ticks > 0


async def test_what_keeps_it_from_being_taken_is_raised() -> None:
    """A kubeconfig without a server, for example."""
    with pytest.raises(Unavailable, match="no way"):
        await _worked(Ticking(error=Unavailable("Gone", "no way")), asyncio.Event())


_HANGS = """
import asyncio, time
from kubernetes.aio import client
from specdec_operator.leadership.holding import work_while_held
from tests.unit.leadership.test_holding import Ticking

class Losing(Ticking):
    def held(self):
        return self.ticks < 100

async def work(share):
    time.sleep(60)

asyncio.run(work_while_held(client.ApiClient(client.Configuration()), Losing(), work, asyncio.Event()))
"""


def test_a_replica_that_hangs_ends_when_its_lease_is_lost() -> None:
    """The event loop that hangs cannot end it; a second writer would be the result."""
    ended = subprocess.run([sys.executable, "-c", _HANGS], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == LOST, ended.stderr
    assert "is lost" in ended.stderr
