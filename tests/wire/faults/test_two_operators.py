"""Two operators at work on the same services: with a Lease one waits for the other, without one both act."""

import pathlib
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus

import pytest

from specdec_operator.leadership.holding import LOST
from tests.wire.api import Api
from tests.wire.faults import acts, steps
from tests.wire.faults.clock import Clock
from tests.wire.faults.deeds import Asked, Deed, Drop, Hang, let_pass
from tests.wire.faults.proxy import Proxy
from tests.wire.faults.table import Part, fault
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.test_leader import FAIL_OVER, let_elect
from tests.wire.waiting import until
from tests.wire.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One of two operators, the proxy that all its requests go through, and its clock."""

    process: OperatorProcess
    proxy: Proxy
    clock: Clock

    def decisions(self) -> list[float]:
        """When it wrote to a status or to an InferenceService, seconds of the monotonic clock."""
        return [each.at for each in self.proxy.writes if each.what.startswith(("speculative", "inferenceservices"))]

    async def sees_the_lease(self, times: int) -> None:
        """Waits until it has read the Lease so often more."""

        def reads() -> int:
            return sum(each.asked.what == "leases" and each.status == HTTPStatus.OK for each in self.proxy.requests)

        enough = reads() + times

        async def has() -> bool:
            return reads() >= enough

        await until("the Lease is read again", has)


async def _replica(
    stack: AsyncExitStack, kubeconfig: pathlib.Path, world: World, folder: pathlib.Path, told: dict[str, str]
) -> Replica:
    folder.mkdir()
    proxy, clock = await stack.enter_async_context(Proxy(kubeconfig)), Clock(folder)
    own = await operator_kubeconfig(world.api, kubeconfig, folder / "kubeconfig")
    through = proxy.through(own, folder / "through")
    process = OperatorProcess(through, world.namespace, folder, environment=clock.environment | told)
    await stack.enter_async_context(process)
    stack.callback(clock.set, 0)  # a process whose clock was set back waits for the right time, also when it ends
    return Replica(process=process, proxy=proxy, clock=clock)


@pytest.fixture
async def elected(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path
) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two operators with one Lease: the one that leads, then the one that stands by."""
    await let_elect(api, world.namespace)
    told = {"SPECDEC_LEADER_LEASE": f"{world.namespace}/specdec-operator"}
    async with AsyncExitStack() as stack:
        first = await _replica(stack, kubeconfig, world, tmp_path / "first", told)
        await _leads(first)
        second = await _replica(stack, kubeconfig, world, tmp_path / "second", told)
        yield first, second


@pytest.fixture
async def both(
    kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path
) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two operators that know nothing of each other."""
    async with AsyncExitStack() as stack:
        made = [await _replica(stack, kubeconfig, world, tmp_path / name, {}) for name in ("first", "second")]
        yield made[0], made[1]


async def _leads(replica: Replica) -> None:
    await until("a leader", replica.process.leads, state=lambda: replica.process.log.read_text()[-1500:])


def _never_two_writers(old: Replica, new: Replica) -> None:
    """Nothing that the old leader sent came after the new one's first write."""
    assert new.decisions(), "the new leader has written"
    assert not old.decisions() or old.decisions()[-1] < new.decisions()[0]


@fault(
    part=Part.OPERATOR,
    when="the leader is killed while a draft becomes bad",
    then="the other leads within 20 s; once",
)
async def test_a_leader_that_is_killed_loses_no_decision(world: World, elected: tuple[Replica, Replica]) -> None:
    """What it had counted is in the status, and the pods' counters are in the pods."""
    old, new = elected
    engine = await steps.watched(world)
    engine.acceptance = 0.0
    begun = time.monotonic()
    await old.process.stop(signal.SIGKILL)
    await _leads(new)
    assert time.monotonic() - begun < FAIL_OVER
    await acts.rolled_back_once(world)
    _never_two_writers(old, new)


@fault(
    part=Part.OPERATOR,
    when="the leader loses its network while a rollback is due",
    then="the other leads within 20 s; once",
)
@pytest.mark.parametrize("cut", [Drop(), Hang()], ids=["dropped", "hanging"])
async def test_a_leader_that_is_cut_off_ends_before_another_leads(
    world: World, elected: tuple[Replica, Replica], cut: Deed
) -> None:
    """It reads its pods on, and decides; it cannot write that, and must not when its network comes back."""
    old, new = elected
    engine = await steps.watched(world)

    def cut_off(_: Asked) -> Deed:
        return cut

    old.proxy.rule = cut_off
    old.proxy.cut()
    engine.acceptance = 0.0
    begun = time.monotonic()
    await _leads(new)
    assert time.monotonic() - begun < FAIL_OVER
    assert await old.process.ended(1.0) == LOST
    old.proxy.rule = let_pass
    await acts.rolled_back_once(world)
    reached = [each.asked.at for each in old.proxy.requests if each.status and each.asked.writes]
    assert max(reached) < new.decisions()[0], "what reached the API server"


@fault(
    part=Part.CLOCK,
    when="the clock of the standby is set forward by an hour",
    then="it stays the standby",
)
async def test_a_stand_by_whose_clock_is_set_ahead_stands_by(world: World, elected: tuple[Replica, Replica]) -> None:
    """Else there would be two leaders for as long as the first may write."""
    _, new = elected
    await steps.watched(world)
    new.clock.set(3600)
    for _ in range(4):
        await new.sees_the_lease(1)
        assert not await new.process.leads()
    assert new.decisions() == []


@fault(
    part=Part.CLOCK,
    when="the same back, and the leader is killed",
    then="the standby leads within 20 s",
)
async def test_a_stand_by_whose_clock_is_set_back_takes_over_in_time(
    world: World, elected: tuple[Replica, Replica]
) -> None:
    """Otherwise no replica would lead for an hour."""
    old, new = elected
    await new.sees_the_lease(2)  # by its right clock
    new.clock.set(-3600)
    begun = time.monotonic()
    await old.process.stop(signal.SIGKILL)
    await _leads(new)
    assert time.monotonic() - begun < FAIL_OVER


@fault(
    part=Part.OPERATOR,
    when="two operators run without a Lease",
    then="both make the same decision; once",
)
async def test_two_operators_without_a_lease_decide_as_one(world: World, both: tuple[Replica, Replica]) -> None:
    """Each write is a server-side apply of what is true; the second of two equal ones changes nothing."""
    engine = await steps.watched(world)
    engine.acceptance = 0.0
    await acts.rolled_back_once(world)
    await _quiet(world, *(each.process for each in both))
    status = await world.status()
    assert (status["phase"], status["guard"]["rollbacks"]) == ("RolledBack", 1)


async def _quiet(world: World, *operators: OperatorProcess) -> None:
    """Waits until each has looked at the sis, and neither had anything to write."""

    async def still() -> bool:
        touched = await world.turned(*operators)
        return bool((await world.sis())["metadata"]["resourceVersion"] == touched["metadata"]["resourceVersion"])

    await world.until("nobody writes to the sis", still)
