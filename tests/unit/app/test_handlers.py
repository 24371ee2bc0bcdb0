"""Events of the watches: which service an object belongs to, which service an event wakes, and
what remains after a deletion.
"""

import asyncio
from typing import Any

import pytest
from tests.unit.bodies import make_deployment, make_pod
from tests.unit.builders import NAME, NAMESPACE, make_sis
from tests.unit.stage import FakeCluster, Stage
from tests.unit.virtual_time import in_virtual_time

from specdec_operator.app.handlers import App
from specdec_operator.app.inventory import Inventory
from specdec_operator.app.services import Services
from specdec_operator.names import KIND, OWNER_LABEL, PLURAL, Key
from specdec_operator.reconcile.loop import ReconcileResult
from specdec_operator.reconcile.queue import WorkQueue
from specdec_operator.web.store import ServiceStore

Body = dict[str, Any]
KEY = (NAMESPACE, NAME)


class NoPosts(FakeCluster):
    """A cluster that takes Events. services: what a list of these has; there is nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.services: list[Body] = []

    async def post_event(self, namespace: str, event: Body) -> None:
        """Drops the Event."""

    async def list_metadata(self, path: str, label_selector: str) -> list[Body]:
        """The services, and nothing of other kinds."""
        assert label_selector in ("", OWNER_LABEL)
        return [each["metadata"] for each in self.services] if path.endswith(PLURAL) else []


class Played:
    """The shared objects of a process, put together as its start does. reconciled: keys, in order."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.stage.cluster = self.cluster = NoPosts()
        self.stage.restart()
        self.foreign: set[str] = set()
        self.reconciled: list[Key] = []
        stores = self.stage.stores
        services = Services(self.stage.loop, self.cluster, ServiceStore(stores.pods))

        async def reconcile(key: Key, woken: bool) -> ReconcileResult:
            self.reconciled.append(key)
            return await services.reconcile(key, woken)

        def gone(kind: str, end: Body) -> None:
            self.app.is_gone(kind, end)

        def owns(namespace: str) -> bool:
            return namespace not in self.foreign

        inventory = Inventory(self.cluster, (), owns=owns, gone=gone)
        self.app = App(services=services, stores=stores, queue=WorkQueue(reconcile), inventory=inventory, owns=owns)

    async def tell(self, how: str | None, kind: str, body: Body) -> None:
        """An event of a watch, and time for what follows."""
        self.app.take(kind, {"type": how, "object": body})
        await asyncio.sleep(0.01)

    async def begin(self) -> None:
        """The service comes, and everything that belongs to it."""
        await self.tell("ADDED", "services", make_sis())
        for kind in CHILDREN:
            await self.tell("ADDED", kind, owned(kind))

    def kept(self) -> int:
        """Entries of all stores."""
        app = self.app
        parts = [app.stores, app.services, app.services.page, app.queue, self.stage.loop]
        dicts = [
            each for part in parts for name, each in vars(part).items() if isinstance(each, dict) and name != "_lines"
        ]
        lines = [line.namespaces for line in vars(app.queue)["_lines"].values()]
        return sum(len(each) for each in (*dicts, *lines))


def child(uid: str = "i-1", **meta: Any) -> Body:
    """The InferenceService of the service."""
    labels = {OWNER_LABEL: NAME}
    known = {"name": NAME, "namespace": NAMESPACE, "uid": uid, "generation": 3, "labels": labels}
    return {"metadata": known | meta, "spec": {}, "status": {"url": "http://x"}}


def owned(kind: str) -> Body:
    """An object of the service, of a kind."""
    body: Body = {"inferenceservices": child, "deployments": _deployment, "pods": _pod, "jobs": _job}[kind]()
    return body


def _deployment() -> Body:
    return _labelled(make_deployment("r1"), "d-1")


def _pod() -> Body:
    return _labelled(make_pod("pod-1", revision="r1"), "p-1")


def _job() -> Body:
    owner = {"apiVersion": "serving.specdec.io/v1alpha1", "kind": KIND, "name": NAME, "uid": "u-1", "controller": True}
    return _labelled({"metadata": {"name": "j", "ownerReferences": [owner]}, "status": {}}, "j-1")


def _labelled(body: Body, uid: str) -> Body:
    labels = body["metadata"].get("labels", {}) | {OWNER_LABEL: NAME}
    return body | {"metadata": body["metadata"] | {"labels": labels, "namespace": NAMESPACE, "uid": uid}}


CHILDREN = ("inferenceservices", "deployments", "pods", "jobs")


@pytest.mark.parametrize("kind", CHILDREN)
def test_what_belongs_to_a_service_wakes_it_when_it_comes_and_when_it_goes(kind: str) -> None:
    """And is known, and not any more."""

    @in_virtual_time
    async def play() -> None:
        played = Played()
        await played.tell("ADDED", "services", make_sis())
        await played.tell("MODIFIED", "services", make_sis(status=played.cluster.status))
        await asyncio.sleep(0.5)
        for how in ("ADDED", "MODIFIED", "DELETED"):
            before, kept = len(played.reconciled), played.kept()
            await played.tell(how, kind, owned(kind))
            assert len(played.reconciled) > before
            if how == "ADDED":
                assert played.kept() > kept

    play()


@pytest.mark.parametrize("kind", CHILDREN)
def test_what_belongs_to_a_service_and_goes_without_a_word_is_taken_in(kind: str) -> None:
    """By its labels alone, for no more is known of it by then."""

    @in_virtual_time
    async def play() -> None:
        played = Played()
        await played.tell("ADDED", "services", make_sis())
        await played.tell("ADDED", kind, owned(kind))
        await asyncio.sleep(0.5)
        known, before = played.app.stores.objects(KEY), len(played.reconciled)
        assert known.child or known.deployment or known.pods or known.jobs
        played.cluster.services = [make_sis()]
        await played.app.inventory.complete()
        await asyncio.sleep(0.01)
        objects = played.app.stores.objects(KEY)
        assert objects.child is None or objects.child.deleted
        assert (objects.deployment, objects.pods, objects.jobs) == (None, (), {})
        assert len(played.reconciled) > before

    play()


@in_virtual_time
async def test_a_service_that_is_being_deleted_is_not_reconciled_any_more() -> None:
    """Its children are deleted with it and not created again. A user's finalizer may keep the service for long."""
    played = Played()
    await played.tell("ADDED", "services", make_sis())
    body = make_sis(generation=2)
    body["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
    await played.tell("MODIFIED", "services", body)
    before = len(played.reconciled)
    await played.tell("DELETED", "inferenceservices", child())
    await played.tell("MODIFIED", "services", body)
    await asyncio.sleep(1000)
    assert len(played.reconciled) == before
    assert len(played.app.queue) == 0


@in_virtual_time
async def test_events_after_the_end_of_a_service_are_not_kept() -> None:
    """The last events of a service and of its InferenceService come after its end, and
    the name may never be used again.
    """
    played = Played()
    await played.begin()
    await played.tell("DELETED", "services", make_sis())
    for kind in CHILDREN:
        await played.tell("MODIFIED", kind, owned(kind))
    await asyncio.sleep(1)
    for kind in CHILDREN:
        await played.tell("DELETED", kind, owned(kind))
    await played.tell("DELETED", "services", make_sis())
    await asyncio.sleep(400)
    assert played.kept() == 0


@in_virtual_time
async def test_nothing_is_kept_of_what_went_without_a_word() -> None:
    """The lists end it: the service first, and then what belonged to it."""
    played = Played()
    await played.begin()
    await played.app.inventory.complete()
    await asyncio.sleep(400)
    assert played.kept() == 0


@in_virtual_time
async def test_events_of_other_namespaces_are_ignored() -> None:
    """Another replica has them. Nothing is kept of them here."""
    played = Played()
    played.foreign.add(NAMESPACE)
    for how in (None, "ADDED", "MODIFIED", "DELETED"):
        await played.tell(how, "services", make_sis())
        for kind in CHILDREN:
            await played.tell(how, kind, owned(kind))
    assert played.reconciled == []
    assert played.kept() == 0


@in_virtual_time
async def test_a_namespace_that_moved_away_is_let_go() -> None:
    """With everything in it: it is not reconciled here, and nothing of it is kept."""
    played = Played()
    await played.begin()
    await asyncio.sleep(0.5)
    played.foreign.add(NAMESPACE)
    played.app.inventory.begin()
    before = len(played.reconciled)
    await asyncio.sleep(1000)
    assert len(played.reconciled) == before
    assert played.kept() == 0


@in_virtual_time
async def test_the_end_of_an_older_service_of_the_same_name_does_not_end_the_new_one() -> None:
    """kopf handles them side by side."""
    played = Played()
    old, new = make_sis(), make_sis()
    new["metadata"]["uid"] = "u-2"
    await played.tell("ADDED", "services", old)
    await played.tell("ADDED", "services", new)
    await played.tell("DELETED", "services", old)
    assert KEY in played.app.queue
    await played.tell("DELETED", "services", new)
    assert KEY not in played.app.queue


@in_virtual_time
async def test_a_service_that_was_replaced_begins_without_what_the_old_one_left() -> None:
    """No event reported the end of the old service. Its rollbacks do not count for the new one."""
    played = Played()
    await played.tell("ADDED", "services", make_sis())
    memory = vars(played.stage.loop)["_memories"][KEY]
    new = make_sis()
    new["metadata"]["uid"] = "u-2"
    played.app.stores.listed = False  # so that no reconcile makes it a memory of its own
    await played.tell(None, "services", new)
    assert vars(played.stage.loop)["_memories"].get(KEY) is not memory
    assert KEY in played.app.queue


@in_virtual_time
async def test_the_probe_fails_when_there_are_services_and_none_is_reconciled() -> None:
    """The kubelet restarts a process that hangs. A process without services is idle."""
    played = Played()
    played.app.services.reconciled -= 1000
    health = played.app.health()
    assert (health.services, health.hangs) == (0, False)
    await played.tell("ADDED", "services", make_sis())
    health = played.app.health()
    assert (health.services, health.hangs) == (1, False)
    played.app.services.reconciled -= 1000
    assert played.app.health().hangs
