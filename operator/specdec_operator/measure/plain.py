"""The plain side in the cluster: a twin beside the service, or the service itself for a while; undone again."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from specdec_operator.api.durations import parse_duration
from specdec_operator.measure.connection import Connection, Object, Refused
from specdec_operator.measure.errors import Unmeasurable
from specdec_operator.measure.service import Say, Service
from specdec_operator.measure.twin import left_behind, twin_name, twin_of
from specdec_operator.names import (
    KSERVE_GROUP,
    KSERVE_VERSION,
    OWNER_LABEL,
    RETRY_ANNOTATION,
    ROLLBACK_ANNOTATION,
)

_PAUSE: Final = 0.5
_MARGIN: Final = 300.0
"""Seconds beyond a rollout's own deadline, within which the operator has judged it."""
_REMOVAL: Final = 180.0


def patience(sis: Object) -> float:
    """Seconds within which a rollout of this sis has come up or has been given up."""
    spec = sis["spec"]
    warmup = parse_duration(spec.get("guard", {}).get("warmup", "1m"))
    return parse_duration(spec.get("rollout", {}).get("deadline", "30m")) + warmup + _MARGIN


@asynccontextmanager
async def twin_beside(connection: Connection, sis: Object, say: Say, *, room: float) -> AsyncIterator[Service]:
    """The plain twin, ready. It is removed at the end, whatever happens; one that was left behind is removed first.

    room: longest time without a node that has room, in seconds. Raises Unmeasurable where it does not come up.
    """
    manifest = twin_of(sis)
    meta = sis["metadata"]
    manifest, name = twin_of(sis), twin_name(meta["name"])
    twin = Service(connection, meta["namespace"], name, speculating=False)
    await _removed(connection, twin, of=meta["name"])
    await _until_gone(connection, _traces(meta["namespace"], name))  # old pods hold the room that new ones need
    try:
        await connection.call("POST", twin.path.rpartition("/")[0], manifest)
        say(f"{name}: made, as {meta['name']} without speculation and guard")
        await twin.until_ready(say, seconds=patience(sis), room=room)
        yield twin
    finally:
        say(f"{name}: it is removed")
        await _removed(connection, twin, of=meta["name"])


@asynccontextmanager
async def plain_in_place(connection: Connection, sis: Object, say: Say) -> AsyncIterator[Service]:
    """The service itself, rolled back by hand; it is asked to speculate again at the end, whatever happens.

    Raises Unmeasurable where it does not become plain, or does not speculate again.
    """
    namespace, name = sis["metadata"]["namespace"], sis["metadata"]["name"]
    service = Service(connection, namespace, name, speculating=False)
    nonce = f"measure-{time.time_ns()}"
    try:
        await _annotate(connection, service.path, ROLLBACK_ANNOTATION, nonce)
        say(f"{name}: asked to serve plain ({ROLLBACK_ANNOTATION}: {nonce})")
        await service.until_ready(say, seconds=patience(sis), room=patience(sis))
        yield service
    finally:
        await _annotate(connection, service.path, RETRY_ANNOTATION, nonce)
        say(f"{name}: asked to speculate again ({RETRY_ANNOTATION}: {nonce})")
        again = Service(connection, namespace, name, speculating=True)
        await _handled(again, nonce)
        await again.until_ready(say, seconds=patience(sis), room=patience(sis))
        say(f"{name}: speculates again")


async def _annotate(connection: Connection, path: str, annotation: str, value: str) -> None:
    await connection.call("PATCH", path, {"metadata": {"annotations": {annotation: value}}})


async def _handled(service: Service, nonce: str) -> None:
    """Waits until the operator has seen the wish for a retry: until then the status is that of the rollback."""
    deadline = time.monotonic() + _MARGIN
    while (await service.sis()).get("status", {}).get("guard", {}).get("handledRetry") != nonce:
        if time.monotonic() > deadline:
            message = f"{service.name}: the operator does not take {RETRY_ANNOTATION} up; see whether it runs"
            raise Unmeasurable("NoOperator", message)
        await asyncio.sleep(_PAUSE)


async def _removed(connection: Connection, twin: Service, *, of: str) -> None:
    """Deletes the twin, if there is one. Raises Unmeasurable for a sis of that name that is no twin of `of`."""
    if (found := await connection.get(twin.path)) is None:
        return
    left_behind(found, of)
    try:
        await connection.call("DELETE", twin.path, {"propagationPolicy": "Background"})
    except Refused as error:
        if error.status != 404:
            raise
    await _until_gone(connection, (twin.path,))


def _traces(namespace: str, name: str) -> tuple[str, str]:
    """Where the InferenceService and the pods of a sis are."""
    child = f"/apis/{KSERVE_GROUP}/{KSERVE_VERSION}/namespaces/{namespace}/inferenceservices/{name}"
    return child, f"/api/v1/namespaces/{namespace}/pods?labelSelector={OWNER_LABEL}%3D{name}"


async def _until_gone(connection: Connection, paths: Sequence[str]) -> None:
    """Waits until nothing lies at these paths, objects or lists. Raises Unmeasurable when that takes too long."""
    deadline = time.monotonic() + _REMOVAL
    for path in paths:
        while (found := await connection.get(path)) is not None and found.get("items") != []:
            if time.monotonic() > deadline:
                message = f"{path} is to be deleted and is not gone after {_REMOVAL:.0f} s; see what keeps it there"
                raise Unmeasurable("NotGone", message)
            await asyncio.sleep(_PAUSE)
