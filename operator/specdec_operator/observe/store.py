"""What the watches have reported about children: InferenceServices, Deployments and pods, a few fields of each.

Fed by events, read by the reconcile. What is missing here is missing in the cluster once the watches have listed.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from specdec_operator.names import ANNOTATION_PREFIX, KIND, OWNER_LABEL, REVISION_LABEL, STAGING_LABEL, Key
from specdec_operator.observe.guards import GuestGuards
from specdec_operator.observe.inference_service import (
    KServeError,
    MetadataMarks,
    changed_by,
    kserve_error,
    metadata_marks,
)
from specdec_operator.observe.ownership import Controller, controller_of
from specdec_operator.observe.pods import DeploymentView, PodView, deployment_view, pod_view

_Seen = TypeVar("_Seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The InferenceService as it was seen last; deleted stands for one that is gone.

    uid, controller: its own, and who controls it. revision: of the pods that it asks for. kserve_error: KServe's error
    about it. marks: of its metadata; by: who else changed it last.
    """

    generation: int
    url: str | None
    deleted: bool
    revision: str | None = None
    kserve_error: KServeError | None = None
    marks: MetadataMarks = frozenset()
    by: str = ""
    uid: str = ""
    controller: Controller | None = None

    def drifted(self, applied: int, marks: MetadataMarks = frozenset()) -> bool:
        """Whether another client changed or deleted it after we made it generation `applied`, with these marks."""
        return self.deleted or self.generation > applied or not marks <= self.marks


def owner_of(body: Mapping[str, Any]) -> Key:
    """The service that an object belongs to, by its label."""
    meta = body["metadata"]
    return meta["namespace"], meta["labels"][OWNER_LABEL]


def predictor_name(name: str) -> str:
    """What KServe calls the Deployment of a service."""
    return f"{name}-predictor"


def baseline_name(name: str) -> str:
    """The name of the Deployment of a service's baseline pods."""
    return f"{predictor_name(name)}-plain"


def _is_made_by(body: Mapping[str, Any], kind: str, name: str) -> bool:
    """Whether an object is controlled by one of a kind and of this name, or of this name with a hash behind it.

    A label alone is soon copied, and then a stranger's pod would be measured, and a stranger's Job removed.
    """
    found = next((each for each in body["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    return found is not None and found["kind"] == kind and name in (found["name"], found["name"].rpartition("-")[0])


def _short(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is looked at of a download Job and of its pods: not their specs, which hold a program, and of annotations
    only ours. Any user can make one that looks like it, with other annotations of 256 KiB.
    """
    meta = {name: each for name, each in body["metadata"].items() if name not in ("managedFields", "annotations")}
    noted = body["metadata"].get("annotations") or {}
    meta["annotations"] = {name: text for name, text in noted.items() if name.startswith(ANNOTATION_PREFIX)}
    return {"metadata": meta, "status": body.get("status", {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedObjects:
    """What there is of one service: its InferenceService, the Deployment that KServe made of it, the pods of every
    revision, its download Jobs by name and the pods of these, both without their specs; the Deployment of its baseline
    pods, and these.
    """

    child: Child | None
    deployment: DeploymentView | None
    pods: tuple[PodView, ...]
    jobs: Mapping[str, Mapping[str, Any]]
    stagers: tuple[Mapping[str, Any], ...]
    baseline_deployment: DeploymentView | None = None
    baseline_pods: tuple[PodView, ...] = ()

    def of(self, uid: str) -> "OwnedObjects":
        """The same without Jobs that another service controls, of the same name though it be. uid: of this one."""
        owners = {name: controller_of(body["metadata"]) for name, body in self.jobs.items()}
        own = {name for name, owner in owners.items() if owner is not None and owner.uid == uid}
        return replace(self, jobs={name: body for name, body in self.jobs.items() if name in own})


class Stores:
    """What belongs to every service. listed: whether the watches of all kinds have reported all objects.

    guards: which service guards which guest.
    """

    def __init__(self) -> None:
        self.listed = False
        self.guards = GuestGuards()
        self._children: dict[Key, Child] = {}
        self._deployments: dict[Key, DeploymentView] = {}
        self._baseline_deployments: dict[Key, DeploymentView] = {}
        self._baseline_pods: defaultdict[Key, dict[str, PodView]] = defaultdict(dict)
        self._pods: defaultdict[Key, dict[str, PodView]] = defaultdict(dict)
        self._jobs: defaultdict[Key, dict[str, Mapping[str, Any]]] = defaultdict(dict)
        self._stagers: defaultdict[Key, dict[str, Mapping[str, Any]]] = defaultdict(dict)

    def objects(self, key: Key) -> OwnedObjects:
        """What belongs to one service now."""
        return OwnedObjects(
            child=self._children.get(key),
            deployment=self._deployments.get(key),
            pods=self.pods(key),
            jobs=dict(self._jobs[key]) if key in self._jobs else {},
            stagers=tuple(self._stagers[key].values()) if key in self._stagers else (),
            baseline_deployment=self._baseline_deployments.get(key),
            baseline_pods=self.baseline_pods(key),
        )

    def pods(self, key: Key) -> tuple[PodView, ...]:
        """The pods of a service, of every revision."""
        return tuple(self._pods[key].values()) if key in self._pods else ()

    def baseline_pods(self, key: Key) -> tuple[PodView, ...]:
        """The baseline pods of a service."""
        return tuple(self._baseline_pods[key].values()) if key in self._baseline_pods else ()

    def note_child(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of an InferenceService; returns the service to wake."""
        key = owner_of(body)
        if body["metadata"]["name"] != key[1]:  # a copy under another name
            return key
        self._children[key] = Child(
            generation=body["metadata"].get("generation", 0),
            url=body.get("status", {}).get("url"),
            deleted=deleted,
            revision=body.get("spec", {}).get("predictor", {}).get("labels", {}).get(REVISION_LABEL),
            kserve_error=None if deleted else kserve_error(body),
            marks=metadata_marks(body),
            by=changed_by(body),
            uid=str(body["metadata"].get("uid", "")),
            controller=controller_of(body["metadata"]),
        )
        return key

    def note_deployment(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a Deployment; returns the service to wake."""
        key = owner_of(body)
        is_baseline = body["metadata"]["name"] == baseline_name(key[1]) and _is_made_by(body, KIND, key[1])
        if not is_baseline and body["metadata"]["name"] != predictor_name(key[1]):  # a copy, too
            return key
        known = self._baseline_deployments if is_baseline else self._deployments
        if deleted:
            known.pop(key, None)
        else:
            known[key] = deployment_view(body)
        return key

    def note_pod(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a pod, of the service or of a download; returns the service to wake."""
        key, name = owner_of(body), body["metadata"]["name"]
        if STAGING_LABEL in body["metadata"]["labels"]:
            _take_in(self._stagers, key, name, None if deleted else _short(body))
        else:
            ours, of_baseline = (
                _is_made_by(body, "ReplicaSet", each(key[1])) for each in (predictor_name, baseline_name)
            )
            seen = pod_view(body) if (ours or of_baseline) and not deleted else None
            _take_in(self._pods, key, name, seen if ours else None)
            _take_in(self._baseline_pods, key, name, seen if of_baseline else None)
        return key

    def note_job(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of a download Job; returns the service to wake."""
        key = owner_of(body)
        ours = _is_made_by(body, KIND, key[1])
        _take_in(self._jobs, key, body["metadata"]["name"], _short(body) if ours and not deleted else None)
        return key

    def note_applied(self, key: Key, uid: str, marks: MetadataMarks = frozenset()) -> None:
        """Takes in that the InferenceService was made as it is to be, before its event arrives.

        uid: its own. The event of its end may come before the answer to the write: that object stays deleted.
        """
        child = self._children.get(key)
        if child is not None and child.deleted:
            if child.uid != uid:
                del self._children[key]
        elif child is not None:
            self._children[key] = replace(child, marks=child.marks | marks)

    def forget(self, key: Key) -> None:
        """Drops what is kept of deleted objects, after their service was deleted.

        Existing objects stay: they leave with their own event, and a service that is made again at once needs them.
        """
        child = self._children.get(key)
        if child is not None and child.deleted:
            del self._children[key]


def _take_in(known: defaultdict[Key, dict[str, _Seen]], key: Key, name: str, seen: _Seen | None) -> None:
    """Keeps nothing for a service of which there is nothing: what it owned goes after it."""
    if seen is not None:
        known[key][name] = seen
    elif key in known:
        known[key].pop(name, None)
        if not known[key]:
            del known[key]
