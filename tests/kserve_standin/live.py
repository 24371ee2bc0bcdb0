"""Plays a scene to whatever controller runs in a cluster, the real KServe or the stand-in, and tells what it made.

It plays kubelet and the Deployment's controller by writing their statuses, so it must be the only one that does.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.kserve_standin.api import Api, path_of
from tests.kserve_standin.model import ISVC_LABEL, Manifest, app_label, predictor_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

_KINDS = (
    ("apps/v1", "Deployment"),
    ("v1", "Service"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
)
_KEPT = ("annotations", "labels", "name", "namespace", "ownerReferences")
_ALLOCATED = ("clusterIP", "clusterIPs")
_MOMENT = "2026-11-21T00:00:00Z"
_HEARSAY_SECONDS = 0.5  # after which a controller has heard of what was just created


@dataclass(slots=True)
class Live:
    """One InferenceService in a cluster, and the pods that the scene gave it."""

    api: Api
    isvc: Manifest
    given: list[Manifest] = field(default_factory=list)
    _pods: set[str] = field(default_factory=set)
    _runtimes: list[Manifest] = field(default_factory=list)
    _replaced: list[tuple[Manifest, Manifest | None]] = field(default_factory=list)

    @classmethod
    def of(cls, api: Api, scene: Manifest) -> Live:
        """Set the stage for a scene or a recording."""
        return cls(api, deepcopy(scene["input"]), deepcopy(scene.get("given", [])))

    async def open(self) -> None:
        """Put what the scene is given in its place, then create the InferenceService."""
        for wanted in self.given:
            found = await self.api.find(path_of(wanted))
            self._replaced.append((wanted, found))
            await self.api.delete(wanted)
            await self.api.create(wanted)
        if self.given:
            await asyncio.sleep(_HEARSAY_SECONDS)
        await self.api.create(self.isvc)

    async def change(self, step: Manifest) -> None:
        """Do what a step of a scene says."""
        if "runtime" in step:
            await self.api.apply(step["runtime"])
            self._runtimes.append(step["runtime"])
        if "edit" in step:
            await self.api.patch(self._child(step["edit"]["kind"]), step["edit"]["patch"])
        if "delete" in step:
            await self.api.delete(self._child(step["delete"]))
        if "replace" in step:
            found = await self.api.get(path_of(self.isvc))
            await self.api.replace({**found, "spec": step["replace"]["spec"]})
        if "patch" in step:
            await self.api.patch(self.isvc, step["patch"])
        if "pods" in step:
            await self._set_pods({pod["name"]: pod["status"] for pod in step["pods"]})
        if "deployment" in step:
            await self._set_deployment_status(step["deployment"])

    async def snapshot(self) -> tuple[list[Manifest], Manifest]:
        """Return the objects and the status as a recording has them: without times, uids and addresses."""
        found = [await self.api.find(path_of(self._child(kind))) for _, kind in _KINDS]
        status = (await self.api.get(path_of(self.isvc))).get("status", {})
        for condition in status.get("conditions", []):
            condition["lastTransitionTime"] = "<time>"
        return [_cleaned(item) for item in found if item is not None], status

    async def settle(self) -> tuple[list[Manifest], Manifest]:
        """Return the first snapshot that stays the same for more than a second."""
        last, same = await self.snapshot(), 0
        while same < 4:
            await asyncio.sleep(0.3)
            now = await self.snapshot()
            last, same = now, same + 1 if now == last else 0
        return last

    async def close(self) -> None:
        """Delete everything of the scene; the garbage collector may not be there to do it."""
        await self.api.delete(self.isvc)
        await self._set_pods({})
        await until(self._is_gone)
        for left in (*(self._child(kind) for _, kind in _KINDS), *self._runtimes):
            await self.api.delete(left)
        for given, found in self._replaced:
            await self._restore(given, found)

    async def _restore(self, given: Manifest, found: Manifest | None) -> None:
        await self.api.delete(given)
        if found is not None:
            meta = {name: value for name, value in found["metadata"].items() if name in _KEPT}
            await self.api.create({**found, "metadata": meta})

    async def _is_gone(self) -> bool:
        return await self.api.find(path_of(self.isvc)) is None

    def _child(self, kind: str) -> Manifest:
        version = next(version for version, name in _KINDS if name == kind)
        meta = {"name": predictor_name(self.isvc), "namespace": self.isvc["metadata"]["namespace"]}
        return {"apiVersion": version, "kind": kind, "metadata": meta}

    async def _set_deployment_status(self, status: Manifest) -> None:
        found = await self.api.get(path_of(self._child("Deployment")))
        times = {"lastUpdateTime": _MOMENT, "lastTransitionTime": _MOMENT}
        conditions = [{**item, **times} for item in status["conditions"]]
        await self.api.replace({**found, "status": {**status, "conditions": conditions}}, subresource="status")

    async def _set_pods(self, pods: dict[str, Manifest]) -> None:
        for name in self._pods - pods.keys():
            await self.api.delete(self._pod(name), grace_seconds=0)
        for name in pods.keys() - self._pods:
            # KServe looks at the newest pod, and the API server counts time in seconds.
            await asyncio.sleep(1.1)
            await self.api.create(self._pod(name))
        self._pods = set(pods)
        for name, status in pods.items():
            found = await self.api.get(path_of(self._pod(name)))
            await self.api.replace({**found, "status": deepcopy(status)}, subresource="status")

    def _pod(self, name: str) -> Manifest:
        service = self.isvc["metadata"]["name"]
        labels = {"app": app_label(self.isvc), "component": "predictor", ISVC_LABEL: service}
        meta = {"name": f"{service}-{name}", "namespace": self.isvc["metadata"]["namespace"], "labels": labels}
        server, initializer = ({"name": name, "image": "none"} for name in ("kserve-container", "storage-initializer"))
        spec = {"containers": [server], "initContainers": [initializer]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def record(api: Api, scene: Manifest) -> Manifest:
    """Play a scene and return it with the answers of the controller that runs."""
    live = Live.of(api, scene)
    await live.open()
    objects, status = await live.settle()
    given = {"given": scene["given"]} if "given" in scene else {}
    recorded: Manifest = {**given, "input": scene["input"], "objects": objects, "status": status}
    if "steps" in scene:
        recorded["steps"] = []
    for step in scene.get("steps", []):
        await live.change(step)
        before, (objects, status) = objects, await live.settle()
        asked = {name: value for name, value in step.items() if name not in {"status", "objects"}}
        recorded["steps"].append(asked | {"status": status} | ({"objects": objects} if objects != before else {}))
    await live.close()
    return recorded


async def until(probe: Callable[[], Awaitable[bool]], seconds: float = 15.0) -> None:
    """Wait until a probe says yes."""
    async with asyncio.timeout(seconds):
        while not await probe():
            await asyncio.sleep(0.25)


def expectations(scene: Manifest) -> Iterator[tuple[Manifest | None, list[Manifest], Manifest]]:
    """Return each step of a recording, none for its opening, with the objects and the status after it."""
    objects = scene["objects"]
    yield None, objects, scene["status"]
    for step in scene.get("steps", []):
        objects = step.get("objects", objects)
        yield step, objects, step["status"]


def _cleaned(manifest: Manifest) -> Manifest:
    meta = {name: manifest["metadata"][name] for name in _KEPT if name in manifest["metadata"]}
    for owner in meta.get("ownerReferences", []):
        owner["uid"] = "<uid>"
    spec = {name: value for name, value in manifest["spec"].items() if name not in _ALLOCATED}
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": meta, "spec": spec}
