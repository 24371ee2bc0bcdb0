"""Two operators that share services out by namespace: each writes to its own, and one takes over from the other."""

import asyncio
import itertools
import pathlib
import signal
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from specdec_operator.leadership.shards import owner_of
from tests.wire.api import Api
from tests.wire.faults.proxy import Proxy
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.test_leader import FAIL_OVER, let_elect
from tests.wire.waiting import PATIENCE
from tests.wire.world import World, sis

SLACK = 10.0
"""Seconds that a busy machine may need for the reconcile itself, after the services have moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One of two operators, and the proxy that all its requests go through."""

    process: OperatorProcess
    proxy: Proxy

    def writes(self, namespace: str) -> list[float]:
        """When it wrote to a service or an InferenceService of a namespace, seconds of the monotonic clock."""
        ours = [each for each in self.proxy.writes if f"/namespaces/{namespace}/" in each.path]
        return [each.at for each in ours if each.what.startswith(("speculative", "inferenceservices"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two replicas and two namespaces for each shard. worlds: by shard."""

    replicas: tuple[Replica, Replica]
    worlds: tuple[list[World], list[World]]

    async def all_lead(self) -> None:
        """Waits until both work."""
        deadline = time.monotonic() + PATIENCE
        for each in self.replicas:
            while not await each.process.leads():
                assert time.monotonic() < deadline, each.process.log.read_text()[-1500:]
                await asyncio.sleep(0.1)

    def writer(self, world: World) -> Replica:
        """The one that has written to a namespace; fails where both have."""
        (found,) = [each for each in self.replicas if each.writes(world.namespace)]
        return found

    def turns(self, world: World) -> list[int]:
        """Who wrote to a namespace, in order, without repetitions."""
        wrote = sorted((at, n) for n, each in enumerate(self.replicas) for at in each.writes(world.namespace))
        return [n for n, _ in itertools.groupby(n for _, n in wrote)]


async def _worlds(stack: AsyncExitStack, api: Api, shard: int) -> list[World]:
    """Two namespaces that belong to a shard when both live."""
    names = (f"wire-{uuid.uuid4().hex[:8]}" for _ in itertools.count())
    made = [each for each in itertools.islice(names, 64) if owner_of(each, frozenset({0, 1})) == shard][:2]
    for each in made:
        await api.create_namespace(each)
    return [await stack.enter_async_context(World(api, each)) for each in made]


@pytest.fixture
async def pair(api: Api, kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> AsyncIterator[Pair]:
    """Two replicas with a Lease for each of two shards, begun together; both work."""
    async with AsyncExitStack() as stack:
        worlds = await _worlds(stack, api, 0), await _worlds(stack, api, 1)
        first = worlds[0][0].namespace
        await let_elect(api, first)
        told = {"SPECDEC_LEADER_LEASE": f"{first}/specdec-operator", "SPECDEC_SHARDS": "2"}
        own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
        namespaces = ",".join(each.namespace for each in itertools.chain(*worlds))
        replicas = []
        for name in ("first", "second"):
            proxy = await stack.enter_async_context(Proxy(kubeconfig))
            through = proxy.through(own, tmp_path / f"through-{name}")
            process = OperatorProcess(through, namespaces, tmp_path, name=name, environment=told)
            await stack.enter_async_context(process)
            replicas.append(Replica(process=process, proxy=proxy))
        made = Pair(replicas=(replicas[0], replicas[1]), worlds=worlds)
        await made.all_lead()
        yield made


async def _ask(worlds: list[World], replicas: int) -> None:
    for world in worlds:
        await world.apply(sis(replicas=replicas))
    for world in worlds:
        await world.replicas(replicas)


async def test_services_are_spread_and_move_from_one_that_is_killed(
    pair: Pair, record_property: Callable[[str, object], None]
) -> None:
    """Each namespace has one writer at any time, and keeps it for as long as that one lives."""
    everything = [*itertools.chain(*pair.worlds)]
    await _ask(everything, 1)
    lost = pair.writer(pair.worlds[0][0])
    (other,) = [each for each in pair.replicas if each is not lost]
    assert [pair.writer(each) is lost for each in everything] == [True, True, False, False]

    begun = time.monotonic()
    await lost.process.stop(signal.SIGKILL)
    await _ask(pair.worlds[0], 2)
    seconds = max(other.writes(each.namespace)[0] for each in pair.worlds[0]) - begun
    record_property("seconds until all services of the lost replica were written about", round(seconds, 1))
    print(f"moved within {seconds:.1f} s")
    assert seconds <= FAIL_OVER + SLACK

    await lost.process.start()
    await pair.all_lead()
    back = time.monotonic()
    await _ask(pair.worlds[0], 3)
    assert all(lost.writes(each.namespace)[-1] > back for each in pair.worlds[0])
    first, second = pair.replicas.index(lost), pair.replicas.index(other)
    assert [pair.turns(each) for each in pair.worlds[0]] == [[first, second, first]] * 2
    assert [pair.turns(each) for each in pair.worlds[1]] == [[second]] * 2
