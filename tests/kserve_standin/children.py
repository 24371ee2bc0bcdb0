"""Brings Deployment, Service and HPA in the cluster to what was rendered, by as few writes as KServe's.

Everything foreign in a Deployment's spec is wiped, as KServe wipes it; replicas belong to the autoscaler
unless the class is `none`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.kserve_standin.api import CONFLICT, Api, ApiError, path_of
from tests.kserve_standin.update import autoscaler_update, deployment_update, service_update

if TYPE_CHECKING:
    from tests.kserve_standin.model import Key, Manifest, Rendered
    from tests.kserve_standin.world import World

_AUTOSCALER = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}


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
        await self.bring_autoscaler(rendered, wanted=rendered.autoscaler)
        return deployment

    async def remove(self, manifest: Manifest) -> None:
        """Delete one object, if the cluster has it."""
        found = self._found(manifest)
        if found is not None and not found["metadata"].get("deletionTimestamp"):
            await self.api.delete(found)

    async def _bring_deployment(self, wanted: Manifest) -> Manifest:
        key = (wanted["metadata"]["namespace"], wanted["metadata"]["name"])
        found = self._found(wanted)
        if found is None:
            found = await self._created(wanted)
        elif self._settled.get(key) != (_digest(wanted), found["metadata"]["generation"]):
            found = await self._updated(deployment_update(wanted, found), found)
        self._settled[key] = (_digest(wanted), found["metadata"]["generation"])
        return found

    async def _updated(self, update: Manifest, found: Manifest) -> Manifest:
        # Only the API server knows its defaults, so it is asked what the update would come to.
        if (await self.api.replace(update, dry_run=True))["spec"] == found["spec"]:
            return found
        updated = await self.api.replace(update)
        self.world.put(updated)
        return updated

    async def _bring_service(self, wanted: Manifest) -> None:
        found = self._found(wanted)
        if found is None:
            await self._created(wanted)
            return
        update = service_update(wanted, found)
        if update is not None:
            self.world.put(await self.api.replace(update))

    async def bring_autoscaler(self, rendered: Rendered, *, wanted: Manifest | None) -> None:
        """Make the wanted HPA, or see to it that there is none."""
        if wanted is None:
            await self.remove({**rendered.deployment, **_AUTOSCALER})
            return
        found = self._found(wanted)
        if found is None:
            await self._created(wanted)
            return
        update = autoscaler_update(wanted, found)
        if update is not None:
            self.world.put(await self.api.replace(update))

    async def _created(self, wanted: Manifest) -> Manifest:
        try:
            created = await self.api.create(wanted)
        except ApiError as error:
            if error.code == CONFLICT:
                # It is there and its event is late, as after a start: learn it now and let the retry compare.
                self.world.put(await self.api.get(path_of(wanted)))
            raise
        self.world.put(created)
        return created

    def _found(self, manifest: Manifest) -> Manifest | None:
        found = self.world.find(manifest)
        return None if found is None or found["metadata"].get("deletionTimestamp") else found


def _digest(manifest: Manifest) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
