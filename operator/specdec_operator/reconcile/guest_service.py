"""A guest, as the API server has it: no watch reports its objects, because they carry none of our labels.

The guard removes the speculation from an InferenceService that another user wrote, and restores it. It writes nothing
else of it, and nothing without its owner's permission.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator import names
from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.errors import Invalid, OperatorError
from specdec_operator.guest.patch import Patch, TakenOut, bring_back, is_allowed, take_out, taken_out
from specdec_operator.guest.refusals import claimed_by_another, is_missing, served_by_a_service
from specdec_operator.guest.view import Guest, GuestPods, pods_in, view
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import TAKEN_OUT_ANNOTATION, Key
from specdec_operator.observe.pods import PodView
from specdec_operator.observe.store import Child, OwnedObjects, Stores, predictor_name
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.disruptions import restart_pods
from specdec_operator.reconcile.guest import parsed_as_guest
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
    stores: Stores
    cluster_info: ClusterInfo
    ref: GuestRef

    async def observe(self, key: Key, memory: ServiceMemory, body: Body, parsed: Parsed) -> tuple[Parsed, Observed]:
        """What its flags request as the spec, and its pods. It begins no rollouts, and nothing is its own."""
        guest = await _read_guest(self.cluster, key, self.ref, body, self.stores.objects(key).child)
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


async def _read_guest(cluster: Cluster, key: Key, ref: GuestRef, body: Body, child: Child | None) -> Guest:
    """The guest of a service as it is now. child: what the service made itself. Raises Unavailable."""
    namespace, uid = key[0], str(body["metadata"]["uid"])
    live = await _find(cluster, namespace, ref)
    if live is None:
        return Guest(ref=ref, trouble=is_missing(ref, namespace))
    listed = await cluster.read(names.services_path(namespace))
    mine = child is not None and not child.deleted and child.controller is not None and child.controller.uid == uid
    trouble = served_by_a_service(ref, live, key[1] if mine else "") or claimed_by_another(ref, body, _items(listed))
    if trouble is not None:
        return Guest(ref=ref, live=live, trouble=trouble)
    if ref.kind is GuestKind.DEPLOYMENT:
        where = GuestPods(selector=_selector(live), deployment=ref.name)
        return view(ref, where, live, live, await _list_pods(cluster, namespace, where))
    deployment = await _deployment(cluster, namespace, predictor_name(ref.name))
    made = predictor_name(ref.name) if deployment else ""
    where = GuestPods(selector=f"{names.KSERVE_NAME_LABEL}={ref.name}", deployment=made)
    return view(ref, where, live, deployment, await _list_pods(cluster, namespace, where))


async def guest_pods(cluster: Cluster, key: Key, memory: ServiceMemory, now: float) -> tuple[PodView, ...] | None:
    """The pods of a guest if a reading is due; None for a service that is not a guest. Raises Unavailable."""
    plan, window = memory.sampling, memory.window
    if plan is None or plan.guest is None:
        return None
    if window is not None and not window.is_due(now):
        return ()
    return pods_in(await _list_pods(cluster, key[0], plan.guest), plan.guest)


def with_news(memory: ServiceMemory, pods: tuple[PodView, ...] | None) -> ServiceMemory:
    """The memory with a decision that is due at once where the owner of a guest has begun to replace its pods."""
    plan = memory.sampling
    if plan is None or not pods or all(pod.revision == plan.revision or pod.deleting for pod in pods):
        return memory
    return replace(memory, due=0.0)


async def _find(cluster: Cluster, namespace: str, ref: GuestRef) -> Body | None:
    if ref.kind is GuestKind.DEPLOYMENT:
        return await _deployment(cluster, namespace, ref.name)
    try:
        return await cluster.find(names.inference_service(namespace, ref.name))
    except Invalid:  # this cluster has no KServe
        return None


async def _deployment(cluster: Cluster, namespace: str, name: str) -> Body | None:
    """A Deployment, by a list: the right to get one is granted only where baseline pods are."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    return next(iter(_items(await cluster.read(path, field_selector=f"metadata.name={name}"))), None)


async def _list_pods(cluster: Cluster, namespace: str, where: GuestPods) -> tuple[Body, ...]:
    return _items(await cluster.read(f"/api/v1/namespaces/{namespace}/pods", label_selector=where.selector))


def _items(listed: Body | None) -> tuple[Body, ...]:
    return tuple((listed or {}).get("items") or ())


def _selector(deployment: Body) -> str:
    """A Deployment's selector, as a query takes it."""
    said = deployment["spec"].get("selector") or {}
    equal = [f"{name}={value}" for name, value in (said.get("matchLabels") or {}).items()]
    return ",".join([*equal, *(_expression(each) for each in said.get("matchExpressions") or ())])


def _expression(each: Body) -> str:
    name, values = str(each["key"]), ",".join(each.get("values") or ())
    shapes = {"In": f"{name} in ({values})", "NotIn": f"{name} notin ({values})", "Exists": name}
    return shapes.get(str(each["operator"]), f"!{name}")


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
