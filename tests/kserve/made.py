"""What the real KServe makes of an InferenceService in a namespace of its own, or why it makes nothing."""

import asyncio
import copy
import pathlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import yaml

from tests.wire.api import APPLY, DEPLOYMENT, EVENT, ISVC, POD, Api, Object
from tests.wire.waiting import until

ROOT: Final = pathlib.Path(__file__).parents[2]
SERVICE: Final = "v1", "services"
AUTOSCALER: Final = "autoscaling/v2", "horizontalpodautoscalers"
RUNTIMES: Final = "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"
CONTAINERS: Final = "/apis/serving.kserve.io/v1alpha1/clusterstoragecontainers"
CONFIGURATION: Final = "/api/v1/namespaces/kserve/configmaps/inferenceservice-config"
_NAMESPACED: Final = {
    "Secret": ("v1", "secrets"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "ResourceQuota": ("v1", "resourcequotas"),
    "ServingRuntime": ("serving.kserve.io/v1alpha1", "servingruntimes"),
    "Deployment": DEPLOYMENT,
    "Service": SERVICE,
}
_CLUSTER_WIDE: Final = {"ClusterServingRuntime": RUNTIMES, "ClusterStorageContainer": CONTAINERS}
_PAUSE: Final = 0.5
"""Between two looks at everything in a namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The objects of one InferenceService once KServe has reconciled it."""

    isvc: Object
    deployment: Object
    pods: list[Object]
    service: Object | None = None
    autoscaler: Object | None = None

    @property
    def template(self) -> Object:
        """The template of its pods."""
        found: Object = self.deployment["spec"]["template"]
        return found

    @property
    def pod(self) -> Object:
        """The spec of its one pod, as the API server admitted it: after KServe's pod webhook."""
        (found,) = self.pods
        return dict(found["spec"])


def shipped(accelerator: str) -> Object:
    """The ClusterServingRuntime of this project for an accelerator."""
    found: Object = yaml.safe_load((ROOT / "manifests" / "runtimes" / f"{accelerator}.yaml").read_text())
    return found


def condition_of(isvc: Object, kind: str) -> Object:
    """A condition of an InferenceService; empty where it has none of this type."""
    found = isvc.get("status", {}).get("conditions") or ()
    return next((dict(each) for each in found if each["type"] == kind), {})


def engine_of(pod: Object) -> Object:
    """The container that serves, of a pod's spec."""
    (found,) = (each for each in pod["containers"] if each["name"] == "kserve-container")
    return dict(found)


def apart(manifest: Object) -> Object:
    """A rendered InferenceService without its owner, who is not there: Kubernetes would delete it at once."""
    copied = copy.deepcopy(manifest)
    copied["metadata"].pop("ownerReferences", None)
    copied["metadata"].pop("namespace", None)
    return copied


class Place:
    """A namespace of its own, in which KServe works."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    @classmethod
    async def fresh(cls, api: Api) -> Self:
        """A new namespace."""
        place = cls(api, f"kserve-{uuid.uuid4().hex[:8]}")
        await api.create_namespace(place.namespace)
        return place

    async def clear(self) -> None:
        """Delete its InferenceServices, so that KServe has no work with them while other tests wait for it."""
        await self.api.call("delete", self.api.path(ISVC, self.namespace))

    async def give(self, *objects: Object) -> None:
        """Apply what stands around an InferenceService. Tests share a cluster-wide object by its name."""
        for each in objects:
            kind, meta = each["kind"], {**each["metadata"]}
            meta.pop("namespace", None)
            if kind in _CLUSTER_WIDE:
                path = f"{_CLUSTER_WIDE[kind]}/{meta['name']}"
            else:
                path = self.api.path(_NAMESPACED[kind], self.namespace, meta["name"])
            body, words = {**each, "metadata": meta}, {"content_type": APPLY, "field_manager": "kserve-tests"}
            await self.api.call("patch", path, body, force_conflicts=True, **words)

    async def apply(self, manifest: Object) -> Object:
        """Apply an InferenceService, as the operator does. Raises Refused with the words of KServe's webhook."""
        return await self.api.apply(ISVC, self.namespace, apart(manifest), "specdec-operator")

    async def make(self, manifest: Object, *, pods: int = 1) -> Made:
        """Apply an InferenceService and wait for its pods. Raises Refused."""
        await self.apply(manifest)
        return await self.made(manifest["metadata"]["name"], pods=pods)

    async def made(self, name: str, *, pods: int = 1) -> Made:
        """Wait until an InferenceService has its Deployment, as many pods of the newest template, and a status."""

        async def there() -> Made | None:
            found = await self.found(name)
            return found if found and len(found.pods) == pods else None

        result: Made = await until(f"pods of {name}", there, state=lambda: self.warnings(name))
        return result

    async def found(self, name: str) -> Made | None:
        """What there is of an InferenceService now; None while KServe has not finished its first reconcile."""
        return (await self.all_found()).get(name)

    async def all_found(self) -> dict[str, Made]:
        """What there is of every InferenceService that KServe has reconciled once, by name."""
        kinds = (ISVC, DEPLOYMENT, SERVICE, AUTOSCALER)
        services, *children = [
            {each["metadata"]["name"]: each for each in await self.api.items(kind, self.namespace)} for kind in kinds
        ]
        pods: dict[str, list[Object]] = {}
        for each in await self.api.items(POD, self.namespace):
            if "deletionTimestamp" not in each["metadata"]:
                pods.setdefault(each["metadata"]["labels"].get("app", ""), []).append(each)
        return {
            name: _of(isvc, [each.get(f"{name}-predictor") for each in children], pods)
            for name, isvc in services.items()
            if f"{name}-predictor" in children[0] and "observedGeneration" in isvc.get("status", {})
        }

    async def refusal(self, manifest: Object) -> str:
        """Apply an InferenceService that only the controller refuses, not a webhook; returns its Event's message."""
        await self.apply(manifest)
        name = manifest["metadata"]["name"]

        async def told() -> str:
            return "" if await self.found(name) else await self.warnings(name)

        words: str = await until(f"an Event about {name}", told)
        return words

    async def warnings(self, name: str) -> str:
        """The messages of the Warning Events about an InferenceService."""
        return " ".join(
            each["message"]
            for each in await self.api.items(EVENT, self.namespace)
            if each["type"] == "Warning" and each["involvedObject"]["name"] == name
        )

    async def until_isvc(self, name: str, what: str, fits: Callable[[Object], bool]) -> Object:
        """Wait until an InferenceService is so; returns it."""

        async def so() -> Object | None:
            found = await self.api.get(ISVC, self.namespace, name)
            return found if found is not None and fits(found) else None

        found: Object = await until(what, so)
        return found

    async def reconciled(self, name: str) -> None:
        """Have KServe look at an InferenceService once more, and wait until it has: a label of it reaches its pods."""
        note = uuid.uuid4().hex[:8]
        await self.api.merge(ISVC, self.namespace, name, {"metadata": {"labels": {"touched-by-a-test": note}}})

        async def seen() -> bool:
            live = await self.api.get(DEPLOYMENT, self.namespace, f"{name}-predictor")
            return live is not None and live["metadata"]["labels"].get("touched-by-a-test") == note

        await until("another reconcile", seen)


def named(item: Object, name: str) -> Object:
    """An object under another name."""
    return {**item, "metadata": {**item["metadata"], "name": name}}


def _of(isvc: Object, children: Sequence[Object | None], pods: Mapping[str, list[Object]]) -> Made:
    deployment, service, autoscaler = children
    assert deployment is not None
    app = deployment["spec"]["selector"]["matchLabels"]["app"]
    return Made(isvc=isvc, deployment=deployment, pods=pods.get(app, []), service=service, autoscaler=autoscaler)


async def all_made(place: Place, manifests: Mapping[str, Object]) -> dict[str, Made]:
    """Apply many InferenceServices under names of their own at once; returns what KServe made of each."""
    await asyncio.gather(*(place.apply(named(each, name)) for name, each in manifests.items()))
    missing = list(manifests)

    async def there() -> dict[str, Made] | None:
        await asyncio.sleep(_PAUSE)
        found = await place.all_found()
        missing[:] = [name for name in manifests if name not in found or len(found[name].pods) != 1]
        return None if missing else found

    result: dict[str, Made] = await until("all pods", there, state=lambda: missing)
    return result
