"""The guard's dial on a real API server: decided, recorded, then set, whenever the operator is killed."""

from typing import Any, Final

import pytest

from tests.wire.api import ISVC, POD
from tests.wire.dialled import following
from tests.wire.faults.acts import busy, watched
from tests.wire.faults.points import AFTER, BEFORE, Killer, in_turn
from tests.wire.faults.proxy import Proxy
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World

DIAL: Final = ("status Dialled (4 tokens)", "PATCH pods")
"""The writes from the decision on, until the pod has its setting."""
GUARD: Final[dict[str, Any]] = {"dial": {"settle": "2m"}}


async def dialled(world: World, engine: EngineStandIn) -> None:
    """The engine drafts nothing and reports that, and no pod is replaced."""

    async def in_force() -> bool:
        dial = (await world.status()).get("dial", {})
        return (dial.get("tokens"), dial.get("pods"), dial.get("inForce")) == (0, 1, 1)

    await world.until("the dial in force", in_force)
    status = await world.status()
    assert (status["phase"], status["guard"]["rollbacks"], engine.drafting) == ("Dialled", 0, 0)
    assert status["guard"]["dial"]["reason"] == "AcceptanceRateLow"


async def generation(world: World) -> tuple[Any, ...]:
    """What changes if pods are replaced."""
    child = await world.api.get(ISVC, world.namespace, NAME)
    assert child is not None
    pods = sorted(each["metadata"]["uid"] for each in await world.api.items(POD, world.namespace))
    return child["metadata"]["generation"], pods


async def test_the_decision_is_recorded_before_the_pod_is_set_and_recovered_traffic_takes_it_back(
    world: World, proxied: OperatorProcess, proxy: Proxy
) -> None:
    """The probes of two windows are enough. Nothing is rolled out."""
    engine = busy()
    async with following(world, engine):
        await watched(world, engine, guard=GUARD)
        await world.verdict("Pass")
        before = await generation(world)
        engine.acceptance = 0.0
        await dialled(world, engine)
        writes = in_turn(proxy.writes)
        decided = writes.index(DIAL[0])
        assert tuple(writes[decided : decided + len(DIAL)]) == DIAL
        await world.event("Dialled")
        engine.acceptance = 0.8
        status = await world.phase("Watching")
        assert status["guard"]["retries"] == 1
        await world.verdict("Pass")
        assert (engine.drafting, await generation(world)) == (None, before)
        assert "RollingBack" not in await world.events()


@fault(
    part=Part.OPERATOR,
    when="SIGKILL before or after each step of the dial (decision, setting of the pod)",
    then="the pods draft nothing; no pod is replaced",
)
@pytest.mark.parametrize("done", [BEFORE, AFTER])
@pytest.mark.parametrize("named", DIAL)
async def test_a_kill_at_a_step_of_the_dial(
    world: World, proxied: OperatorProcess, proxy: Proxy, named: str, *, done: bool
) -> None:
    """The operator that comes next finds the decision in the status, and the setting in the pod."""
    engine = busy()
    proxy.rule = killer = Killer(proxied, [named], done)
    async with following(world, engine):
        await watched(world, engine, guard=GUARD)
        await world.verdict("Pass")
        before = await generation(world)
        engine.acceptance = 0.0
        await killer.over()
        await dialled(world, engine)
        assert await generation(world) == before
