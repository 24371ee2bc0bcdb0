"""Brings Deployment, Service and HPA in the cluster to what was rendered, by as few writes as KServe's.

Everything foreign in a Deployment's spec is wiped, as KServe wipes it; replicas belong to the autoscaler
unless the class is `none`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.kserve_standin.api import Api, ApiError
from tests.kserve_standin.apiserver import as_stored
from tests.kserve_standin.model import AUTOSCALER_CLASS, Manifest, Rendered, annotation

if TYPE_CHECKING:
    from tests.kserve_standin.world import Key, World

_KEPT_ANNOTATIONS = "deployment.kubernetes.io/"  # the Deployment controller's own bookkeeping


@dataclass(slots=True)
class Children:
    """The writer of child objects, and its memory of what each Deployment was last found equal to."""

    api: Api
    world: World
    _settled: dict[Key, tuple[str, int]] = field(default_factory=dict)

    async def bring(self, rendered: Rendered) -> Manifest:
        """Make the objects and return the Deployment as the cluster has it now."""
        await self._bring_service(rendered.service)
        deployment = await self._bring_deployment(rendered.deployment)
        await self._bring_autoscaler(rendered)
        return deployment

    async def remove(self, manifest: Manifest) -> None:
        """Delete one object, if the cluster has it."""
        found = self._found(manifest)
        if found is not None and not found["metadata"].get("deletionTimestamp"):
            await self.api.delete(found)

    async def _bring_deployment(self, wanted: Manifest) -> Manifest:
        found = self._found(wanted)
        if found is None:
            return await self._created(wanted)
        key = (wanted["metadata"]["namespace"], wanted["metadata"]["name"])
        settled = (_digest(wanted), found["metadata"]["generation"])
        if self._settled.get(key) == settled:
            return found
        update = _deployment_update(wanted, found)
        # Only the API server knows its defaults, so it is asked what the update would come to.
        if (await self.api.replace(update, dry_run=True))["spec"] != found["spec"]:
            found = await self.api.replace(update)
            self.world.put(found)
        self._settled[key] = (settled[0], found["metadata"]["generation"])
        return found

    async def _bring_service(self, wanted: Manifest) -> None:
        found = self._found(wanted)
        if found is None:
            await self._created(wanted)
            return
        parts = {name: as_stored(wanted)["spec"][name] for name in ("ports", "selector")}
        if any(found["spec"].get(name) != part for name, part in parts.items()):
            self.world.put(await self.api.replace({**found, "spec": {**found["spec"], **parts}}))

    async def _bring_autoscaler(self, rendered: Rendered) -> None:
        wanted = rendered.autoscaler
        if wanted is None:
            await self.remove({**rendered.deployment, "kind": "HorizontalPodAutoscaler"})
            return
        found = self._found(wanted)
        if found is None:
            await self._created(wanted)
        elif found["spec"] != as_stored(wanted)["spec"]:
            self.world.put(await self.api.replace({**found, "spec": wanted["spec"]}))

    async def _created(self, wanted: Manifest) -> Manifest:
        try:
            created = await self.api.create(wanted)
        except ApiError as error:
            if error.code != 409 or "already exists" not in error.message:
                raise
            # Its event has not come yet; take it as it is and let that event wake us again.
            head = {name: wanted[name] for name in ("apiVersion", "kind")}
            created = {**head, **await self.api.replace(wanted)}
        self.world.put(created)
        return created

    def _found(self, manifest: Manifest) -> Manifest | None:
        meta = manifest["metadata"]
        found = self.world.get(manifest["kind"], (meta["namespace"], meta["name"]))
        return None if found is None or found["metadata"].get("deletionTimestamp") else found


def _deployment_update(wanted: Manifest, found: Manifest) -> Manifest:
    kept = {
        key: value
        for key, value in (found["metadata"].get("annotations") or {}).items()
        if key.startswith(_KEPT_ANNOTATIONS)
    }
    meta = {
        **wanted["metadata"],
        "annotations": {**kept, **wanted["metadata"]["annotations"]},
        "resourceVersion": found["metadata"]["resourceVersion"],
    }
    spec = dict(wanted["spec"])
    if annotation(wanted, AUTOSCALER_CLASS) != "none":
        spec["replicas"] = found["spec"]["replicas"]
    return {**wanted, "metadata": meta, "spec": spec}


def _digest(manifest: Manifest) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
