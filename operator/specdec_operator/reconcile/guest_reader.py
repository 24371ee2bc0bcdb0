"""Reads what a guest is made of: its object, its Deployment and its pods. No watch reports them: they lack our labels.

Users of the namespace choose how large and how many these objects are. So answers have a limit, lists come in pages of
which only a short view of each pod is kept, and no namespace holds more than half of the places for reads.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from specdec_operator import names
from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.errors import Invalid, TooLarge
from specdec_operator.guest.refusals import (
    claimed_by_another,
    is_missing,
    is_one_too_many,
    is_too_large,
    served_by_a_service,
)
from specdec_operator.guest.sizes import (
    MOST_OBJECT_BYTES,
    MOST_PAGE_BYTES,
    MOST_PODS,
    MOST_SELECTOR,
    PODS_A_PAGE,
    NotRead,
)
from specdec_operator.guest.view import Guest, GuestPod, GuestPods, guest_pod, is_of, view
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import ANNOTATION_PREFIX, Key
from specdec_operator.observe.pods import PodView
from specdec_operator.observe.store import Stores, predictor_name
from specdec_operator.process.places import Places
from specdec_operator.reconcile.guest_parser import GuestParser
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.reconcile.observed import read_deployment

Body: TypeAlias = Mapping[str, Any]
_META: Final = ("name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences")
_AT_ONCE: Final = 8
"""Guests that are read at once. An object of the largest size takes some 10 MB while it is looked at."""


class GuestReader:
    """Reads guests. most: that are watched in one namespace; 0: any number."""

    def __init__(self, cluster: Cluster, stores: Stores, *, most: int) -> None:
        self._cluster = cluster
        self._stores = stores
        self._most = most
        self._parser = GuestParser()
        self._places = Places(_AT_ONCE)

    async def guest(self, key: Key, ref: GuestRef, body: Body) -> Guest:
        """The guest of a service as it is now. body: of the service. Raises Unavailable."""
        if self._most and self._stores.guards.place(key) >= self._most:
            return Guest(ref=ref, trouble=is_one_too_many(ref, key[0], self._most))
        try:
            async with self._places.place(key[0]):
                return await self._guest(key, ref, str(body["metadata"]["uid"]))
        except NotRead as error:
            return Guest(ref=ref, trouble=is_too_large(ref, str(error)))
        except TooLarge as error:
            way_out = "remove large values from it, such as a script in command or args"
            return Guest(ref=ref, trouble=is_too_large(ref, f"{error.message}: {way_out}"))

    async def pods_to_sample(
        self, key: Key, memory: ServiceMemory, now: float
    ) -> tuple[ServiceMemory, tuple[PodView, ...] | None]:
        """The pods of a guest if a reading is due; None for a service that is not a guest. Raises Unavailable.

        And the memory, with a decision that is due at once where the pods are others by now, or cannot be read.
        """
        plan, window = memory.sampling, memory.window
        if plan is None or plan.guest is None:
            return memory, None
        if window is not None and not window.is_due(now):
            return memory, ()
        try:
            async with self._places.place(key[0]):
                pods = tuple(each.view for each in await self._pods(key[0], plan.guest))
        except (NotRead, TooLarge):  # the decision reports it
            return replace(memory, due=0.0), ()
        known = all(pod.revision == plan.revision or pod.deleting for pod in pods) and not _wants_dial(memory, pods)
        return memory if known else replace(memory, due=0.0), pods

    async def _guest(self, key: Key, ref: GuestRef, uid: str) -> Guest:
        namespace = key[0]
        live = await self._live(namespace, ref)
        if live is None:
            return Guest(ref=ref, trouble=is_missing(ref, namespace))
        trouble = served_by_a_service(ref, live, self._served(key, uid)) or self._claimed(key, ref)
        if trouble is not None:
            return Guest(ref=ref, trouble=trouble)
        if ref.kind is GuestKind.DEPLOYMENT:
            where = GuestPods(selector=_selector(live), deployment=ref.name)
            return await self._viewed(ref, namespace, where, live, live)
        flags = await self._parser.flags(namespace, str(ref), live)
        written = await self._parser.taken(namespace, str(ref), flags.taken) if flags.taken is not None else None
        deployment = await self._deployment(namespace, predictor_name(ref.name))
        made = predictor_name(ref.name) if deployment else ""
        where = GuestPods(selector=f"{names.KSERVE_NAME_LABEL}={ref.name}", deployment=made)
        guest = await self._viewed(ref, namespace, where, live, deployment)
        return replace(guest, flags=flags, written=written)

    async def _viewed(
        self, ref: GuestRef, namespace: str, where: GuestPods, live: Body, deployment: Body | None
    ) -> Guest:
        asked = None
        if deployment is not None:
            name, template = deployment["metadata"]["name"], deployment["spec"]["template"]
            asked = await self._parser.engine(namespace, f"Deployment {name}", template.get("spec") or {})
        return view(ref, where, _short(live), deployment, asked, await self._pods(namespace, where))

    def _served(self, key: Key, uid: str) -> str:
        """The name of the InferenceService that the service made itself; empty if it made none."""
        child = self._stores.objects(key).child
        mine = child is not None and not child.deleted and child.controller is not None and child.controller.uid == uid
        return key[1] if mine else ""

    def _claimed(self, key: Key, ref: GuestRef) -> Invalid | None:
        older = self._stores.guards.older(key)
        return claimed_by_another(ref, key[1], older) if older is not None else None

    async def _live(self, namespace: str, ref: GuestRef) -> Body | None:
        if ref.kind is GuestKind.DEPLOYMENT:
            return await self._deployment(namespace, ref.name)
        return await self._cluster.read(names.inference_services_path(namespace, ref.name), most=MOST_OBJECT_BYTES)

    async def _deployment(self, namespace: str, name: str) -> Body | None:
        return await read_deployment(self._cluster, namespace, name, most=MOST_OBJECT_BYTES)

    async def _pods(self, namespace: str, where: GuestPods) -> tuple[GuestPod, ...]:
        """The pods of a guest, oldest first. Raises NotRead and TooLarge."""
        found: list[GuestPod] = []
        seen = 0
        async for body in self._listed(f"/api/v1/namespaces/{namespace}/pods", where.selector):
            seen += 1
            if seen > MOST_PODS:
                rule = f"selector {where.selector} finds more than {MOST_PODS} pods, and the operator reads no more"
                raise NotRead(f"{rule}: use a narrower selector, or delete pods that have ended")
            if is_of(body, where.deployment) and (pod := await self._pod(namespace, body)) is not None:
                found.append(pod)
        return tuple(sorted(found, key=lambda each: each.made))

    async def _listed(self, path: str, selector: str) -> AsyncIterator[Body]:
        """Objects of a list, a page at a time: where a page is too large, one by one from there on."""
        page, query = PODS_A_PAGE, {"label_selector": selector}
        while True:
            most = MOST_PAGE_BYTES if page > 1 else MOST_OBJECT_BYTES
            try:
                listed = await self._cluster.read(path, most=most, limit=str(page), **query)
            except TooLarge:
                if page == 1:
                    raise
                page = 1
                continue
            for each in _items(listed):
                yield each
            following = ((listed or {}).get("metadata") or {}).get("continue")
            if not following:
                return
            query["continue"] = following

    async def _pod(self, namespace: str, body: Body) -> GuestPod | None:
        name = f"pod {body['metadata']['name']}"
        engine = await self._parser.engine(namespace, name, body.get("spec") or {})
        return guest_pod(body, engine) if engine is not None else None


def _wants_dial(memory: ServiceMemory, pods: Iterable[PodView]) -> bool:
    """Whether a pod with a dial has come since the dials were set last."""
    dial = memory.dial
    new = (pod for pod in pods if pod.name not in dial.watched and not pod.deleting)
    return dial.request is not None and any(pod.dial_revision for pod in new)


def _items(listed: Body | None) -> tuple[Body, ...]:
    return tuple((listed or {}).get("items") or ())


def _short(live: Body) -> Body:
    """Of a guest what is looked at until its service has been reconciled."""
    meta = {name: live["metadata"][name] for name in _META if name in live["metadata"]}
    annotations = live["metadata"].get("annotations") or {}
    meta["annotations"] = {name: text for name, text in annotations.items() if name.startswith(ANNOTATION_PREFIX)}
    predictor = (live.get("spec") or {}).get("predictor") or {}
    spec = {name: predictor[name] for name in ("model", "containers") if name in predictor}
    return {"metadata": meta, "spec": {"predictor": spec}, "status": {"url": (live.get("status") or {}).get("url")}}


def _selector(deployment: Body) -> str:
    """A Deployment's selector, as a query takes it. Raises NotRead."""
    said = deployment["spec"].get("selector") or {}
    equal = [f"{name}={value}" for name, value in (said.get("matchLabels") or {}).items()]
    selector = ",".join([*equal, *(_expression(each) for each in said.get("matchExpressions") or ())])
    if len(selector) > MOST_SELECTOR:
        rule = f"Deployment {deployment['metadata']['name']} has a selector of {len(selector)} characters"
        raise NotRead(f"{rule}, and the operator reads at most {MOST_SELECTOR}: use fewer labels")
    return selector


def _expression(each: Body) -> str:
    name, values = str(each["key"]), ",".join(each.get("values") or ())
    shapes = {"In": f"{name} in ({values})", "NotIn": f"{name} notin ({values})", "Exists": name}
    return shapes.get(str(each["operator"]), f"!{name}")
