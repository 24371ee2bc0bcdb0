"""Reads what is guarded where a decision or a reading is due: no watch sees it, for it carries none of our labels."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from specdec_operator import names
from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.errors import Invalid
from specdec_operator.guest.refusals import claimed_by_another, is_missing, served_by_a_service
from specdec_operator.guest.view import Guest, Where, pods_in, view
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import Key
from specdec_operator.observe.pods import PodView
from specdec_operator.observe.store import Child, OwnedObjects, predictor_name
from specdec_operator.reconcile.memory import Memory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.sis import Parsed, Sis
from specdec_operator.reconcile.throttle import Ticket
from specdec_operator.staging.kserve import KServe

Body = Mapping[str, Any]


def guest_of(parsed: Parsed) -> GuestRef | None:
    """What a service guards, by its newest spec that can be read; None: it serves itself."""
    sis = parsed.newest if isinstance(parsed.newest, Sis) else parsed.older
    return sis.spec.guest if sis else None


async def read_guest(cluster: Cluster, key: Key, ref: GuestRef, body: Body, child: Child | None) -> Guest:
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
        where = Where(selector=_selector(live), deployment=ref.name)
        return view(ref, where, live, live, await _list_pods(cluster, namespace, where))
    deployment = await _deployment(cluster, namespace, predictor_name(ref.name))
    made = predictor_name(ref.name) if deployment else ""
    where = Where(selector=f"{names.KSERVE_NAME_LABEL}={ref.name}", deployment=made)
    return view(ref, where, live, deployment, await _list_pods(cluster, namespace, where))


def guest_observed(guest: Guest, kserve: KServe) -> Observed:
    """All that is known of a service that guards something. It begins no rollouts, and nothing is its own."""
    objects = OwnedObjects(child=None, deployment=guest.deployment, pods=guest.pods, jobs={}, stagers=())
    return Observed(objects=objects, kserve=kserve, ticket=Ticket(), guest=guest)


async def guest_pods(cluster: Cluster, key: Key, memory: Memory, now: float) -> tuple[PodView, ...] | None:
    """The pods of a guest if a reading is due; None for a service that is not a guest. Raises Unavailable."""
    plan, window = memory.sampling, memory.window
    if plan is None or plan.guest is None:
        return None
    if window is not None and not window.is_due(now):
        return ()
    return pods_in(await _list_pods(cluster, key[0], plan.guest), plan.guest)


def with_news(memory: Memory, pods: tuple[PodView, ...] | None) -> Memory:
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
    """A Deployment, by a list: the right to get one is granted only where plain arms are."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    return next(iter(_items(await cluster.read(path, field_selector=f"metadata.name={name}"))), None)


async def _list_pods(cluster: Cluster, namespace: str, where: Where) -> tuple[Body, ...]:
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
