"""When the watches have reported every object, and which objects were deleted without an event."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.virtual_time import in_virtual_time

from specdec_operator.app.inventory import Inventory, Outdated
from specdec_operator.errors import Unavailable
from specdec_operator.names import OWNER_LABEL, STAGING_LABEL

Object = dict[str, Any]
RELIST = 5.0
"""Seconds after which the inventory lists again what no watch has reported."""
AFTER_LIST = 2.5
"""Seconds after kopf begins a new list, in which the inventory reports the objects that the list lacks as deleted."""


def pod(name: str, uid: str, *, namespace: str = "team", owner: str = "llama", staging: str = "") -> Object:
    """A pod of a service."""
    labels = {OWNER_LABEL: owner, **({STAGING_LABEL: staging} if staging else {}), "app": "x"}
    return {"metadata": {"namespace": namespace, "name": name, "uid": uid, "labels": labels}}


def service(name: str, uid: str, namespace: str = "team") -> Object:
    """A service, without labels."""
    return {"metadata": {"namespace": namespace, "name": name, "uid": uid}}


class Lister:
    """The existing objects by plural; None: no permission to read them. away: whether the API server does not
    answer. asked: every path and label.
    """

    def __init__(self) -> None:
        self.there: dict[str, list[Object] | None] = {}
        self.asked: list[tuple[str, str]] = []
        self.away = False

    async def list_metadata(self, path: str, label_selector: str) -> list[Object] | None:
        """The metadata of a kind, in one namespace or in all."""
        self.asked.append((path, label_selector))
        await asyncio.sleep(0.01)
        if self.away:
            raise Unavailable("ApiServerAway", "nobody answers")
        parts = path.split("/")
        if (found := self.there.get(parts[-1], [])) is None:
            return None
        one = parts[parts.index("namespaces") + 1] if "namespaces" in parts else None
        return [each["metadata"] for each in found if one in (None, each["metadata"]["namespace"])]


class Told:
    """An inventory, the objects that it lists, and the deletions that it reported."""

    def __init__(self, *namespaces: str, owns: Callable[[str], bool] = lambda _: True) -> None:
        self.lister = Lister()
        self.ends: list[tuple[str, Object]] = []
        self.inventory = Inventory(
            self.lister,
            namespaces,
            owns=owns,
            gone=lambda kind, end: self.ends.append((kind, end)),
            clock=asyncio.get_running_loop().time,
        )

    def note(self, *bodies: Object, kind: str = "pods", how: str | None = None) -> list[Object | None]:
        """Hands over an event about each. how: None: it is of a list."""
        return [self.inventory.note(kind, {"type": how, "object": each}) for each in bodies]

    def uids(self) -> list[str]:
        """The uids of the objects that were reported as deleted."""
        return [end["metadata"]["uid"] for _, end in self.ends]

    async def is_complete(self, seconds: float = 1.0) -> bool:
        """Whether the watches have reported every object within so many seconds."""
        try:
            await asyncio.wait_for(self.inventory.complete(), seconds)
        except TimeoutError:
            return False
        return True

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """It is complete, and looks for what is gone."""
        assert await self.is_complete()
        keeping = asyncio.create_task(self.inventory.keep())
        await asyncio.sleep(0.1)
        yield
        keeping.cancel()


@in_virtual_time
async def test_nothing_is_complete_before_the_watches_have_reported_every_listed_object() -> None:
    """Of every kind: a reconcile that knows no pods would decide without them."""
    told = Told()
    told.lister.there = {
        "speculativeinferenceservices": [service("llama", "s")],
        "inferenceservices": [pod("llama", "i")],
        "deployments": [pod("llama-predictor", "d")],
        "pods": [pod("a", "1"), pod("b", "2")],
        "jobs": [pod("j", "3")],
    }
    told.note(service("llama", "s"), kind="services")
    told.note(pod("a", "1"), pod("b", "2"))
    for kind, body in (("inferenceservices", pod("llama", "i")), ("jobs", pod("j", "3"))):
        assert not await told.is_complete(60)
        told.note(body, kind=kind)
    waiting = asyncio.create_task(told.inventory.complete())
    await asyncio.sleep(60)
    assert not waiting.done()
    told.note(pod("llama-predictor", "d"), kind="deployments")
    await asyncio.wait_for(waiting, 1)
    assert told.ends == []


@in_virtual_time
async def test_an_empty_cluster_is_complete_at_once() -> None:
    """A new installation has nothing to wait for."""
    assert await Told().is_complete()


@in_virtual_time
async def test_what_goes_meanwhile_is_not_waited_for_for_ever() -> None:
    """No event will ever report it: after a while the inventory lists again."""
    told = Told()
    told.lister.there["pods"] = [pod("a", "1"), pod("b", "2")]
    told.note(pod("a", "1"))
    waiting = asyncio.create_task(told.inventory.complete())
    await asyncio.sleep(1)
    told.lister.there["pods"] = [pod("a", "1")]
    await asyncio.wait_for(waiting, RELIST + 1)


@in_virtual_time
async def test_what_comes_after_the_list_is_kept() -> None:
    """The list does not contain it, and its event came after the list."""
    told = Told()
    told.lister.there["pods"] = [pod("a", "1")]
    waiting = asyncio.create_task(told.inventory.complete())
    await asyncio.sleep(1)
    told.note(pod("b", "2"), how="ADDED")
    told.note(pod("a", "1"))
    await waiting
    assert told.ends == []


@in_virtual_time
async def test_what_a_new_list_lacks_is_reported_as_deleted() -> None:
    """With its labels, by which its service is found."""
    told = Told()
    bodies = [pod("a", "1"), pod("b", "2"), pod("c", "3", owner="other", staging="draft")]
    told.lister.there["pods"] = [*bodies]
    told.note(*bodies)
    async with told.kept():
        told.lister.there["pods"] = bodies[1:2]
        told.note(bodies[1])
        await asyncio.sleep(AFTER_LIST)
        metas = {end["metadata"]["uid"]: end["metadata"] for _, end in told.ends}
        assert metas == {
            "1": {"namespace": "team", "name": "a", "uid": "1", "labels": {OWNER_LABEL: "llama"}},
            "3": {
                "namespace": "team",
                "name": "c",
                "uid": "3",
                "labels": {OWNER_LABEL: "other", STAGING_LABEL: "draft"},
            },
        }
        assert {kind for kind, _ in told.ends} == {"pods"}
        told.note(bodies[1])
        await asyncio.sleep(AFTER_LIST)
        assert len(told.ends) == 2, "told once"


@in_virtual_time
async def test_deletions_after_the_other_kinds_were_listed_again_are_found_soon() -> None:
    """After an outage each watch recovers at another time. The last object of a kind may be
    deleted before its watch is back.
    """
    told = Told()
    told.lister.there = {"pods": [pod("a", "1")], "jobs": [pod("j", "2")]}
    told.note(pod("a", "1"))
    told.note(pod("j", "2"), kind="jobs")
    async with told.kept():
        told.note(pod("j", "2"), kind="jobs")  # kopf lists the Jobs again, and the pods not yet
        await asyncio.sleep(AFTER_LIST)
        told.lister.there["pods"] = []
        await asyncio.sleep(25)
        assert told.uids() == ["1"]


@in_virtual_time
async def test_a_deletion_is_found_without_a_new_list_of_kopf_too() -> None:
    """If all objects of a kind are deleted, a new list has no object to report."""
    told = Told()
    told.lister.there["pods"] = [pod("a", "1")]
    told.note(pod("a", "1"))
    async with told.kept():
        told.lister.there["pods"] = []
        await asyncio.sleep(601)
        assert told.uids() == ["1"]


@in_virtual_time
async def test_changes_of_a_running_watch_do_not_cause_a_list() -> None:
    """A pod changes often, and a list of all pods is expensive."""
    told = Told()
    told.lister.there["pods"] = [pod("a", "1")]
    told.note(pod("a", "1"))
    async with told.kept():
        asked = len(told.lister.asked)
        for _ in range(100):
            told.note(pod("a", "1"), how="MODIFIED")
            await asyncio.sleep(1)
        assert len(told.lister.asked) == asked


@in_virtual_time
async def test_the_end_of_an_object_is_reported_before_another_one_of_its_name() -> None:
    """Otherwise the data of the old object would be attributed to the new one."""
    told = Told()
    told.note(pod("a", "1", staging="target"))
    (end,) = told.note(pod("a", "2"))
    assert end is not None
    assert end["metadata"] == {
        "namespace": "team",
        "name": "a",
        "uid": "1",
        "labels": {OWNER_LABEL: "llama", STAGING_LABEL: "target"},
    }
    assert told.note(pod("a", "2"), how="MODIFIED") == [None]


@in_virtual_time
async def test_an_older_object_of_the_same_name_replaces_nothing() -> None:
    """Its last events may come after the first ones of the new one."""
    told = Told()
    old, new = pod("one", "u-1"), pod("one", "u-2")
    old["metadata"]["resourceVersion"], new["metadata"]["resourceVersion"] = "99", "100"
    told.note(new, how="ADDED")
    with pytest.raises(Outdated):
        told.note(old, how="MODIFIED")
    newer = pod("one", "u-3")
    newer["metadata"]["resourceVersion"] = "101"
    (replaced,) = told.note(newer, how="ADDED")
    assert replaced is not None
    assert replaced["metadata"]["uid"] == "u-2"


@in_virtual_time
async def test_the_end_of_an_object_that_was_replaced_is_outdated() -> None:
    """kopf handles two objects of one name side by side: the end of the first may come after the second."""
    told = Told()
    told.note(pod("a", "1"))
    told.note(pod("a", "2"))
    with pytest.raises(Outdated):
        told.note(pod("a", "1"), how="DELETED")
    assert told.note(pod("a", "2"), how="MODIFIED") == [None]


@in_virtual_time
async def test_a_deletion_that_the_watch_reported_is_not_reported_again() -> None:
    """The watch itself reported the deletion."""
    told = Told()
    told.note(pod("a", "1"), how="ADDED")
    assert told.note(pod("a", "1"), how="DELETED") == [None]
    assert told.note(pod("a", "1"), how="DELETED") == [None]
    assert told.note(pod("a", "2"), how="ADDED") == [None]
    told.note(pod("a", "2"), how="DELETED")
    assert await told.is_complete()
    assert told.ends == []


@in_virtual_time
async def test_kinds_with_objects_of_one_name_are_kept_apart() -> None:
    """A service and its InferenceService have the same name."""
    told = Told()
    told.note(service("llama", "s"), kind="services")
    assert told.note(pod("llama", "i"), kind="inferenceservices") == [None]


@in_virtual_time
async def test_namespaces_that_are_not_ours_are_not_waited_for() -> None:
    """Their events are not handed over either."""
    told = Told(owns=lambda namespace: namespace == "team")
    told.lister.there["pods"] = [pod("a", "1", namespace="others"), pod("b", "2")]
    told.note(pod("b", "2"))
    assert await told.is_complete()


@in_virtual_time
async def test_only_the_namespaces_that_are_watched_are_listed() -> None:
    """The operator may read no others. Each kind by its label, as it is watched."""
    told = Told("one", "two")
    told.lister.there["pods"] = [pod("a", "1", namespace="one"), pod("b", "2", namespace="three")]
    told.note(pod("a", "1", namespace="one"))
    assert await told.is_complete()
    services = "/apis/serving.specdec.io/v1alpha1/namespaces/two/speculativeinferenceservices"
    assert {("/api/v1/namespaces/one/pods", OWNER_LABEL), (services, "")} <= {*told.lister.asked}
    assert all("/namespaces/one/" in path or "/namespaces/two/" in path for path, _ in told.lister.asked)


@in_virtual_time
async def test_a_kind_without_permission_to_read_blocks_nothing_and_proves_nothing() -> None:
    """The pods are not reported as deleted because a permission is missing for a moment."""
    told = Told()
    told.lister.there = {"jobs": None, "pods": [pod("a", "1")]}
    told.note(pod("a", "1"))
    async with told.kept():
        told.lister.there["pods"] = None
        told.note(pod("a", "1"))
        await asyncio.sleep(700)
        assert told.ends == []
        told.lister.there["pods"] = []
        await asyncio.sleep(601)
        assert told.uids() == ["1"]


@in_virtual_time
async def test_events_from_before_a_restart_of_the_watches_prove_nothing() -> None:
    """An object may have changed since then, and an object that was deleted since then is reported as deleted."""
    told = Told()
    told.lister.there["pods"] = [pod("a", "1"), pod("b", "2")]
    told.note(pod("a", "1"), pod("b", "2"))
    assert await told.is_complete()
    await asyncio.sleep(1)
    told.inventory.begin()
    told.lister.there["pods"] = [pod("a", "1")]
    await asyncio.sleep(1)
    assert not await told.is_complete(60)
    told.note(pod("a", "1"))
    assert await told.is_complete()
    assert told.uids() == ["2"]


@in_virtual_time
async def test_namespaces_that_are_not_ours_any_more_are_let_go() -> None:
    """Another replica has them: nothing of them is kept here. If they come back, the watches report all of it again."""
    ours = {"team", "others"}
    told = Told(owns=ours.__contains__)
    bodies = [pod("a", "1"), pod("b", "2", namespace="others")]
    told.lister.there["pods"] = bodies
    told.note(*bodies)
    told.note(service("llama", "s", "others"), kind="services")
    ours.remove("others")
    told.inventory.begin()
    assert [(kind, end["metadata"]["uid"]) for kind, end in told.ends] == [("services", "s"), ("pods", "2")]
    ours.add("others")
    told.inventory.begin()
    told.note(bodies[0])
    assert not await told.is_complete(60)
    assert told.note(bodies[1]) == [None]
    assert await told.is_complete()
    assert len(told.ends) == 2


@in_virtual_time
async def test_an_api_server_that_is_away_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    """For as long as it is away nothing is complete, and nothing is gone."""
    told = Told()
    told.lister.there["pods"] = [pod("a", "1")]
    told.lister.away = True
    told.note(pod("a", "1"))
    with caplog.at_level(logging.WARNING):
        assert not await told.is_complete(60)
    assert "nobody answers" in caplog.text
    told.lister.away = False
    async with told.kept():
        told.lister.away = True
        told.lister.there["pods"] = []
        await asyncio.sleep(700)
        assert told.ends == []
        told.lister.away = False
        await asyncio.sleep(10)
        assert told.uids() == ["1"]
