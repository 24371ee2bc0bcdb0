"""The plain side: a twin beside the service, or the service itself for a while; undone again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from specdec_command.measure.benchmark import Unmeasurable
from specdec_command.measure.service import MeasuredService, Say
from specdec_engine.quantity import parse_duration
from specdec_operator import names
from specdec_operator.kube.client import KubeClient

Object = dict[str, Any]

MEASURED_ANNOTATION: Final = f"{names.ANNOTATION_PREFIX}measured"
"""On a baseline service: the name of the service that it is compared with. Only such a service is ever deleted."""
_PAUSE: Final = 0.5
_MARGIN: Final = 300.0
"""Seconds beyond a rollout's own deadline, within which the operator has judged it."""
_REMOVAL: Final = 180.0


def patience(service: Object) -> float:
    """Seconds within which a rollout of this service has come up or has been given up."""
    spec = service["spec"]
    warmup = parse_duration(spec.get("guard", {}).get("warmup", "1m"))
    return parse_duration(spec.get("rollout", {}).get("deadline", "30m")) + warmup + _MARGIN


def twin_of(service: Object) -> Object:
    """The same service without speculation and without a guard. It answers to the same model name. Of an autoscaled one
    it has as many pods as are ready now: two that are scaled apart could not be compared.

    Raises Unmeasurable for a service that asks for no speculation.
    """
    meta, spec = service["metadata"], service["spec"]
    if not spec.get("speculation"):
        message = f"service {meta['name']} requests no speculation, so there is nothing to compare"
        raise Unmeasurable("NoSpeculation", message)
    others = {key: value for key, value in spec.items() if key not in ("speculation", "autoscaling")}
    if spec.get("autoscaling"):
        others["replicas"] = max(1, (service.get("status") or {}).get("readyReplicas") or 1)
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {
            "name": f"{meta['name']}-plain",
            "namespace": meta["namespace"],
            "annotations": {MEASURED_ANNOTATION: meta["name"]},
        },
        "spec": {**others, "model": {"name": meta["name"], **spec["model"]}, "guard": {"mode": "Off"}},
    }


def check_left_behind(twin: Object, name: str) -> None:
    """Raises Unmeasurable where a service under the twin's name is not one that an earlier run left."""
    meta = twin["metadata"]
    if meta.get("annotations", {}).get(MEASURED_ANNOTATION) != name:
        message = (
            f"service {meta['name']} already exists, and no measurement of {name} created it (it lacks the annotation "
            f"{MEASURED_ANNOTATION}: {name}): it is not changed. Rename it, or measure with --in-place"
        )
        raise Unmeasurable("NameTaken", message)


@asynccontextmanager
async def separate_baseline(
    client: KubeClient, service: Object, say: Say, *, room: float
) -> AsyncIterator[MeasuredService]:
    """The baseline service, ready. It is removed at the end, whatever happens; a left-over one is removed first.

    room: longest time without a node that has room, in seconds. Raises Unmeasurable where it does not come up.
    """
    manifest, name, namespace = twin_of(service), service["metadata"]["name"], service["metadata"]["namespace"]
    twin = MeasuredService(client, namespace, manifest["metadata"]["name"], speculating=False)
    await _removed(client, twin, of=name)
    child = names.inference_services_path(namespace, twin.name)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await _until_gone(client, child)
    await _until_gone(client, pods, labelSelector=f"{names.OWNER_LABEL}={twin.name}")  # they hold the room for new ones
    try:
        await client.create(names.services_path(namespace), manifest)
        say(f"{twin.name}: created as {name} without speculation and guard")
        await twin.until_ready(say, seconds=patience(service), room=room)
        yield twin
    finally:
        say(f"{twin.name}: removed")
        await _removed(client, twin, of=name)


@asynccontextmanager
async def baseline_in_place(client: KubeClient, service: Object, say: Say) -> AsyncIterator[MeasuredService]:
    """The service itself, rolled back by hand; it is asked to speculate again at the end, whatever happens.

    Raises Unmeasurable where it does not become plain, or does not speculate again.
    """
    namespace, name, seconds = service["metadata"]["namespace"], service["metadata"]["name"], patience(service)
    baseline = MeasuredService(client, namespace, name, speculating=False)
    nonce = f"measure-{time.time_ns()}"
    try:
        await client.merge(baseline.path, {"metadata": {"annotations": {names.ROLLBACK_ANNOTATION: nonce}}})
        say(f"{name}: requested to run as baseline ({names.ROLLBACK_ANNOTATION}: {nonce})")
        await baseline.until_ready(say, seconds=seconds, room=seconds)
        yield baseline
    finally:
        await client.merge(baseline.path, {"metadata": {"annotations": {names.RETRY_ANNOTATION: nonce}}})
        say(f"{name}: requested to speculate again ({names.RETRY_ANNOTATION}: {nonce})")
        again = MeasuredService(client, namespace, name, speculating=True)
        await _handled(again, nonce)
        await again.until_ready(say, seconds=seconds, room=seconds)
        say(f"{name}: speculates again")


async def _handled(service: MeasuredService, nonce: str) -> None:
    """Waits until the operator has seen the retry: until then the status is that of the rollback."""
    deadline = time.monotonic() + _MARGIN
    while (await service.body()).get("status", {}).get("guard", {}).get("handledRetry") != nonce:
        if time.monotonic() > deadline:
            message = f"{service.name}: the operator does not handle {names.RETRY_ANNOTATION}; check whether it runs"
            raise Unmeasurable("NoOperator", message)
        await asyncio.sleep(_PAUSE)


async def _removed(client: KubeClient, twin: MeasuredService, *, of: str) -> None:
    """Deletes the twin, if there is one. Raises Unmeasurable for a service of that name that is not a twin of `of`."""
    if (body := await client.find(twin.path)) is not None:
        check_left_behind(body, of)
        await client.delete(twin.path)
        await _until_gone(client, twin.path)


async def _until_gone(client: KubeClient, path: str, **query: str) -> None:
    """Waits until nothing is there, object or list. Raises Unmeasurable when that takes too long."""
    deadline = time.monotonic() + _REMOVAL
    while (body := await client.find(path, **query)) is not None and body.get("items") != []:
        if time.monotonic() > deadline:
            message = f"{path} still exists {_REMOVAL:.0f} s after its deletion; check its finalizers"
            raise Unmeasurable("NotGone", message)
        await asyncio.sleep(_PAUSE)
