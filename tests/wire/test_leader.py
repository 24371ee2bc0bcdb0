"""Two operators with one Lease: one writes, the other stands by and takes over."""

import asyncio
import pathlib
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from specdec_operator.leadership.holding import LOST
from tests.wire.api import Api, Object
from tests.wire.faults.table import Part, fault
from tests.wire.install import grant, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.waiting import until
from tests.wire.world import NAME, World, sis

FAIL_OVER = 20.0
"""Seconds that a service may be without its operator when a replica dies: the Lease's 12 and two tries, and some."""


@pytest.fixture
async def pair(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path
) -> AsyncIterator[tuple[OperatorProcess, OperatorProcess]]:
    """Two replicas that compete for one Lease of the test's namespace."""
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
    await let_elect(api, world.namespace)
    told = {"SPECDEC_LEADER_LEASE": f"{world.namespace}/specdec-operator"}
    async with AsyncExitStack() as stack:
        made = [
            OperatorProcess(own, world.namespace, tmp_path, name=name, environment=told) for name in ("first", "second")
        ]
        for each in made:
            await stack.enter_async_context(each)
        yield made[0], made[1]


async def let_elect(api: Api, namespace: str) -> None:
    """The Role that the manifests give in the operator's own namespace."""
    leases: Object = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "create", "update"],
    }
    await grant(api, "specdec-operator", [leases], within=namespace)


async def _leader(pair: tuple[OperatorProcess, ...]) -> OperatorProcess:
    async def leading() -> list[OperatorProcess]:
        found = [each for each in pair if await each.leads()]
        assert len(found) < 2, "two replicas lead at once"
        return found

    leader: OperatorProcess
    (leader,) = await until("a leader", leading, state=lambda: [each.log.read_text()[-800:] for each in pair])
    return leader


async def _roles(pair: tuple[OperatorProcess, OperatorProcess]) -> tuple[OperatorProcess, OperatorProcess]:
    """The one that leads, and the other."""
    first, second = pair
    return pair if await _leader(pair) is first else (second, first)


@fault(
    part=Part.OPERATOR,
    when="the leader of two replicas is stopped",
    then="it releases the Lease; the other leads within 10 s",
)
async def test_a_replica_that_is_stopped_gives_its_lease_back(
    pair: tuple[OperatorProcess, OperatorProcess], world: World
) -> None:
    """An upgrade does not wait for the Lease's end: the other leads after one of its tries."""
    leader, other = await _roles(pair)
    begun = time.monotonic()
    assert await leader.stop() == 0
    assert await _leader((other,)) is other
    assert time.monotonic() - begun < FAIL_OVER / 2
    await world.apply(sis())
    await world.child(speculative=True)


@fault(
    part=Part.OPERATOR,
    when="a replica is stopped while it becomes the leader",
    then="it ends within 10 s and releases the Lease",
)
async def test_a_replica_that_is_stopped_as_it_begins_to_lead_ends(
    pair: tuple[OperatorProcess, OperatorProcess], world: World
) -> None:
    """Between the election and kopf's own handlers of signals, another handler has to catch the signal."""
    leader, other = await _roles(pair)
    await leader.stop()
    async with asyncio.timeout(60):
        while not await other.leads():
            await asyncio.sleep(0.01)
    other.send(signal.SIGTERM)
    assert await other.ended(FAIL_OVER / 2) == 0


@fault(
    part=Part.OPERATOR,
    when="the leader is paused until another replica leads",
    then="it ends within 5 s, and writes nothing",
)
async def test_a_replica_that_slept_through_its_lease_ends_and_writes_nothing(
    pair: tuple[OperatorProcess, OperatorProcess], world: World
) -> None:
    """A paused process wakes up as a leader that was replaced: it must end before it writes."""
    leader, other = await _roles(pair)
    leader.send(signal.SIGSTOP)
    assert await _leader((other,)) is other
    leader.send(signal.SIGCONT)
    assert await leader.ended(5.0) == LOST
    assert await other.leads()
    assert NAME not in leader.log.read_text()
