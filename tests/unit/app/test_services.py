"""The services as the watch reported them: what wakes a service, what is kept of it, and the Events that are sent."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.builders import NAME, NAMESPACE, make_sis
from tests.unit.stage import KEY, FakeCluster, Stage

from specdec_operator.app.services import Services, event_manifest, shared
from specdec_operator.errors import OperatorError, Unavailable
from specdec_operator.names import ADOPT_ANNOTATION, API_VERSION, HOLD_ANNOTATION, KIND, RETRY_ANNOTATION
from specdec_operator.report.events import Event
from specdec_operator.web.store import ServiceStore

Body = dict[str, Any]


class Poster:
    """Keeps the Events that are sent. error: raised instead."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Body]] = []
        self.error: OperatorError | None = None

    async def post_event(self, namespace: str, event: Body) -> None:
        """See Poster."""
        if self.error is not None:
            raise self.error
        self.sent.append((namespace, event))


class Gated(FakeCluster):
    """A cluster whose status writes may be kept waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.reached = asyncio.Event()

    async def apply_status(self, namespace: str, name: str, status: Body) -> int:
        """See FakeCluster."""
        self.reached.set()
        await self.gate.wait()
        return await super().apply_status(namespace, name, status)


class Played:
    """A real reconciler on its stage, behind Services."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.cluster = Gated()
        self.stage.cluster = self.cluster
        self.stage.restart()
        self.poster = Poster()
        self.page = ServiceStore(self.stage.stores.pods)
        self.services = Services(self.stage.loop, self.poster, self.page)

    def memories(self) -> int:
        """Services that the reconciler keeps anything of."""
        return len(vars(self.stage.loop)["_memories"])


def made(**meta: Any) -> Body:
    """The service as a user made it."""
    body = make_sis()
    return body | {"metadata": body["metadata"] | meta}


@pytest.fixture
def played() -> Played:
    """No event has come yet."""
    return Played()


def _annotated(body: Body, **annotations: str) -> Body:
    return body | {"metadata": body["metadata"] | {"annotations": annotations}}


def test_a_new_service_wakes_and_the_same_again_does_not(played: Played) -> None:
    """A watch that begins again reports every object once more."""
    assert played.services.note(KEY, made())
    assert not played.services.note(KEY, made())


CHANGES: Mapping[str, Callable[[Body], Body]] = {
    "generation": lambda body: body | {"metadata": body["metadata"] | {"generation": 2}},
    "another object": lambda body: body | {"metadata": body["metadata"] | {"uid": "another"}},
    "asked for": lambda body: _annotated(body, **{RETRY_ANNOTATION: "1"}),
    "allowed to adopt": lambda body: _annotated(body, **{ADOPT_ANNOTATION: "true"}),
    "status lost": lambda body: body | {"status": {}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_user_changed_wakes_once(played: Played, change: Callable[[Body], Body]) -> None:
    """A spec, an annotation of ours, and a status that a user removed."""
    body = made() | {"status": {"phase": "Serving"}}
    played.services.note(KEY, body)
    assert played.services.note(KEY, change(body))
    assert not played.services.note(KEY, change(body))
    assert played.services.note(KEY, body), "and back again"


def test_our_own_status_writes_and_strangers_annotations_do_not_wake(played: Played) -> None:
    """Else each write would lead to a reconcile, and to the next write."""
    body = made() | {"status": {"phase": "Serving", "message": "a"}}
    played.services.note(KEY, body)
    assert not played.services.note(KEY, body | {"status": {"phase": "RollingOut", "message": "b"}})
    assert not played.services.note(KEY, _annotated(body, **{"example.com/note": "x"}))
    assert not played.services.note(KEY, body | {"metadata": body["metadata"] | {"resourceVersion": "77"}})


def test_an_annotation_that_is_taken_out_wakes(played: Played) -> None:
    """The end of a hold."""
    held = _annotated(made(), **{HOLD_ANNOTATION: "true"})
    played.services.note(KEY, held)
    assert played.services.note(KEY, made())


def test_one_that_was_forgotten_is_new_again(played: Played) -> None:
    """Deleted and made again under the same name."""
    played.services.note(KEY, made())
    played.services.forget(KEY)
    assert played.services.note(KEY, made())


async def test_a_reconcile_uses_the_last_reported_object(played: Played) -> None:
    """And the page shows that object."""
    played.services.note(KEY, made())
    played.services.note(KEY, made(generation=2))
    at = played.services.reconciled
    result = await played.services.reconcile(KEY, True)
    assert not result.failed
    assert played.cluster.status["observedGeneration"] == 2
    assert played.services.reconciled > at
    assert [row.name for row in played.page.rows()] == [KEY[1]]


async def test_a_service_without_an_event_is_not_reconciled(played: Played) -> None:
    """It was deleted while it waited for its reconcile."""
    await played.services.reconcile(KEY, True)
    assert played.cluster.calls == []


def test_who_set_which_field_is_not_kept(played: Played) -> None:
    """managedFields is as large as the object itself, and the operator does not read it of a service.
    The event itself does not change.
    """
    body = made(managedFields=[{"manager": "kubectl"}])
    played.services.note(KEY, body)
    assert "managedFields" not in json.dumps(vars(played.services)["_bodies"][KEY])
    assert body["metadata"]["managedFields"] == [{"manager": "kubectl"}]


def test_equal_words_of_two_objects_are_one_and_nothing_else_changes() -> None:
    """Long texts are left as they are, for they are never equal."""
    text = json.dumps({"status": {"conditions": [{"reason": "AsRequested", "n": 1.5, "ok": True, "m": "x" * 99}]}})
    first, second = (shared(json.loads(text)) for _ in range(2))
    assert first == second == json.loads(text)
    one, other = (each["status"]["conditions"][0] for each in (first, second))
    assert one["reason"] is other["reason"]
    assert one["m"] is not other["m"]


async def test_the_events_of_a_reconcile_are_sent(played: Played) -> None:
    """Of a spec that cannot be followed, for example; once."""
    played.services.note(KEY, make_sis(replicas=-1))
    await played.services.reconcile(KEY, True)
    ((namespace, event),) = played.poster.sent
    assert namespace == NAMESPACE
    assert (event["type"], event["reason"]) == ("Warning", "InvalidSpec")
    assert event["involvedObject"]["name"] == NAME
    await played.services.reconcile(KEY, True)
    assert len(played.poster.sent) == 1


async def test_an_event_that_cannot_be_sent_is_logged_and_no_error(
    played: Played, caplog: pytest.LogCaptureFixture
) -> None:
    """The status contains the same message, and the next reconcile is due as if the Event had been sent."""
    played.services.note(KEY, make_sis(replicas=-1))
    played.poster.error = Unavailable("Forbidden", "events are forbidden")
    with caplog.at_level(logging.WARNING):
        result = await played.services.reconcile(KEY, True)
    assert "Event InvalidSpec was not sent: events are forbidden" in caplog.text
    assert not result.failed
    assert played.cluster.status["phase"]


async def test_a_server_that_asks_for_patience_is_not_sent_an_event_at_each_reconcile(played: Played) -> None:
    """Readings of counters come each second, and what waits to be sent is not sent with each of them."""
    played.services.note(KEY, make_sis(replicas=-1))
    played.poster.error = Unavailable("ApiServerRefused", "HTTP 429: too many requests", after=10.0)
    result = await played.services.reconcile(KEY, True)
    assert result.requeue_after == 10.0
    played.poster.error = None
    for seconds in (0.0, 1.0, 8.0):
        played.stage.now += seconds
        result = await played.services.reconcile(KEY, False)
        assert played.poster.sent == []
        assert 0 < result.requeue_after <= 10.0, "it is not forgotten either"
    played.stage.now += 1.0
    await played.services.reconcile(KEY, False)
    assert [event["reason"] for _, event in played.poster.sent] == ["InvalidSpec"]


def test_an_event_is_about_its_service_and_not_too_long() -> None:
    """The API server refuses messages of more than 1,024 characters."""
    told = event_manifest(
        made(), Event(warning=False, reason="Serving", message="m" * 2000), datetime(2026, 11, 22, tzinfo=UTC)
    )
    about = {"apiVersion": API_VERSION, "kind": KIND, "name": NAME, "namespace": NAMESPACE, "uid": "u-1"}
    assert told["involvedObject"] == about
    assert (told["type"], told["reason"], told["action"]) == ("Normal", "Serving", "Serving")
    assert (len(told["message"]), told["eventTime"]) == (1000, "2026-11-22T00:00:00+00:00")


@pytest.mark.parametrize("again", [False, True], ids=["gone", "made anew"])
async def test_nothing_is_kept_of_a_service_that_goes_during_its_reconcile(played: Played, again: bool) -> None:
    """A service that is created again under its name meanwhile begins without the data of the old one."""
    played.services.note(KEY, made())
    played.cluster.gate.clear()
    running = asyncio.create_task(played.services.reconcile(KEY, True))
    await played.cluster.reached.wait()
    played.services.forget(KEY)
    if again:
        played.services.note(KEY, made(uid="u-2"))
    played.cluster.gate.set()
    await running
    assert played.memories() == 0
    assert len(played.page.rows()) == int(again)
