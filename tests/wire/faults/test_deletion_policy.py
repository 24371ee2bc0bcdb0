"""What stays when a service is deleted, and how another one takes it over: neither replaces a pod."""

from typing import Any

from tests.wire.api import DEPLOYMENT, ISVC, SIS, Object
from tests.wire.faults.acts import busy, still_speculating
from tests.wire.faults.foreign import (
    CLAIM,
    JOB,
    adopt,
    as_left,
    as_written,
    by_hand,
    downloading,
    owned_by,
    removed,
    taken,
)
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.waiting import until
from tests.wire.world import BASELINE, NAME, World, conditions, sis

_MODELS = f"{NAME}-models"


async def _policy(world: World, policy: str) -> None:
    await world.api.merge(SIS, world.namespace, NAME, {"spec": {"deletionPolicy": policy}})


async def _owned(world: World, *kinds: str) -> None:
    """Waits until the status names these as what stays, by the uids that they have."""

    async def told() -> bool:
        owned = (await world.status()).get("owned", [])
        return [each["kind"] for each in owned] == [*kinds]

    await world.until(f"status.owned {kinds}", told)


async def _dropped(world: World) -> None:
    """Waits until Kubernetes has collected what had the service as its owner: its Jobs."""

    async def none() -> bool:
        return await world.api.items(JOB, world.namespace) == []

    await until("no Job of the deleted service", none)


@fault(
    part=Part.OBJECTS,
    when="deletionPolicy changes from Delete to Orphan and back",
    then="only the owner reference changes; no pod is replaced",
)
async def test_a_policy_is_changed_without_a_new_pod(world: World, operator: OperatorProcess) -> None:
    """Metadata only: generation and spec stay. Without an owner reference, the status lists what the sis owns."""
    made = await world.apply(sis())
    await world.roll_out(await world.child(), busy())
    await world.phase("Watching")
    before = await world.child()
    await _policy(world, "Orphan")
    child = await owned_by(world, ISVC, NAME, None)
    await _owned(world, "InferenceService")
    assert (await world.status())["owned"][0]["uid"] == child["metadata"]["uid"]
    await operator.stop()
    await operator.start()
    await world.turned(operator)
    await still_speculating(world)
    await _policy(world, "Delete")
    after = await owned_by(world, ISVC, NAME, made["metadata"]["uid"])
    await _owned(world)
    for each in ("uid", "generation", "labels", "annotations"):
        assert before["metadata"][each] == child["metadata"][each] == after["metadata"][each]
    assert before["spec"] == child["spec"] == after["spec"]
    assert "Stalled" not in conditions(await world.status())
    await still_speculating(world)


@fault(
    part=Part.OBJECTS,
    when="an orphaning service is deleted, and created again with annotation adopt",
    then="nothing changes",
)
async def test_what_stayed_is_taken_over_with_its_pods(world: World, operator: OperatorProcess) -> None:
    """Its generation is what KServe makes pods by."""
    await world.apply(sis(deletionPolicy="Orphan"))
    await world.roll_out(await world.child(), busy())
    await world.phase("Watching")
    before = await owned_by(world, ISVC, NAME, None)
    await removed(world)
    assert await as_written(world) == as_left(before)
    made = await world.apply(sis())
    assert "without a controller, written by " in (said := await taken(world))
    assert "specdec-operator" in said
    assert await as_written(world) == as_left(before)
    await adopt(world)
    after = await owned_by(world, ISVC, NAME, made["metadata"]["uid"])
    await world.event("Adopted")
    assert [after["metadata"][each] for each in ("uid", "generation")] == [
        before["metadata"][each] for each in ("uid", "generation")
    ]
    assert after["spec"] == before["spec"]
    await world.phase("Watching")
    assert conditions(await world.status())["Ready"]["status"] == "True"


@fault(
    part=Part.OBJECTS,
    when="a service with baseline pods is deleted with --cascade=orphan, and created again with annotation adopt",
    then="it takes over the InferenceService, the baseline pods and the budget together",
)
async def test_baseline_pods_and_budget_are_taken_over_with_the_inference_service(
    world: World, operator: OperatorProcess
) -> None:
    """Without adopt, nothing is taken over."""
    both = {"control": {"mode": "Always"}, "speedup": {"min": 1.0}, "baseline": "None"}
    await world.apply(sis(guard=both, replicas=2))
    await world.roll_out(await world.child(), busy(), busy())
    await world.phase("Watching")
    await world.bring_baseline_pods(EngineStandIn(tokens_per_second=400.0, speculative=False))
    objects = [(ISVC, NAME), (DEPLOYMENT, BASELINE), (("policy/v1", "poddisruptionbudgets"), f"{NAME}-specdec")]
    before = [await owned_by(world, kind, name, await _uid(world)) for kind, name in objects]
    await world.api.call("delete", world.api.path(SIS, world.namespace, NAME), {"propagationPolicy": "Orphan"})
    await world.gone()
    made = await world.apply(sis(guard=both, replicas=2))
    await taken(world)
    for kind, name in objects:
        await owned_by(world, kind, name, None)
    await adopt(world)
    after = [await owned_by(world, kind, name, made["metadata"]["uid"]) for kind, name in objects]
    assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
    await world.phase("Watching")
    await world.told("ComparingWithPlain", "1 of 1 baseline pods serve")


async def _uid(world: World) -> str:
    """Of the service."""
    found = await world.api.get(SIS, world.namespace, NAME)
    assert found is not None
    return str(found["metadata"]["uid"])


@fault(
    part=Part.OBJECTS,
    when="a service adopts an InferenceService of a user",
    then="it gets exactly the rendered spec; annotations and status stay",
)
async def test_nothing_of_the_old_spec_is_left_in_what_is_adopted(world: World, operator: OperatorProcess) -> None:
    """By the field owners: what others wrote into the spec is ours, and goes with our next apply."""
    await world.api.create(ISVC, world.namespace, by_hand(timeout=7))
    words: dict[str, Any] = {"content_type": "application/apply-patch+yaml", "field_manager": "another"}
    other = by_hand(minReplicas=4, labels={"a": "b"})
    other["spec"]["predictor"] = {each: other["spec"]["predictor"][each] for each in ("minReplicas", "labels")}
    path = world.api.path(ISVC, world.namespace, NAME)
    await world.api.call("patch", path, other, **words)
    body = sis()
    body["metadata"]["annotations"] = {"serving.specdec.io/adopt": "true"}
    made = await world.apply(body)
    mixed = await owned_by(world, ISVC, NAME, made["metadata"]["uid"])
    await world.event("Adopted")
    assert "NameTaken" not in await world.events()
    assert mixed["metadata"]["annotations"]["team"] == "mine"

    async def reported() -> bool:
        return bool((await world.api.get(ISVC, world.namespace, NAME) or {}).get("status"))

    await world.until("KServe's status of it", reported)
    other_name = {**sis(), "metadata": {"name": "clean"}}
    await world.api.apply(SIS, world.namespace, other_name)

    async def clean() -> Object | None:
        return await world.api.get(ISVC, world.namespace, "clean")

    pure = await world.until("another one", clean)
    assert _without_names(pure["spec"]) == _without_names(mixed["spec"])


def _without_names(spec: Object) -> Object:
    """The spec without what another name of the service changes."""
    predictor = spec["predictor"]
    args = [each for each in predictor["model"]["args"] if not each.startswith("--served-model-name=")]
    labels = sorted(predictor["labels"])
    return {**spec, "predictor": {**predictor, "labels": labels, "model": predictor["model"] | {"args": args}}}


@fault(
    part=Part.OBJECTS,
    when="an orphaning service with downloads is deleted, and created again with adopt",
    then="the new service takes over the PVC too",
)
async def test_the_pvc_stays_too(world: World, downloader: OperatorProcess) -> None:
    """Jobs may go: the next ones find the artifact in the claim."""
    await world.apply(downloading(deletionPolicy="Orphan"))
    before = await owned_by(world, CLAIM, _MODELS, None)
    await _owned(world, "PersistentVolumeClaim")
    await removed(world)
    await _dropped(world)
    assert await world.api.get(CLAIM, world.namespace, _MODELS) == before
    made = await world.apply(downloading())
    assert f"PersistentVolumeClaim {_MODELS}" in await taken(world)
    assert await world.api.get(CLAIM, world.namespace, _MODELS) == before
    await adopt(world)
    after = await owned_by(world, CLAIM, _MODELS, made["metadata"]["uid"])
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])
    await world.event("Adopted")
    await _policy(world, "Orphan")
    await owned_by(world, CLAIM, _MODELS, None)
    await downloader.stop()
    await downloader.start()
    await _policy(world, "Delete")
    await owned_by(world, CLAIM, _MODELS, made["metadata"]["uid"])
