"""The long-running controller: kopf watches, a queue of keys, a few workers.

kopf is used as an informer only; its handlers remember an object and wake the InferenceService it belongs to.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

import kopf

from tests.kserve_standin.api import SERVER_ERROR, TOO_MANY_REQUESTS, Api, ApiError
from tests.kserve_standin.children import Children
from tests.kserve_standin.model import GROUP, ISVC_API, ISVC_LABEL, Config, Manifest
from tests.kserve_standin.reconcile import Reconciler
from tests.kserve_standin.wake import woken
from tests.kserve_standin.workqueue import Workqueue
from tests.kserve_standin.world import World

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("kserve-stand-in")
_WORKERS = 4
_PATIENCE_SECONDS = 30.0
# What the controller watches: API version, plural, kind, and the label without which an object is nobody's.
_WATCHED = (
    (ISVC_API, "inferenceservices", "InferenceService", ""),
    (f"{GROUP}/v1alpha1", "servingruntimes", "ServingRuntime", ""),
    (f"{GROUP}/v1alpha1", "clusterservingruntimes", "ClusterServingRuntime", ""),
    ("apps/v1", "deployments", "Deployment", ISVC_LABEL),
    ("v1", "services", "Service", ISVC_LABEL),
    ("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", ISVC_LABEL),
    ("v1", "pods", "Pod", ISVC_LABEL),
)


async def run(kubeconfig: Path, config: Config, *, namespace: str | None = None) -> None:
    """Run until stopped, in one namespace or in all."""
    os.environ["KUBECONFIG"] = str(kubeconfig)  # the only way to tell kopf's own login
    world, queue = World(), Workqueue()
    async with Api.connect(kubeconfig) as api:
        await _learn(api, world)
        children = Children(api, world)
        reconciler = Reconciler(api=api, world=world, children=children, config=config)
        workers = [asyncio.create_task(_work(queue, reconciler)) for _ in range(_WORKERS)]
        log.info("this is the KServe stand-in, not KServe: it watches with %s", kubeconfig)
        try:
            await kopf.operator(
                registry=_registry(world, queue),
                settings=_settings(),
                clusterwide=namespace is None,
                namespaces=[namespace] if namespace else (),
                standalone=True,
            )
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)


async def _learn(api: Api, world: World) -> None:
    """Learn what there is before anything is judged: a runtime that is only not known yet would look absent."""
    for version, plural, kind, label in _WATCHED:
        for manifest in await _listed(api, version, plural, label):
            world.put({**manifest, "apiVersion": version, "kind": kind})


async def _listed(api: Api, version: str, plural: str, label: str) -> list[Manifest]:
    """Return all objects of a resource; one whose CRD was just installed is not to be had for a moment."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    while True:
        try:
            return await api.list(version, plural, label)
        except ApiError as error:
            passing = error.code == TOO_MANY_REQUESTS or error.code >= SERVER_ERROR
            if not passing or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.2)


async def _work(queue: Workqueue, reconciler: Reconciler) -> None:
    while True:
        key = await queue.take()
        settled = False
        try:
            settled = await reconciler.reconcile(key)
        except ApiError as error:
            # Somebody wrote in between, or the API server is away: the next look sees it.
            log.info("retry namespace=%s name=%s: %s", *key, error)
        except Exception:
            log.exception("reconcile failed namespace=%s name=%s", *key)
        queue.done(key, failed=not settled)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 30
    for version, plural, _, label in _WATCHED:
        if label:
            settings.watching.label_selectors[_watched(version, plural)] = label
    return settings


def _registry(world: World, queue: Workqueue) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(_login)

    async def remember(event: Any, **_: Any) -> None:
        manifest = dict(event["object"])
        gone = event["type"] == "DELETED"
        old = world.find(manifest)
        keys = woken(old, None if gone else manifest, world.services())
        if gone:
            world.drop(manifest)
        else:
            world.put(manifest)
        for key in keys:
            queue.add(key)

    for version, plural, _, _ in _WATCHED:
        kopf.on.event(*_watched(version, plural), registry=registry, id=plural)(remember)
    return registry


def _login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**kwargs)


def _watched(version: str, plural: str) -> tuple[str, str, str]:
    """Return a resource as kopf names it: its API group, empty for the core, its version and its plural."""
    group, _, number = version.rpartition("/")
    return group, number, plural
