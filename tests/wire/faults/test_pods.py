"""Pods that go, come, and inherit addresses in the middle of a window: counters of two engines are never mixed."""

from datetime import UTC, datetime

import pytest

from tests.wire.api import POD, Object
from tests.wire.faults.acts import busy, move, rolled_back_once, still_speculating, verdict, watched
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, conditions, is_speculative, sis

EVICTED: Object = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
LOST: Object = {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}
FAILED: Object = EVICTED | {"conditions": [{"type": "Ready", "status": "False", "reason": "PodFailed"}]}


def bad(**more: float) -> EngineStandIn:
    """Another engine, with a long life of refused drafts behind it: mixed into a window, it would fail the window."""
    engine = busy(acceptance=0.0, **more)
    engine.spend(3600.0)
    return engine


@fault(
    part=Part.PODS,
    when="one of two pods is evicted, or its node is lost, during a window",
    then="no rollback",
)
@pytest.mark.parametrize("status", [FAILED, LOST], ids=["evicted", "node-lost"])
async def test_a_lost_pod_takes_no_draft_out(world: World, operator: OperatorProcess, status: Object) -> None:
    """The counters of the lost pod are not evidence from then on."""
    staying, going = busy(), busy()
    _, pod = await watched(world, staying, going, replicas=2)
    await verdict(world, "Accepted")
    await world.api.merge(POD, world.namespace, pod, {"status": status}, "status")
    going.acceptance = 0.0
    await world.read_again(2, staying)
    asked = going.asked
    await world.read_again(5, staying)
    assert going.asked <= asked + 1
    await still_speculating(world)
    await world.remove_pod(pod)
    await verdict(world, "Accepted")
    staying.acceptance = 0.0
    await rolled_back_once(world)


async def _download(world: World, pod: str, *, done: bool) -> None:
    """Plays the kubelet: the init container that downloads the models runs, or has ended and the engine runs."""
    at = {"startedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    init, engine = {"running": at}, {"waiting": {"reason": "PodInitializing"}}
    if done:
        init, engine = {"terminated": {"exitCode": 0} | at}, {"running": at}
    image = {"image": "i", "imageID": "", "ready": False, "restartCount": 0}
    conditions = [{"type": "PodReadyToStartContainers", "status": "True"}, {"type": "Ready", "status": "False"}]
    status = {
        "conditions": conditions,
        "initContainerStatuses": [image | {"name": "storage-initializer", "state": init}],
        "containerStatuses": [image | {"name": "kserve-container", "state": engine}],
    }
    await world.api.merge(POD, world.namespace, pod, {"status": status}, "status")


@fault(
    part=Part.PODS,
    when="a pod downloads for longer than `rollout.deadline`",
    then="Stalled; afterwards the engine has the whole deadline",
)
async def test_a_slow_download_is_not_the_drafts_fault(world: World, operator: OperatorProcess) -> None:
    """An engine that has not started proves nothing; a started one that does not answer counts against the draft."""
    await world.apply(sis(rollout={"deadline": "8s"}))
    (pod,) = await world.roll_out(await world.child(speculative=True), busy(), ready=False)
    await _download(world, pod, done=False)
    said = conditions(await world.phase("Stalled"))["Stalled"]
    assert (said["reason"], said["message"].rpartition("; ")[2]) == (
        "Staging",
        "container storage-initializer is running",
    )
    await world.turned(operator)
    assert (await world.status())["phase"] == "Stalled"
    assert is_speculative(await world.child())
    await _download(world, pod, done=True)
    await world.phase("RollingOut")
    status = await world.phase("Responding")
    assert status["guard"]["rollback"]["message"].startswith("DeadlineExceeded")
    assert (status["guard"]["rollbacks"], status["guard"]["rollback"]["pending"]) == (0, True)


@fault(
    part=Part.PODS,
    when="another engine answers at a pod's address during a window",
    then="the window is Inconclusive (Restarted)",
)
async def test_an_address_that_is_inherited_mixes_no_counters(world: World, operator: OperatorProcess) -> None:
    """The other process has another start time: its earlier counters do not belong to this window."""
    engine = busy()
    (pod,) = await watched(world, engine, guard={"window": "4s"})
    await verdict(world, "Accepted")
    stranger = bad(started=engine.started - 3600.0)
    good, true = engine.page, world.address(pod)
    engine.page = stranger.page  # type: ignore[method-assign]
    await verdict(world, "Restarted")
    engine.page = good  # type: ignore[method-assign]
    await move(world, pod, true)
    await verdict(world, "Accepted")
    await still_speculating(world)
    engine.acceptance = 0.0
    await rolled_back_once(world)


@fault(
    part=Part.PODS,
    when="a PodDisruptionBudget forbids an eviction",
    then="a new request every half minute; reads continue",
)
async def test_a_budget_that_allows_no_eviction_is_respected(world: World, operator: OperatorProcess) -> None:
    """No reconcile fails of it; once the budget allows it, the pod is evicted."""
    good, bad_one = busy(), busy(acceptance=0.0)
    await world.apply(sis(replicas=2, guard={"window": "8s"}))
    staying, going = await world.roll_out(await world.child(speculative=True), good, bad_one)
    await world.allow_evictions(0)
    failed = await operator.metric("specdec_turn_failures_total")

    async def restarting() -> bool:
        return bool((await world.status()).get("guard", {}).get("restarting") == [going])

    await world.until("the pod named", restarting)
    await world.read_again(3, good)
    assert await world.pods() == sorted([staying, going])
    assert await operator.metric("specdec_turn_failures_total") == failed
    await world.allow_evictions(1)

    async def gone() -> bool:
        return await world.pods() == [staying]

    await world.until("the pod evicted", gone)
    assert is_speculative(await world.child())
