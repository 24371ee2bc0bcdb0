"""Removes the speculation from an InferenceService that another user wrote, and restores it. Writes nothing else of it,
and nothing without its owner's permission.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from specdec_operator import names
from specdec_operator.errors import Invalid, OperatorError
from specdec_operator.guest.patch import Patch, TakenOut, bring_back, is_allowed, take_out, taken_out
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import TAKEN_OUT_ANNOTATION, Key
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.disruptions import restart_pods
from specdec_operator.reconcile.memory import Memory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.report.events import Event

_LOG = logging.getLogger(__name__)
_SOON: Final = 5.0


async def keep_guest(
    cluster: Cluster, key: Key, decision: Decision, observed: Observed, memory: Memory, now: float
) -> Memory:
    """Writes the guard's decision to a guest, if the guard may write it. Raises Unavailable.

    If the owner has changed the guest meanwhile, nothing is written, and the guest is read again soon.
    """
    changes, told = _changes(decision)
    guest = decision.desired.guest
    if not changes or guest is None:
        return await restart_pods(cluster, key, observed, decision.state, memory, now)
    try:
        await cluster.patch(names.inference_service(key[0], guest.ref.name), changes)
    except Invalid as error:
        _LOG.info("service=%s/%s %s is checked again: %s", *key, guest.ref, error.message)
        return replace(memory, due=now + _SOON)
    return replace(memory, unsent=(*memory.unsent, told), due=now + _SOON)


def _changes(decision: Decision) -> tuple[Patch, Event]:
    """What is to be written, and the Event of it."""
    desired, owner, allowed = decision.desired, decision.sis.owner, decision.desired.enforcement
    guest, place, taken = desired.guest, allowed.place, allowed.taken
    nothing: Patch = []
    if guest is not None and allowed.may and place is not None and decision.state.plain:
        words = list(guest.engine.speculative) if guest.engine else []
        told = Event(warning=True, reason="TakenOut", message=f"removed from {guest.ref}: {' '.join(words)}")
        record = TakenOut(
            service=owner.name,
            uid=owner.uid,
            path=place.path,
            value=place.value,
            words=words,
            revision=guest.revision,
        )
        return take_out(place, record), told
    if guest is not None and taken is not None and not decision.state.plain and is_allowed(guest.live):
        told = Event(warning=False, reason="BroughtBack", message=f"restored in {guest.ref}: {' '.join(taken.words)}")
        return bring_back(guest.live, taken) or nothing, told
    return nothing, Event(warning=False, reason="", message="")


async def bring_back_left(cluster: Cluster, namespaces: Sequence[str], is_left: Callable[[str, str], bool]) -> bool:
    """Restores, by the annotation, what deleted services took out. Returns whether all of it could be restored.

    namespaces: none for the whole cluster. is_left: whether the service of a namespace and uid no longer exists, and
    this operator is the one to decide that.
    """
    whole = True
    for namespace in namespaces or ("",):
        for meta in await cluster.list_metadata(names.inference_services_path(namespace), "") or ():
            if TAKEN_OUT_ANNOTATION in (meta.get("annotations") or {}):
                whole &= await _bring_back(cluster, meta, is_left)
    return whole


async def _bring_back(cluster: Cluster, meta: dict[str, Any], is_left: Callable[[str, str], bool]) -> bool:
    named = names.inference_service(meta["namespace"], meta["name"])
    try:
        live = await cluster.find(named) or {}
        taken = taken_out(live)
        if taken is None or not is_left(meta["namespace"], taken.uid):
            return True
        changes = bring_back(live, taken) if is_allowed(live) else None
        if changes is None:  # the owner has changed it since
            _LOG.warning("%s/%s stays without speculation: %s", meta["namespace"], meta["name"], " ".join(taken.words))
            return True
        await cluster.patch(named, changes)
    except OperatorError as error:
        _LOG.warning("%s/%s is not restored yet: %s", meta["namespace"], meta["name"], error.message)
        return False
    _LOG.info("%s/%s: service %s was deleted, and the flag is restored", meta["namespace"], meta["name"], taken.service)
    return True
