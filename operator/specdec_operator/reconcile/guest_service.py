"""A guest behind the seam of all services, and what is written to it.

The guard removes the speculation from an InferenceService that another user wrote, and restores it. It writes nothing
else of it, and nothing without its owner's permission.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator import names
from specdec_operator.api.guest import GuestRef
from specdec_operator.errors import Invalid, OperatorError, TooLarge
from specdec_operator.guest.patch import Patch, TakenOut, bring_back, is_allowed, take_out, taken_out
from specdec_operator.guest.sizes import MOST_OBJECT_BYTES, is_too_long, predictor_containers
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import TAKEN_OUT_ANNOTATION, Key
from specdec_operator.observe.pods import MOST_WORDS
from specdec_operator.observe.store import OwnedObjects
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.disruptions import restart_pods
from specdec_operator.reconcile.guest import parsed_as_guest
from specdec_operator.reconcile.guest_reader import GuestReader
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.sis import Parsed, Sis
from specdec_operator.reconcile.throttle import Ticket
from specdec_operator.report.events import Event

_LOG = logging.getLogger(__name__)
_SOON: Final = 5.0
Body = Mapping[str, Any]


def guest_of(parsed: Parsed) -> GuestRef | None:
    """What a service guards, by its newest spec that can be read; None: it serves itself."""
    sis = parsed.newest if isinstance(parsed.newest, Sis) else parsed.older
    return sis.spec.guest if sis else None


@dataclass(frozen=True, slots=True)
class GuestService:
    """A guest behind the same seam as every other service (`adapters.py`)."""

    cluster: Cluster
    reader: GuestReader
    cluster_info: ClusterInfo
    ref: GuestRef

    async def observe(self, key: Key, memory: ServiceMemory, body: Body, parsed: Parsed) -> tuple[Parsed, Observed]:
        """What its flags request as the spec, and its pods. It begins no rollouts, and nothing is its own."""
        guest = await self.reader.guest(key, self.ref, body)
        objects = OwnedObjects(child=None, deployment=guest.deployment, pods=guest.pods, jobs={}, stagers=())
        kserve = await self.cluster_info.kserve()
        seen = Observed(objects=objects, kserve=kserve, ticket=Ticket(), guest=guest)
        return parsed_as_guest(parsed, guest, memory), seen

    async def act(
        self, key: Key, decision: Decision, observed: Observed, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        """Writes the guard's decision to the guest, if the guard may write it.

        If the owner has changed the guest meanwhile, nothing is written, and the guest is read again soon.
        """
        changes, told = _changes(decision)
        guest = decision.desired.guest
        if not changes or guest is None:
            return await restart_pods(self.cluster, key, observed, decision.state, memory, now)
        try:
            await self.cluster.patch(names.inference_service(key[0], guest.ref.name), changes)
        except Invalid as error:
            _LOG.info("service=%s/%s %s is checked again: %s", *key, guest.ref, error.message)
            return replace(memory, due=now + _SOON)
        return replace(memory, unsent=(*memory.unsent, told), due=now + _SOON)


def _changes(decision: Decision) -> tuple[Patch, Event]:
    """What is to be written, and the Event of it."""
    desired, owner, allowed = decision.desired, decision.sis.owner, decision.desired.enforcement
    guest, place, taken = desired.guest, allowed.place, allowed.taken
    nothing: Patch = []
    if guest is not None and allowed.may and place is not None and decision.state.serves_baseline:
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
        return take_out(guest.live, place, record), told
    if guest is not None and taken is not None and not decision.state.serves_baseline and is_allowed(guest.live):
        told = Event(warning=False, reason="BroughtBack", message=f"restored in {guest.ref}: {' '.join(taken.words)}")
        return guest.flags.back or nothing, told
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
    namespace, name = meta["namespace"], meta["name"]
    try:
        live = await cluster.read(names.inference_services_path(namespace, name), most=MOST_OBJECT_BYTES) or {}
        taken = taken_out(live)
        if taken is None or not is_left(namespace, taken.uid):
            return True
        readable = is_allowed(live) and not is_too_long(predictor_containers(live))
        changes = await asyncio.to_thread(bring_back, live, taken) if readable else None
        if changes is None:  # the owner has changed it since
            words = " ".join(taken.words)[:MOST_WORDS]
            _LOG.warning("%s/%s stays without speculation: %s", namespace, name, words)
            return True
        await cluster.patch(names.inference_service(namespace, name), changes)
    except TooLarge as error:  # the guard has never written one of this size
        _LOG.warning("%s/%s stays as it is: %s", namespace, name, error.message)
        return True
    except OperatorError as error:
        _LOG.warning("%s/%s is not restored yet: %s", namespace, name, error.message)
        return False
    _LOG.info("%s/%s: service %s was deleted, and the flag is restored", namespace, name, taken.service)
    return True
