"""One look at one InferenceService: make its objects, then write the status that KServe would write.

It is level-triggered: it may run at any time and any number of times, and it writes only what differs.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.kserve_standin.api import CONFLICT, Api, ApiError
from tests.kserve_standin.around import gather
from tests.kserve_standin.model import (
    DISABLE_AUTO_UPDATE,
    FINALIZER,
    Config,
    Key,
    Manifest,
    RefusalKind,
    Refused,
    Rendered,
    annotation,
    app_label,
    is_ready,
    is_stopped,
    predictor_name,
)
from tests.kserve_standin.model_status import StillStarting
from tests.kserve_standin.render import choose, render
from tests.kserve_standin.status import Made, next_status, status_of_refusal, status_of_stopped

if TYPE_CHECKING:
    from tests.kserve_standin.children import Children
    from tests.kserve_standin.world import World

log = logging.getLogger("kserve-stand-in")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciler:
    """Everything that a reconcile needs; it keeps no state of its own."""

    api: Api
    world: World
    children: Children
    config: Config

    async def reconcile(self, key: Key) -> bool:
        """Bring one InferenceService forward; return False when KServe would try again by itself."""
        isvc = self.world.service(key)
        if isvc is None:
            return True
        if isvc["metadata"].get("deletionTimestamp"):
            await self._let_go(isvc)
            return True
        isvc = await self._with_finalizer(isvc)
        if annotation(isvc, DISABLE_AUTO_UPDATE) == "true" and is_ready(isvc):
            return True
        try:
            status, settled = await self._advance(isvc, key)
        except StillStarting:
            return False
        await self._write_status(isvc, status)
        return settled

    async def _advance(self, isvc: Manifest, key: Key) -> tuple[Manifest, bool]:
        previous, now = isvc.get("status") or {}, _now()
        runtime = None
        try:
            runtime = choose(isvc, self.world.runtimes(key[0]))
            config, around = await gather(self.api, isvc, self.config)
            rendered = render(isvc, runtime, config, around)
            if is_stopped(isvc):
                await self._remove_children(key)
                await self.children.bring_autoscaler(rendered, wanted=None)
                return status_of_stopped(previous, runtime, now), True
            deployment = await self._make(rendered)
            await self._remove_children(key, keep=predictor_name(isvc))
        except Refused as refused:
            return status_of_refusal(previous, refused, runtime, now), False
        made = Made(deployment=deployment, pods=self.world.pods(key, app_label(isvc)), runtime=runtime)
        return next_status(isvc, made, config, now), True

    async def _make(self, rendered: Rendered) -> Manifest:
        try:
            return await self.children.bring(rendered)
        except ApiError as error:
            if error.code == CONFLICT:
                raise
            message = f"fails to reconcile predictor: {error.message}"
            raise Refused(kind=RefusalKind.RECONCILE_FAILED, message=message) from error

    async def _remove_children(self, key: Key, *, keep: str = "") -> None:
        """Delete, as KServe does, what carries our labels under another name, whoever made it."""
        for child in self.world.labelled(key):
            if child["metadata"]["name"] != keep:
                log.info("delete %s namespace=%s name=%s", child["kind"], key[0], child["metadata"]["name"])
                await self.children.remove(child)

    async def _with_finalizer(self, isvc: Manifest) -> Manifest:
        finalizers = isvc["metadata"].get("finalizers") or []
        if FINALIZER in finalizers:
            return isvc
        return await self._patched(isvc, {"metadata": {"finalizers": [*finalizers, FINALIZER]}})

    async def _let_go(self, isvc: Manifest) -> None:
        """Let the API server delete an InferenceService; its objects follow it by their owner reference."""
        finalizers = isvc["metadata"].get("finalizers") or []
        if FINALIZER in finalizers:
            rest = [item for item in finalizers if item != FINALIZER]
            await self._patched(isvc, {"metadata": {"finalizers": rest}})

    async def _patched(self, isvc: Manifest, patch: Manifest) -> Manifest:
        # The version makes sure that nobody else's finalizer is overwritten.
        version = {"resourceVersion": isvc["metadata"]["resourceVersion"]}
        patch = {**patch, "metadata": {**patch["metadata"], **version}}
        patched = await self.api.patch(isvc, patch)
        self.world.put(patched)
        return patched

    async def _write_status(self, isvc: Manifest, status: Manifest) -> None:
        if status == isvc.get("status"):
            return
        self.world.put(await self.api.replace({**isvc, "status": status}, subresource="status"))
        name = f"{isvc['metadata']['namespace']}/{isvc['metadata']['name']}"
        for condition in status["conditions"]:
            if condition["type"] == "Ready":
                log.info("status of %s Ready=%s %s", name, condition["status"], condition.get("reason", ""))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
