"""The services as the watch reported them last, and the step from an entry of the queue to a reconcile."""

import asyncio
import logging
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from specdec_operator.app.intake import kept
from specdec_operator.errors import UNANSWERED, OperatorError, Unavailable
from specdec_operator.names import API_VERSION, KIND, Key
from specdec_operator.reconcile.loop import Reconciler, ReconcileResult
from specdec_operator.reconcile.requeue import retry_after
from specdec_operator.report.events import Event
from specdec_operator.web.store import ServiceStore

_LOG = logging.getLogger(__name__)
_SHORT: Final = 40
"""Characters up to which a text is likely to be in other objects too: reasons, types, times."""
_MOST_WORDS: Final = 1000
_BUSY: Final = frozenset({UNANSWERED, "ApiServerRefused", "NotLeading"})
"""Reasons that pass by themselves."""
_REPORTER: Final = "specdec-operator"


class Poster(Protocol):
    """Sends Events."""

    async def post_event(self, namespace: str, event: dict[str, Any]) -> None:
        """Sends one. Raises OperatorError where it could not be sent."""


class Services:
    """Every service of this process. page: what the web page shows. reconciled: when one was, monotonic seconds.

    left: set when one was deleted that guarded another owner's InferenceService.
    """

    def __init__(self, reconciler: Reconciler, poster: Poster, page: ServiceStore) -> None:
        self.reconciled = time.monotonic()
        self._reconciler = reconciler
        self._poster = poster
        self.page = page
        self._bodies: dict[Key, Mapping[str, Any]] = {}
        self._versions: dict[Key, object] = {}
        self._new: set[Key] = set()
        self.left = asyncio.Event()

    def note(self, key: Key, body: Mapping[str, Any]) -> bool:
        """Takes in an event; returns whether it has more than our own status writes."""
        meta, small = body["metadata"], kept(body)
        self._bodies[key] = shared(small)
        self.page.note(self._bodies[key], deleted=False)  # not a second copy
        told = "phase" in body.get("status", {})  # else another client took our status out
        asked = tuple(sorted(small["metadata"]["annotations"].items()))
        version = (meta["uid"], meta.get("generation"), told, asked)
        known, self._versions[key] = self._versions.get(key), version
        if known is None:
            self._new.add(key)
        return known != version

    def forget(self, key: Key) -> None:
        """Drops what is kept of a service that is gone."""
        body = self._bodies.pop(key, None)
        if body is not None and "inferenceServiceRef" in body["spec"]:
            self.left.set()
        self._versions.pop(key, None)
        self._new.discard(key)
        self.page.forget(key)
        self._reconciler.forget(key)

    def has(self, uid: str) -> bool:
        """Whether a service of this uid is known."""
        return any(each["metadata"]["uid"] == uid for each in self._bodies.values())

    @property
    def new(self) -> int:
        """How many wait for their first reconcile."""
        return len(self._new)

    async def reconcile(self, key: Key, woken: bool) -> ReconcileResult:
        """One reconcile of the object as it is known now, and the Events of it."""
        body = self._bodies.get(key)
        if body is None:
            return ReconcileResult(requeue_after=0.0)
        result = await self._reconciler.reconcile(body, woken=woken)
        self.reconciled = time.monotonic()
        if not result.unlisted:
            self._new.discard(key)
        if self._bodies.get(key, {}).get("metadata", {}).get("uid") != body["metadata"]["uid"]:
            self._reconciler.forget(key)  # it went meanwhile, and may be another one by now
        return await self._send(key, body, result)

    async def _send(self, key: Key, body: Mapping[str, Any], result: ReconcileResult) -> ReconcileResult:
        """Sends the Events in turn. Those that could not be sent are kept until the API server is to be asked again."""
        for number, event in enumerate(result.events):
            if (seconds := await self._post(body, event)) is not None:
                self._reconciler.keep_unsent(key, result.events[number:], seconds)
                return replace(result, events=(), requeue_after=min(result.requeue_after, seconds))
        return result

    async def _post(self, body: Mapping[str, Any], event: Event) -> float | None:
        """Seconds until this Event is to be tried again; None: it is not. What is refused for good is in the status."""
        try:
            await self._poster.post_event(body["metadata"]["namespace"], event_manifest(body, event, datetime.now(UTC)))
        except OperatorError as error:
            if isinstance(error, Unavailable) and error.reason in _BUSY:
                return retry_after(error)
            _LOG.warning("Event %s was not sent: %s", event.reason, error.message)
        return None


def event_manifest(body: Mapping[str, Any], event: Event, now: datetime) -> dict[str, Any]:
    """A core/v1 Event about a service."""
    meta, stamp = body["metadata"], now.isoformat()
    about = {name: meta[name] for name in ("name", "namespace", "uid") if name in meta}
    return {
        "metadata": {"namespace": meta["namespace"], "generateName": "specdec-"},
        "action": event.reason,
        "type": "Warning" if event.warning else "Normal",
        "reason": event.reason,
        "message": event.message[:_MOST_WORDS],
        "reportingComponent": _REPORTER,
        "reportingInstance": _REPORTER,
        "source": {"component": _REPORTER},
        "involvedObject": {"apiVersion": API_VERSION, "kind": KIND, **about},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "eventTime": stamp,
    }


def shared(value: Any) -> Any:
    """The same, but of equal names and short texts there is one for all objects: half the memory of a service."""
    if isinstance(value, dict):
        return {sys.intern(name): shared(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shared(each) for each in value]
    return sys.intern(value) if isinstance(value, str) and len(value) <= _SHORT else value
