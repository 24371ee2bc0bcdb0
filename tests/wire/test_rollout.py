"""Pods that do not come up, and what the status reports about them."""

import json

from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

WORDS = "/mnt/draft/model: no such folder; check spec.speculation.draft"


async def test_a_draft_that_the_preflight_refuses_is_taken_out(world: World, operator: OperatorProcess) -> None:
    """RolloutFailed, with the preflight's own message in the status and in an Event."""
    await world.apply(sis())
    (pod,) = await world.roll_out(await world.child(speculative=True), EngineStandIn(), ready=False)
    await world.refuse(pod, json.dumps({"reason": "DraftMissing", "field": "draft", "message": WORDS}) + "\n")
    status = await world.phase("Responding")
    assert status["guard"]["rollback"]["reason"] == "RolloutFailed"
    assert f"PreflightRefused: DraftMissing: {WORDS}" in status["guard"]["rollback"]["message"]
    await world.roll_out(await world.child(speculative=False), EngineStandIn(speculative=False))
    await world.phase("RolledBack")


async def test_a_baseline_that_does_not_come_up_stalls(world: World, operator: OperatorProcess) -> None:
    """Without speculation nothing is left to take out: the user must act."""
    await world.apply(sis())
    for _ in range(2):
        child = await world.child()
        (pod,) = await world.roll_out(child, EngineStandIn(), ready=False)
        await world.refuse(pod, json.dumps({"reason": "TargetMissing", "field": "model", "message": "no such folder"}))
        await world.phase("Responding", "Stalled")
        await world.child(speculative=False)
    status = await world.phase("Stalled")
    (stalled,) = [each for each in status["conditions"] if each["type"] == "Stalled"]
    assert "TargetMissing: no such folder" in stalled["message"]


@fault(
    part=Part.CLUSTER,
    when="twenty replicas start one after the other in three deadlines",
    then="no rollback",
)
async def test_twenty_slow_replicas_are_served_though_they_take_three_deadlines(
    world: World, operator: OperatorProcess
) -> None:
    """Each one that comes up is progress: the deadline of a rollout counts from the last of them."""
    await world.apply(sis(replicas=20, rollout={"deadline": "10s"}))
    engines = [EngineStandIn(acceptance=0.8) for _ in range(20)]
    await world.come_up_in_turn(await world.child(speculative=True), engines, 1.5)
    status = await world.phase("Watching")
    assert [each["state"] for each in status["history"]] == ["Watching", "WarmingUp", "RollingOut"]
    assert "rollback" not in status["guard"]


async def test_flags_that_the_operator_owns_are_refused_with_a_message(world: World, operator: OperatorProcess) -> None:
    """What the CRD's rule cannot see (underscores) is refused by the operator, with field, value and rule."""
    await world.apply(sis(engine={"accelerator": "cpu", "args": ["--speculative_config={}"]}))
    status = await world.condition("Stalled", "True")
    (stalled,) = [each for each in status["conditions"] if each["type"] == "Stalled"]
    assert stalled["message"].startswith(
        "spec.engine.args[0]: '--speculative_config={}': the operator renders this flag"
    )
    await world.apply(sis())
    await world.child()

    async def healed() -> bool:
        return all(each["type"] != "Stalled" for each in (await world.status())["conditions"])

    await world.until("no Stalled condition", healed)


async def test_nothing_is_written_when_nothing_changes(world: World, operator: OperatorProcess) -> None:
    """Steady traffic with steady acceptance: not one write to the sis or its child over several windows."""
    await world.apply(sis())
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=400.0))

    async def passing() -> bool:
        return (await world.status()).get("guard", {}).get("verdict") == "Pass"

    await world.until("a passing window", passing)
    before = (await world.sis())["metadata"]["resourceVersion"], (await world.child())["metadata"]["resourceVersion"]
    await world.read_again(7)  # three windows
    after = (await world.sis())["metadata"]["resourceVersion"], (await world.child())["metadata"]["resourceVersion"]
    assert after == before, f"written without need: {await world.status()}"


async def test_a_finalizer_of_an_earlier_release_is_taken_off(world: World, operator: OperatorProcess) -> None:
    """Nothing waits for the operator then: a deleted service goes, its InferenceService by its owner reference."""
    kind, old = ("serving.specdec.io/v1alpha1", "speculativeinferenceservices"), ["serving.specdec.io/operator"]
    await world.apply(sis())
    await world.api.merge(kind, world.namespace, NAME, {"metadata": {"finalizers": old}})
    await world.child()

    async def free() -> bool:
        service = await world.api.get(kind, world.namespace, NAME)
        return service is not None and not service["metadata"].get("finalizers")

    await world.until("no finalizer", free)
    await world.api.delete(("serving.specdec.io/v1alpha1", "speculativeinferenceservices"), world.namespace, NAME)

    async def gone() -> bool:
        kind = ("serving.specdec.io/v1alpha1", "speculativeinferenceservices")
        return await world.api.get(kind, world.namespace, NAME) is None

    await world.until("the sis gone", gone)


async def test_a_restarted_operator_does_not_report_that_nothing_serves(
    world: World, operator: OperatorProcess
) -> None:
    """Until its watches have delivered the pods it writes nothing, so Ready keeps its value and its time."""
    await world.apply(sis())
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=400.0))

    async def passing() -> bool:
        return (await world.status()).get("guard", {}).get("verdict") == "Pass"

    await world.until("a passing window", passing)
    before = await world.condition("Ready", "True")
    await operator.stop()
    await operator.start()
    await world.read_again(2)
    after = await world.condition("Ready", "True")
    assert (after["conditions"], after["reason"], after["history"]) == (
        before["conditions"],
        before["reason"],
        before["history"],
    )
