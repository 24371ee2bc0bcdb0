"""What the watches have told about children: InferenceServices, Deployments and pods, a few fields of each.

Fed by events, read by the loop. It makes no promise to be complete: the loop looks again when something changes.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator.control.wakeups import Key
from specdec_operator.names import OWNER_LABEL
from specdec_operator.serving.pods import DeploymentView, PodView, deployment_view, pod_view


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The InferenceService as it was seen last; deleted stands for one that is gone."""

    generation: int
    url: str | None
    deleted: bool

    def drifted(self, applied: int) -> bool:
        """Whether somebody else changed or deleted it after we made it generation `applied`."""
        return self.deleted or self.generation > applied


def owner_of(body: Mapping[str, Any]) -> Key:
    """The sis that an object belongs to, by its label."""
    meta = body["metadata"]
    return meta["namespace"], meta["labels"][OWNER_LABEL]


class Stores:
    """Children of every sis."""

    def __init__(self) -> None:
        self._children: dict[Key, Child] = {}
        self._deployments: dict[Key, DeploymentView] = {}
        self._pods: defaultdict[Key, dict[str, PodView]] = defaultdict(dict)

    def child(self, key: Key) -> Child | None:
        """The InferenceService of a sis."""
        return self._children.get(key)

    def deployment(self, key: Key) -> DeploymentView | None:
        """The Deployment that KServe made for a sis."""
        return self._deployments.get(key)

    def pods(self, key: Key) -> tuple[PodView, ...]:
        """The pods of a sis, of every revision."""
        return tuple(self._pods[key].values()) if key in self._pods else ()

    def settled(self, key: Key) -> bool:
        """Whether the watches have told of this sis's Deployment, and of its pods where it has any."""
        deployment = self._deployments.get(key)
        return deployment is not None and (deployment.available == 0 or bool(self._pods.get(key)))

    def note_child(self, body: Mapping[str, Any], *, deleted: bool) -> Key:
        """Takes in an event of an InferenceService; returns the sis to wake."""
        key = owner_of(body)
        url = body.get("status", {}).get("url")
        self._children[key] = Child(generation=body["metadata"].get("generation", 0), url=url, deleted=deleted)
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
        """Takes in an event of a pod; returns the sis to wake."""
        key = owner_of(body)
        if deleted:
            self._pods[key].pop(body["metadata"]["name"], None)
        else:
            self._pods[key][body["metadata"]["name"]] = pod_view(body)
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
