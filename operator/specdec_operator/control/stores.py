"""What the watches have told about children: InferenceServices, Deployments and pods, a few fields of each.

Fed by events, read by the loop. It makes no promise to be complete: the loop looks again when something changes.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from specdec_operator.control.wakeups import Key
from specdec_operator.names import KIND, OWNER_LABEL, REVISION_LABEL, STAGING_LABEL
from specdec_operator.serving.hindrance import Hindrance, hindrance_of
from specdec_operator.serving.marks import Marks, changed_by, marks_of
from specdec_operator.serving.pods import DeploymentView, PodView, deployment_view, pod_view

_Seen = TypeVar("_Seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The InferenceService as it was seen last; deleted stands for one that is gone.

    revision: of the pods that it asks for. hindrance: what KServe says against it. marks: of its metadata; by: who
    else changed it last.
    """

    generation: int
    url: str | None
    deleted: bool
    revision: str | None = None
    hindrance: Hindrance | None = None
    marks: Marks = frozenset()
    by: str = ""

    def drifted(self, applied: int, marks: Marks = frozenset()) -> bool:
        """Whether somebody else changed or deleted it after we made it generation `applied`, with these marks."""
        return self.deleted or self.generation > applied or not marks <= self.marks


def owner_of(body: Mapping[str, Any]) -> Key:
    """The sis that an object belongs to, by its label."""
    meta = body["metadata"]
    return meta["namespace"], meta["labels"][OWNER_LABEL]


def _predictor(key: Key) -> str:
    """What KServe calls the Deployment of a sis."""
    return f"{key[1]}-predictor"


def _is_made_by(body: Mapping[str, Any], kind: str, name: str) -> bool:
    """Whether an object is controlled by one of a kind and of this name, or of this name with a hash behind it.

    A label alone is soon copied, and then a stranger's pod would be measured, and a stranger's Job removed.
    """
    found = next((each for each in body["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    return found is not None and found["kind"] == kind and name in (found["name"], found["name"].rpartition("-")[0])


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
        if body["metadata"]["name"] != key[1]:  # a copy under another name
            return key
        self._children[key] = Child(
            generation=body["metadata"].get("generation", 0),
            url=body.get("status", {}).get("url"),
            deleted=deleted,
            revision=body.get("spec", {}).get("predictor", {}).get("labels", {}).get(REVISION_LABEL),
            hindrance=None if deleted else hindrance_of(body),
            marks=marks_of(body),
            by=changed_by(body),
        )
        return key

    def note_deployment(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a Deployment; returns the sis to wake."""
        key = owner_of(body)
        if body["metadata"]["name"] != _predictor(key):  # a copy, too
            return key
        if deleted:
            self._deployments.pop(key, None)
        else:
            self._deployments[key] = deployment_view(body)
        return key

    def note_pod(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a pod, of the service or of a download; returns the sis to wake."""
        key, name = owner_of(body), body["metadata"]["name"]
        if STAGING_LABEL in body["metadata"]["labels"]:
            _take_in(self._stagers, key, name, None if deleted else _short(body))
        else:
            ours = _is_made_by(body, "ReplicaSet", _predictor(key))
            _take_in(self._pods, key, name, pod_view(body) if ours and not deleted else None)
        return key

    def note_job(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a download Job; returns the sis to wake."""
        key = owner_of(body)
        ours = _is_made_by(body, KIND, key[1])
        _take_in(self._jobs, key, body["metadata"]["name"], _short(body) if ours and not deleted else None)
        return key

    def note_applied(self, key: Key, marks: Marks = frozenset()) -> None:
        """Takes in that the InferenceService was just made as it is to be, before its event says so."""
        child = self._children.get(key)
        if child is not None and child.deleted:
            del self._children[key]
        elif child is not None:
            self._children[key] = replace(child, marks=child.marks | marks)

    def forget(self, key: Key) -> None:
        """Drops what is kept of objects that are gone, after their sis has gone.

        What is there still stays: it leaves when the watch says so, and a sis that is made again at once needs it.
        """
        child = self._children.get(key)
        if child is not None and child.deleted:
            del self._children[key]


def _take_in(known: defaultdict[Key, dict[str, _Seen]], key: Key, name: str, seen: _Seen | None) -> None:
    """Keeps nothing for a sis of which there is nothing: what it owned goes after it."""
    if seen is not None:
        known[key][name] = seen
    elif key in known:
        known[key].pop(name, None)
        if not known[key]:
            del known[key]
