"""Objects of others under the names of a service, and what there is to be seen of them."""

from http import HTTPStatus
from typing import Any, Final

from tests.wire.api import ISVC, SIS, Object, Refused
from tests.wire.waiting import until
from tests.wire.world import NAME, World, conditions, sis

JOB: Final = "batch/v1", "jobs"
CLAIM: Final = "v1", "persistentvolumeclaims"
CONFIG: Final = "v1", "configmaps"
ADOPT: Final = "serving.specdec.io/adopt"
DOWNLOADS: Final = {"SPECDEC_STORAGE_INITIALIZER": "registry.example/storage-initializer:v0.20.0"}
"""Environment of an operator that can make download Jobs."""


def by_hand(**spec: Any) -> Object:
    """An InferenceService as a user makes one who has never heard of this operator."""
    model = {"modelFormat": {"name": "sklearn"}, "storageUri": "s3://mine/model"}
    return {
        "apiVersion": ISVC[0],
        "kind": "InferenceService",
        "metadata": {"name": NAME, "annotations": {"team": "mine"}},
        "spec": {"predictor": {"model": model, "maxReplicas": 5, **spec}},
    }


def downloading(**spec: Any) -> Object:
    """A sis whose target is downloaded into the operator's claim."""
    staging = {"mode": "PersistentVolumeClaim", "claim": {"storage": "1Gi"}}
    speculation = {"method": "ngram", "tokens": 3}
    return sis(model={"uri": "hf://org/model:main"}, speculation=speculation, staging=staging, **spec)


def claim_by_hand() -> Object:
    """A PVC with the name of the operator's own."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"{NAME}-models"}, "spec": spec}


def controlled(by: Object, body: Object) -> Object:
    """The same, controlled by another object."""
    meta = by["metadata"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], "controller": True}
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}


def as_left(body: Object) -> Object:
    """An InferenceService without what KServe writes: the status, the finalizer, and KServe as a field manager."""
    meta = {key: part for key, part in body["metadata"].items() if key not in ("resourceVersion", "finalizers")}
    writers = [each for each in meta.pop("managedFields") if each["manager"] != "manager"]
    return {"metadata": meta, "spec": body["spec"], "writers": writers}


async def as_written(world: World) -> Object:
    """The same of the InferenceService that is there."""
    found = await world.api.get(ISVC, world.namespace, NAME)
    assert found is not None, "it is gone"
    return as_left(found)


async def vanish(world: World, kind: tuple[str, str], name: str) -> None:
    """Deletes an object for good: no controller here removes the finalizer that protects PVCs."""

    async def gone() -> bool:
        try:
            await world.api.merge(kind, world.namespace, name, {"metadata": {"finalizers": None}})
            await world.api.delete(kind, world.namespace, name)
        except Refused as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return True
        return False

    await until(f"no {name} any more", gone)


async def taken(world: World) -> str:
    """Waits until the sis is stalled because a name is taken, and every condition shows it; returns the message."""
    await world.told("Stalled", "NameTaken")
    status = await world.status()
    said = conditions(status)
    assert status["phase"] == "Stalled"
    assert {each: (said[each]["status"], said[each]["reason"]) for each in ("Ready", "Stalled")} == {
        "Ready": ("False", "NameTaken"),
        "Stalled": ("True", "NameTaken"),
    }
    assert said["Ready"]["message"] == said["Stalled"]["message"] == status["message"]
    await world.event("NameTaken")
    return str(status["message"])


async def adopt(world: World) -> None:
    """What a user does who wants the service to take over what has its names."""
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": {ADOPT: "true"}}})


async def removed(world: World) -> None:
    """Deletes the sis, and waits until it is gone."""
    await world.api.delete(SIS, world.namespace, NAME)
    await world.gone()


async def owned_by(world: World, kind: tuple[str, str], name: str, uid: str | None) -> Object:
    """Waits until an object is controlled by this uid, or by no owner; returns it."""

    async def there() -> Object | None:
        found = await world.api.get(kind, world.namespace, name)
        owners = [each["uid"] for each in (found or {}).get("metadata", {}).get("ownerReferences", ())]
        return found if found and owners == ([uid] if uid else []) else None

    found: Object = await world.until(f"{name} controlled by {uid or 'nobody'}", there)
    return found
