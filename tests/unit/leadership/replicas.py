"""Several replicas that share services, in simulated seconds: each has an event loop, and all share one clock.

A replica may be paused (its loop stands still, the seconds pass), cut off, slow, or killed. The Leases are kept as the
API server keeps them: a write of an old version is refused, and a write whose caller has stopped waiting is done.
"""

import asyncio
import copy
import selectors
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kubernetes.aio import client
from kubernetes.aio.client.exceptions import ApiException

from specdec_operator.leadership.lease import Lease
from specdec_operator.leadership.shards import Shards

STEP: Final = 0.25
NAMESPACES: Final = [f"team-{each}" for each in range(6)]


@dataclass(slots=True)
class Time:
    now: float = 1000.0


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Time) -> None:
        self._shared = clock
        super().__init__(_Selector())

    def time(self) -> float:
        return self._shared.now


class _Selector(selectors.SelectSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(0)


@dataclass(slots=True)
class Store:
    """The Leases on the API server. pending: requests under way: when each arrives, and what it does then."""

    clock: Time
    leases: dict[str, client.V1Lease] = field(default_factory=dict)
    pending: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    versions: int = 0

    def arrive(self) -> None:
        due = sorted((each for each in self.pending if each[0] <= self.clock.now), key=lambda each: each[0])
        self.pending = [each for each in self.pending if each[0] > self.clock.now]
        for _, act in due:
            act()

    def read(self, name: str) -> client.V1Lease:
        if name not in self.leases:
            raise ApiException(status=404, reason="Not Found")
        return copy.deepcopy(self.leases[name])

    def create(self, name: str, lease: client.V1Lease) -> client.V1Lease:
        """A new one; refused where there is one."""
        if name in self.leases:
            raise ApiException(status=409, reason="AlreadyExists")
        return self._put(name, lease)

    def replace(self, name: str, lease: client.V1Lease) -> client.V1Lease:
        """Refused unless it is of the version that there is."""
        if lease.metadata.resource_version != self.read(name).metadata.resource_version:
            raise ApiException(status=409, reason="Conflict")
        return self._put(name, lease)

    def _put(self, name: str, lease: client.V1Lease) -> client.V1Lease:
        self.versions += 1
        kept = copy.deepcopy(lease)
        kept.metadata.resource_version = str(self.versions)
        self.leases[name] = kept
        return copy.deepcopy(kept)


class _Api:
    """The part of the client that a Lease uses, over the network of one replica."""

    def __init__(self, replica: "Replica", store: Store) -> None:
        self._replica = replica
        self._store = store

    async def read_namespaced_lease(self, name: str, _: str) -> client.V1Lease:
        return await self._ask(lambda: self._store.read(name))

    async def create_namespaced_lease(self, _: str, lease: client.V1Lease) -> client.V1Lease:
        sent = copy.deepcopy(lease)
        return await self._ask(lambda: self._store.create(sent.metadata.name, sent))

    async def replace_namespaced_lease(self, name: str, namespace: str, body: client.V1Lease) -> client.V1Lease:
        assert namespace == "n"
        sent = copy.deepcopy(body)
        return await self._ask(lambda: self._store.replace(name, sent))

    async def _ask(self, act: Callable[[], client.V1Lease]) -> client.V1Lease:
        loop, replica = asyncio.get_running_loop(), self._replica
        answer: asyncio.Future[client.V1Lease] = loop.create_future()
        if replica.cut:
            return await answer  # no server answers

        def arrived() -> None:
            result: Any
            try:
                result = act()
            except ApiException as error:
                result = error
            if not replica.cut and not loop.is_closed():
                loop.call_at(loop.time() + replica.slow, _give, answer, result)

        self._store.pending.append((loop.time() + replica.slow, arrived))
        return await answer


def _give(answer: "asyncio.Future[client.V1Lease]", result: Any) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)


class Replica:
    """One replica. cut: whether no request arrives; slow: seconds that a request takes, each way.

    paused_until: when its loop goes on.
    """

    def __init__(self, name: str, store: Store, shards: int) -> None:
        self.name = name
        self.cut, self.slow, self.paused_until = False, 0.0, 0.0
        self._clock = store.clock
        self._loop = _Loop(store.clock)
        connection: Any = object()  # without one the library makes its own, and reads all certificates of the machine
        leases = [Lease("n", f"l-{each}", name, connection, clock=self._time) for each in range(shards)]
        for lease in leases:
            lease.api_instance = _Api(self, store)
        self.shards = self._run(_made(leases, self._time))
        self._keeping = self._loop.create_task(self.shards.keep(asyncio.Event.set))
        self._stopping: asyncio.Task[None] | None = None

    def _time(self) -> float:
        return self._clock.now

    def _run(self, made: Any) -> Any:
        return self._loop.run_until_complete(made)

    @property
    def ended(self) -> bool:
        """Whether its process is over: it gave its shard back, or lost it."""
        over = self._stopping or self._keeping
        return over.done()

    @property
    def paused(self) -> bool:
        return self._clock.now < self.paused_until

    def writes(self) -> set[str]:
        if self.paused or self.ended:
            return set()
        return {each for each in NAMESPACES if self.shards.may_write(each)}

    def stop(self) -> None:
        """Asks it to end; it gives its shard back."""
        self._keeping.cancel()
        self._stopping = self._stopping or self._loop.create_task(self.shards.give_back())

    def step(self) -> None:
        for _ in range(4):
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()

    def close(self) -> None:
        tasks = asyncio.all_tasks(self._loop)
        for each in tasks:
            each.cancel()
        self._run(_ended(tasks))
        self._loop.close()


async def _made(leases: list[Lease], clock: Callable[[], float]) -> Shards:
    return Shards(leases, clock=clock)


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


class Scene:
    """Some replicas, as time goes by. After each step it is looked whether two may write about one namespace."""

    def __init__(self, shards: int) -> None:
        self.clock = Time()
        self.store = Store(self.clock)
        self.shards = shards
        self.replicas: list[Replica] = []
        self._made = 0

    def start(self) -> Replica:
        self._made += 1
        self.replicas.append(Replica(f"r{self._made}", self.store, self.shards))
        return self.replicas[-1]

    def kill(self, replica: Replica) -> None:
        self.replicas.remove(replica)
        replica.close()

    def writers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for replica in self.replicas:
            for namespace in replica.writes():
                assert namespace not in found, f"{found[namespace]} and {replica.name} may both write to {namespace}"
                found[namespace] = replica.name
        return found

    def go(self, seconds: float) -> None:
        """Advances the time, and checks after each step of a replica."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now += STEP
            self.writers()  # who wakes up is asked before its loop has noticed anything
            self.store.arrive()
            for replica in [each for each in self.replicas if not each.paused]:
                replica.step()
                self.writers()
            for replica in [each for each in self.replicas if each.ended]:
                self.kill(replica)

    def seconds_until(self, holds: Callable[[], bool], most: float = 60.0) -> float:
        begun = self.clock.now
        while not holds():
            assert self.clock.now - begun < most, f"not within {most:.0f} s: {self.writers()}"
            self.go(STEP)
        return self.clock.now - begun

    def all_written(self) -> bool:
        return len(self.writers()) == len(NAMESPACES)

    def close(self) -> None:
        while self.replicas:
            self.kill(self.replicas[0])
