"""Writes of a guest: the flag is removed or restored, what became of it is read back, and a failure is remembered.

The guard writes nothing else of an InferenceService that another user wrote, and nothing without its owner's
permission.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator import metrics, names
from specdec_operator.errors import OperatorError, TooLarge
from specdec_operator.guest.managers import owns_fields, without_guard
from specdec_operator.guest.patch import Patch, TakenOut, bring_back, is_allowed, place_of, take_out, taken_out
from specdec_operator.guest.sizes import MOST_OBJECT_BYTES, is_too_long, predictor_containers
from specdec_operator.guest.view import Guest
from specdec_operator.guest.write import (
    CHANGED,
    SOON,
    FailedWrite,
    GuestWrites,
    after,
    digest_of_patch,
    refusal_of,
    undone,
)
from specdec_operator.kube.client import version_of
from specdec_operator.kube.cluster import Cluster
from specdec_operator.kube.request import Manifest
from specdec_operator.names import TAKEN_OUT_ANNOTATION, Key
from specdec_operator.observe.pods import MOST_WORDS
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.guest import LOOK_AGAIN
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.report.events import Event

_LOG = logging.getLogger(__name__)
_RELEASE_AGAIN: Final = 60.0
"""Seconds until the guard tries again to give its fields up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestWrite:
    """A write of a guest. event: sent after it is done. speculates: whether the guest speculates after it."""

    guest: Guest
    changes: Patch
    event: Event
    speculates: bool


def write_of(decision: Decision) -> GuestWrite | None:
    """What is to be written; None: the guest is as the guard decided, or the guard may not write it."""
    desired, owner, allowed = decision.desired, decision.sis.owner, decision.desired.enforcement
    guest, place, taken = desired.guest, allowed.place, allowed.taken
    if guest is not None and allowed.may and place is not None and decision.state.serves_baseline:
        words = list(guest.engine.speculative) if guest.engine else []
        event = Event(warning=True, reason="TakenOut", message=f"removed from {guest.ref}: {' '.join(words)}")
        record = TakenOut(
            service=owner.name,
            uid=owner.uid,
            path=place.path,
            value=place.value,
            words=words,
            revision=guest.revision,
        )
        changes = take_out(guest.live, place, record)
        return GuestWrite(guest=guest, changes=changes, event=event, speculates=False)
    if guest is not None and taken is not None and not decision.state.serves_baseline and is_allowed(guest.live):
        event = Event(warning=False, reason="BroughtBack", message=f"restored in {guest.ref}: {' '.join(taken.words)}")
        back = guest.flags.back
        return GuestWrite(guest=guest, changes=back, event=event, speculates=True) if back else None
    return None


async def write_guest(
    cluster: Cluster, key: Key, write: GuestWrite, memory: ServiceMemory, now: float
) -> ServiceMemory:
    """Writes what the guard decided, unless the same write failed a moment ago. Raises Unavailable.

    If the owner has changed the guest meanwhile, nothing is written, and the guest is read again soon.
    """
    guest = write.guest
    digest, failed = digest_of_patch(write.changes), memory.guest.failed
    if failed is not None and not memory.guest.is_due(digest, now):
        return replace(memory, due=min(failed.due, now + LOOK_AGAIN))
    if version_of(guest.live) < memory.guest.version:  # it was read before our last write
        return replace(memory, due=now + SOON)
    try:
        live = await _written(cluster, names.inference_service(key[0], guest.ref.name), write)
    except OperatorError as error:
        refusal = refusal_of(error, digest, now)
        if refusal is None:
            raise
        return _noted_failure(key, guest, memory, after(failed, refusal))
    if live is None:
        metrics.write_refused("InferenceService", CHANGED)
        return _noted_failure(key, guest, memory, after(failed, undone(digest, now)))
    return _noted_write(memory, write, live, now)


async def _written(cluster: Cluster, named: Manifest, write: GuestWrite) -> Manifest | None:
    """The object as the API server has it after a write; None if something undid the write. Raises OperatorError.

    First a dry run: a webhook that undoes it would leave the annotation alone, and pods would restart for nothing.
    """
    for dry_run in (True, False):
        live = await cluster.patch(named, write.changes, dry_run=dry_run)
        if (await asyncio.to_thread(place_of, live) is not None) is not write.speculates:
            return None
    return live


def _noted_write(memory: ServiceMemory, write: GuestWrite, live: Manifest, now: float) -> ServiceMemory:
    """The memory after a write that was read back. The deadline of its pods counts from now."""
    state = memory.state and replace(memory.state, wanted_since=now)
    writes = GuestWrites(version=0 if write.speculates else version_of(live))
    return replace(memory, guest=writes, state=state, unsent=(*memory.unsent, write.event), due=now + SOON)


def _noted_failure(key: Key, guest: Guest, memory: ServiceMemory, failed: FailedWrite) -> ServiceMemory:
    """The memory after a write that failed: reported by the next reconcile, which is due at once."""
    before, unsent = memory.guest.failed, memory.unsent
    if failed.is_told and not (before is not None and before.is_told and before.cause == failed.cause):
        _LOG.warning("service=%s/%s %s %s: %s", *key, guest.ref, failed.reason, failed.message)
        unsent = (*unsent, Event(warning=True, reason=failed.reason, message=f"{guest.ref}: {failed.message}"))
    return replace(memory, guest=replace(memory.guest, failed=failed), unsent=unsent, due=failed.at)


async def release(cluster: Cluster, key: Key, guest: Guest, memory: ServiceMemory, now: float) -> ServiceMemory:
    """Gives up the fields that the guard still owns although the flag is back. If it fails, it is tried again later."""
    memory = replace(memory, guest=replace(memory.guest, failed=None))
    fields = guest.flags.released
    if fields is None or now < memory.guest.release_due:
        return memory
    try:
        await _release(cluster, names.inference_service(key[0], guest.ref.name), guest.live, fields)
    except OperatorError as error:
        _LOG.info("service=%s/%s %s: the guard still owns fields: %s", *key, guest.ref, error.message)
    return replace(memory, guest=replace(memory.guest, release_due=now + _RELEASE_AGAIN))


async def _release(cluster: Cluster, named: Manifest, live: Mapping[str, Any], fields: list[Manifest]) -> None:
    """Raises OperatorError, also if the object has changed since."""
    at = {name: live["metadata"][name] for name in ("uid", "resourceVersion")}
    await cluster.set_managers({**named, "metadata": {**named["metadata"], **at}}, fields)


async def bring_back_left(
    cluster: Cluster,
    namespaces: Sequence[str],
    is_left: Callable[[str, str], bool],
    is_free: Callable[[str, str], bool],
) -> bool:
    """Restores, by the annotation, what deleted services took out, and gives up the fields that the guard owns then.

    namespaces: none for the whole cluster. is_left: whether the service of a namespace and uid no longer exists;
    is_free: whether no service names the InferenceService of a namespace and name. Each is also False where another
    operator decides that. Returns whether nothing is left to be tried again: a process may have ended, or a write may
    have failed, after the flag was back.
    """
    whole = True
    for namespace in namespaces or ("",):
        for meta in await cluster.list_metadata(names.inference_services_path(namespace), "") or ():
            if TAKEN_OUT_ANNOTATION in (meta.get("annotations") or {}) or owns_fields(meta):
                whole &= await _tidied(cluster, meta["namespace"], meta["name"], is_left, is_free)
    return whole


async def _tidied(
    cluster: Cluster,
    namespace: str,
    name: str,
    is_left: Callable[[str, str], bool],
    is_free: Callable[[str, str], bool],
) -> bool:
    """Whether nothing of an InferenceService is left to be tried again."""
    try:
        live = await cluster.read(names.inference_services_path(namespace, name), most=MOST_OBJECT_BYTES)
    except TooLarge as error:  # the guard has never written one of this size
        _LOG.warning("%s/%s stays as it is: %s", namespace, name, error.message)
        return True
    except OperatorError as error:
        _LOG.warning("%s/%s cannot be read yet: %s", namespace, name, error.message)
        return False
    if live is None:
        return True
    taken = taken_out(live)
    if taken is None:
        return not is_free(namespace, name) or await _given_up(cluster, namespace, name, live)
    return not is_left(namespace, taken.uid) or await _brought_back(cluster, namespace, name, live, taken)


async def _brought_back(cluster: Cluster, namespace: str, name: str, live: Manifest, taken: TakenOut) -> bool:
    """Restores what a deleted service took out. Returns whether nothing is left to be tried again."""
    readable = is_allowed(live) and not is_too_long(predictor_containers(live))
    changes = await asyncio.to_thread(bring_back, live, taken) if readable else None
    if changes is None:  # the owner has changed it since
        words = " ".join(taken.words)[:MOST_WORDS]
        _LOG.warning("%s/%s stays without speculation: %s", namespace, name, words)
        return True
    try:
        live = await cluster.patch(names.inference_service(namespace, name), changes)
    except OperatorError as error:
        _LOG.warning("%s/%s is not restored yet: %s", namespace, name, error.message)
        return False
    if await asyncio.to_thread(place_of, live) is None:
        _LOG.warning("%s/%s is not restored: an admission webhook or a policy undoes it", namespace, name)
    else:
        _LOG.info("%s/%s: service %s was deleted, and the flag is restored", namespace, name, taken.service)
    return await _given_up(cluster, namespace, name, live)


async def _given_up(cluster: Cluster, namespace: str, name: str, live: Manifest) -> bool:
    """Gives up what the guard owns of an InferenceService that no service guards. Returns whether it could or may not.

    Its owner meets a conflict with each field that the guard still owns.
    """
    fields = without_guard(live) if is_allowed(live) else None
    if fields is None:
        return True
    try:
        await _release(cluster, names.inference_service(namespace, name), live, fields)
    except OperatorError as error:
        _LOG.warning("%s/%s: the guard still owns fields, and tries again: %s", namespace, name, error.message)
        return False
    _LOG.info("%s/%s: the guard owns no field any more", namespace, name)
    return True
