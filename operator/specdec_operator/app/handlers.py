"""What is done with an event of a watch: the stores take it in, and the queue gets its owner."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from specdec_operator import metrics
from specdec_operator.app.inventory import Inventory, Outdated
from specdec_operator.app.services import Services
from specdec_operator.names import Key
from specdec_operator.observe.store import Stores
from specdec_operator.process.health import ProcessHealth
from specdec_operator.reconcile.queue import WorkQueue

_LATE: Final = 420.0
"""Seconds without a reconcile of any service that mean that the process hangs; the longest wait is 300 s."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The shared objects of a process.

    owns: whether the services of a namespace are this process's.
    """

    services: Services
    stores: Stores
    queue: WorkQueue
    inventory: Inventory
    owns: Callable[[str], bool]

    def take(self, kind: str, event: Mapping[str, Any]) -> None:
        """Takes in an event about an object of a kind that is watched."""
        body, gone = event["object"], event["type"] == "DELETED"
        if not self._is_ours(kind, event):
            return
        if kind == "services" and not gone:
            self._take_service(body)
        elif gone:
            self.is_gone(kind, body)
        else:
            self.queue.wake(self._note(kind, body, deleted=False))

    def is_gone(self, kind: str, end: Mapping[str, Any]) -> None:
        """Takes in that an object is gone. end: its metadata, at least."""
        if kind == "services":
            key = (end["metadata"]["namespace"], end["metadata"]["name"])
            self.queue.remove(key)
            self.stores.guards.forget(key)
            self.services.forget(key)
            metrics.loops(len(self.queue))
            return
        owner = self._note(kind, end, deleted=True)
        if owner not in self.queue:
            self.stores.forget(owner)  # its service went before it, and no reconcile reads it any more
        self.queue.wake(owner)

    def health(self) -> ProcessHealth:
        """Fails when there are services and none was reconciled for long."""
        count, idle = len(self.queue), time.monotonic() - self.services.reconciled
        return ProcessHealth(services=count, new=self.services.new, idle=idle, hangs=bool(count) and idle > _LATE)

    def _take_service(self, body: Mapping[str, Any]) -> None:
        """A new generation, a user's annotation or a status that is gone wakes; our own writes are only shown."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        if body["metadata"].get("deletionTimestamp"):
            self.is_gone("services", body)  # its children go with it: none is made again
            return
        self.stores.guards.note(body)
        if self.services.note(key, body):
            self.queue.add(key)
            metrics.loops(len(self.queue))

    def _note(self, kind: str, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Puts an object that belongs to a service into the store of its kind; returns its service."""
        note = {
            "inferenceservices": self.stores.note_child,
            "deployments": self.stores.note_deployment,
            "pods": self.stores.note_pod,
            "jobs": self.stores.note_job,
        }[kind]
        return note(body, deleted=deleted)

    def _is_ours(self, kind: str, event: Mapping[str, Any]) -> bool:
        """Whether an event is about this process's services, and about an object that exists or is deleted by it."""
        if not self.owns(event["object"]["metadata"]["namespace"]):
            return False
        try:
            replaced = self.inventory.note(kind, event)
        except Outdated:
            return False
        if replaced is not None:
            self.is_gone(kind, replaced)
        return True
