"""Stories in which the operator needs everything that it may do."""

from collections.abc import Callable

from specdec_operator.names import DIAL_ANNOTATION, FINALIZER
from tests.wire.api import DEPLOYMENT, ISVC, POD, SIS, Object
from tests.wire.pods import EngineStandIn
from tests.wire.world import BASELINE, BUDGET, NAME, World, sis

JOB = "batch/v1", "jobs"
CLAIM = "v1", "persistentvolumeclaims"
TOKENS = 400.0


def engine(acceptance: float = 0.8, *, speculative: bool = True) -> EngineStandIn:
    """A busy engine."""
    return EngineStandIn(tokens_per_second=TOKENS, acceptance=acceptance, speculative=speculative)


async def rolled_back_and_tried_again(world: World) -> None:
    """Created, rolled out, rolled back, and brought back by the annotation; then deleted.

    With the finalizer of an earlier release, which the operator removes; on GPUs, whose memory the nodes report.
    """
    await world.apply(sis(engine={"accelerator": "nvidia"}))
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"finalizers": [FINALIZER]}})
    await world.roll_out(await world.child(speculative=True), engine(0.0))
    await world.phase("Responding")
    await world.roll_out(await world.child(speculative=False), engine(speculative=False))
    await world.phase("RolledBack")
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": {"specdec.io/retry": "1"}}})
    await world.child(speculative=True)
    await gone(world)


async def restarted(world: World) -> None:
    """One of two pods far below the other one is evicted; new pods without metrics are looked up in the Events.

    In the end one replica is enough, and needs no budget; a baseline pod is made next to it, and removed.
    """
    await world.apply(sis(replicas=2))
    child = await world.child(speculative=True)
    good, _ = await world.roll_out(child, engine(), engine(0.0))
    await world.allow_evictions(1)

    async def one_left() -> bool:
        return await world.pods() == [good]

    await world.until("the bad pod evicted", one_left)
    await _dialled(world, good)
    await world.roll_out(child, EngineStandIn(), EngineStandIn(), ready=False)
    await world.phase("RollingOut", "Stalled", "Watching", "WarmingUp")
    await world.apply(sis())
    await world.gone(BUDGET, f"{NAME}-specdec")
    await _compared(world)


async def _dialled(world: World, pod: str) -> None:
    """A user sets the dial, and a pod gets it."""
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": {DIAL_ANNOTATION: "off"}}})

    async def set_() -> bool:
        found = await world.api.get(POD, world.namespace, pod)
        return DIAL_ANNOTATION in (found or {})["metadata"].get("annotations", {})

    await world.until("the pod's dial set", set_)


async def _compared(world: World) -> None:
    """Baseline pods are made, and then no longer requested."""
    await world.apply(sis(guard={"control": {"mode": "Always"}}))
    await world.roll_out(await world.child(speculative=True), engine())
    await world.baseline_pods()
    await world.apply(sis(guard={"control": {"mode": "Never"}}))
    await world.gone(DEPLOYMENT, BASELINE)


async def downloaded(world: World, log_read: Callable[[], bool]) -> None:
    """A download into a PVC that is at work, until its log is read, and then is not needed any more."""
    staging = {"mode": "PersistentVolumeClaim", "claim": {"storage": "1Gi"}}
    model = {"uri": "hf://org/model:main"}
    await world.apply(sis(model=model, speculation={"method": "ngram", "tokens": 3}, staging=staging))
    first = await _job(world, "")
    await _at_work(world, first)

    async def is_read() -> bool:
        return log_read()

    await world.until("the log read", is_read)
    model = {"uri": "hf://org/model:other"}
    await world.apply(sis(model=model, speculation={"method": "ngram", "tokens": 3}, staging=staging))
    await world.gone(JOB, first["metadata"]["name"])


async def gone(world: World) -> None:
    """Deletes the sis, and waits until Kubernetes has collected what it owned."""
    await world.api.delete(SIS, world.namespace, NAME)
    for kind in (SIS, ISVC):
        await world.gone(kind)


async def _job(world: World, other: str) -> Object:
    async def there() -> Object | None:
        found = await world.api.items(JOB, world.namespace)
        return next((each for each in found if each["metadata"]["name"] != other), None)

    found: Object = await world.until("a download Job", there)
    return found


async def _at_work(world: World, job: Object) -> None:
    """Plays the Job's controller, which is not run, and the kubelet: its pod runs."""
    meta = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"], "controller": True}
    name = f"{meta['name']}-x"
    template = job["spec"]["template"]
    labels = template["metadata"]["labels"]
    body = {"metadata": {"name": name, "labels": labels, "ownerReferences": [owner]}, "spec": template["spec"]}
    await world.api.create(POD, world.namespace, body)
    state = {"name": "fetch", "ready": True, "restartCount": 0, "image": "i", "imageID": ""}
    status = {"phase": "Running", "containerStatuses": [state | {"state": {"running": {}}}]}
    await world.api.merge(POD, world.namespace, name, {"status": status}, "status")
