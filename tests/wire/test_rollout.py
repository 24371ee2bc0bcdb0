"""A rollout of many pods that start one after the other, and the quiet after a rollout."""

from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, sis

WORDS = "/mnt/draft/model: no such folder; check spec.speculation.draft"


@fault(
    part=Part.CLUSTER,
    when="twenty replicas start one after the other in three deadlines",
    then="no rollback",
)
async def test_twenty_slow_replicas_are_served_though_they_take_three_deadlines(
    world: World, operator: OperatorProcess
) -> None:
    """Each one that comes up is progress: the deadline of a rollout counts from the last of them."""
    await world.apply(sis(replicas=20, rollout={"deadline": "30s"}))  # a loaded machine takes ten to begin
    engines = [EngineStandIn(acceptance=0.8) for _ in range(20)]
    await world.come_up_in_turn(await world.child(speculative=True), engines, 4.5)
    status = await world.phase("Watching")
    assert [each["state"] for each in status["history"]] == ["Watching", "WarmingUp", "RollingOut"]
    assert "rollback" not in status["guard"]


async def test_nothing_is_written_when_nothing_changes(world: World, operator: OperatorProcess) -> None:
    """Steady traffic with steady acceptance: not one write to the sis or its child over several windows."""
    await world.apply(sis())
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=400.0))
    await world.verdict("Pass")
    before = (await world.sis())["metadata"]["resourceVersion"], (await world.child())["metadata"]["resourceVersion"]
    await world.read_again(7)  # three windows
    after = (await world.sis())["metadata"]["resourceVersion"], (await world.child())["metadata"]["resourceVersion"]
    assert after == before, f"written without need: {await world.status()}"
