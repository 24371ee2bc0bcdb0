"""What the watches have told about children: InferenceServices, Deployments and pods, a few fields of each.

Fed by events, read by the loop. It makes no promise to be complete: the loop looks again when something changes.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from specdec_operator.control.wakeups import Key
from specdec_operator.names import OWNER_LABEL, STAGING_LABEL
from specdec_operator.serving.hindrance import Hindrance, hindrance_of
from specdec_operator.serving.pods import DeploymentView, PodView, deployment_view, pod_view

_Seen = TypeVar("_Seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The InferenceService as it was seen last; deleted stands for one that is gone.

    hindrance: what KServe says against it.
    """

    generation: int
    url: str | None
    deleted: bool
    hindrance: Hindrance | None = None

    def drifted(self, applied: int) -> bool:
        """Whether somebody else changed or deleted it after we made it generation `applied`."""
        return self.deleted or self.generation > applied


def owner_of(body: Mapping[str, Any]) -> Key:
    """The sis that an object belongs to, by its label."""
    meta = body["metadata"]
    return meta["namespace"], meta["labels"][OWNER_LABEL]


def _short(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is looked at of a download Job and of its pods: everything but their specs, which hold a program."""
    return {"metadata": {**body["metadata"], "managedFields": None}, "status": body.get("status", {})}


class Stores:
    """Children of every sis."""

    def __init__(self) -> None:
        self._children: dict[Key, Child] = {}
        self._deployments: dict[Key, DeploymentView] = {}
        self._pods: defaultdict[Key, dict[str, PodView]] = defaultdict(dict)
        self._jobs: defaultdict[Key, dict[str, Mapping[str, Any]]] = defaultdict(dict)
        self._stagers: defaultdict[Key, dict[str, Mapping[str, Any]]] = defaultdict(dict)

    def child(self, key: Key) -> Child | None:
        """The InferenceService of a sis."""
        return self._children.get(key)

    def deployment(self, key: Key) -> DeploymentView | None:
        """The Deployment that KServe made for a sis."""
        return self._deployments.get(key)

    def pods(self, key: Key) -> tuple[PodView, ...]:
        """The pods of a sis, of every revision."""
        return tuple(self._pods[key].values()) if key in self._pods else ()

    def pod_names(self, key: Key) -> frozenset[str]:
        """Names of the pods of a sis that are not on their way out."""
        return frozenset(pod.name for pod in self.pods(key) if not pod.deleting)

    def jobs(self, key: Key) -> Mapping[str, Mapping[str, Any]]:
        """The download Jobs of a sis by name, without their specs."""
        return self._jobs.get(key, {})

    def stagers(self, key: Key) -> tuple[Mapping[str, Any], ...]:
        """The pods of its download Jobs, without their specs."""
        return tuple(self._stagers[key].values()) if key in self._stagers else ()

    def settled(self, key: Key) -> bool:
        """Whether the watches have told of this sis's Deployment, and of its pods where it has any."""
        deployment = self._deployments.get(key)
        return deployment is not None and (deployment.available == 0 or bool(self._pods.get(key)))

    def note_child(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of an InferenceService; returns the sis to wake."""
        key = owner_of(body)
        url = body.get("status", {}).get("url")
        generation, hindrance = body["metadata"].get("generation", 0), None if deleted else hindrance_of(body)
        self._children[key] = Child(generation=generation, url=url, deleted=deleted, hindrance=hindrance)
        return key

    def note_deployment(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a Deployment; returns the sis to wake."""
        key = owner_of(body)
        if deleted:
            self._deployments.pop(key, None)
        else:
            self._deployments[key] = deployment_view(body)
        return key

    def note_pod(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a pod, of the service or of a download; returns the sis to wake."""
        key, name = owner_of(body), body["metadata"]["name"]
        if STAGING_LABEL in body["metadata"]["labels"]:
            _take_in(self._stagers[key], name, None if deleted else _short(body))
        else:
            _take_in(self._pods[key], name, None if deleted else pod_view(body))
        return key

    def note_job(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a download Job; returns the sis to wake."""
        key = owner_of(body)
        _take_in(self._jobs[key], body["metadata"]["name"], None if deleted else _short(body))
        return key

    def note_applied(self, key: Key) -> None:
        """Takes in that the InferenceService was just made again, before its event says so."""
        child = self._children.get(key)
        if child is not None and child.deleted:
            del self._children[key]

    def forget(self, key: Key) -> None:
        """Drops what is kept for a deleted sis."""
        self._children.pop(key, None)
        self._deployments.pop(key, None)
        self._pods.pop(key, None)
        self._jobs.pop(key, None)
        self._stagers.pop(key, None)


def _take_in(known: dict[str, _Seen], name: str, seen: _Seen | None) -> None:
    if seen is None:
        known.pop(name, None)
    else:
        known[name] = seen
