"""Builders of pods and Deployments as Kubernetes writes them."""

from collections.abc import Iterable

from specdec_operator.names import OWNER_LABEL, REVISION_LABEL
from tests.unit.builders import NAME, NAMESPACE, Body


def make_pod(
    name: str = "llama-predictor-1",
    *,
    revision: str = "r1",
    ready: bool = True,
    engine: Body | None = None,
    unscheduled: str | None = None,
    since: str | None = None,
    deleting: bool = False,
    mounts: Iterable[Body] = (),
    download: Body | None = None,
    mounted: bool = False,
) -> Body:
    """A pod. `engine` is the container's status, from running(), ended(), waiting() or crashed().

    since: since when it is ready, or not scheduled. download: the status of its init container. mounted: whether the
    kubelet reports its volumes as mounted.
    """
    moved = {"lastTransitionTime": since} if since else {}
    body = _body(name, revision, deleting=deleting, mounts=mounts)
    if unscheduled is not None:
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": unscheduled}
        return {**body, "status": {"phase": "Pending", "conditions": [scheduled | moved]}}
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(ready), **moved}]
    conditions += [{"type": "PodReadyToStartContainers", "status": "True"}] if mounted else []
    beside = {"name": "sidecar", "restartCount": 9, "state": {"waiting": {}} if download else {"running": {}}}
    status = {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "conditions": conditions,
        "initContainerStatuses": [{"name": "storage-initializer", **download}] if download else [],
        "containerStatuses": [beside, {"name": "kserve-container", "ready": ready, **(engine or running())}],
    }
    return {**body, "status": status}


def _body(name: str, revision: str, *, deleting: bool, mounts: Iterable[Body]) -> Body:
    """A pod without its status."""
    meta: Body = {"name": name, "namespace": NAMESPACE, "labels": {OWNER_LABEL: NAME, REVISION_LABEL: revision}}
    meta["ownerReferences"] = [{"kind": "ReplicaSet", "name": f"{NAME}-predictor-7d9f8c6b5", "controller": True}]
    if deleting:
        meta |= {"deletionTimestamp": "2026-11-20T10:00:00Z", "deletionGracePeriodSeconds": 30}
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "kserve-container", "volumeMounts": list(mounts)}]},
    }


def running(restarts: int = 0, before: Body | None = None, *, since: str | None = None) -> Body:
    """The engine runs; `before` is how it ended before that."""
    state = {"running": {"startedAt": since} if since else {}}
    return {"restartCount": restarts, "state": state, "lastState": {"terminated": before} if before else {}}


def termination(code: int, reason: str = "Error", message: str = "", *, since: str | None = None) -> Body:
    """How a container ended, and when it had started."""
    found = {"exitCode": code, "reason": reason, "message": message, "startedAt": since}
    return {name: value for name, value in found.items() if value not in ("", None)}


def ended(code: int, *, reason: str = "Error", message: str = "", restarts: int = 0) -> Body:
    """The engine ended and was not started again yet."""
    state = {"terminated": termination(code, reason, message)}
    return {"restartCount": restarts, "state": state, "lastState": {}}


def crashed(code: int, *, times: int, reason: str = "Error", message: str = "") -> Body:
    """The engine ended `times` times, and the kubelet waits before it starts it again."""
    return {
        "restartCount": times - 1,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}},
        "lastState": {"terminated": termination(code, reason, message)},
    }


def waiting(reason: str, message: str = "") -> Body:
    """The engine was not started yet."""
    words = {"reason": reason} | ({"message": message} if message else {})
    return {"restartCount": 0, "state": {"waiting": words}, "lastState": {}}


def make_deployment(
    revision: str = "r1",
    *,
    replicas: int = 1,
    updated: int | None = None,
    available: int | None = None,
    total: int | None = None,
    seen: bool = True,
    mounted: Iterable[str] = (),
    refused: str | None = None,
    since: str = "2026-11-20T10:00:00Z",
) -> Body:
    """A Deployment, rolled out unless the numbers differ. `seen`: its controller knows its newest generation.

    mounted: folders at which the engine's container has volumes. refused: why no pod can be made of it, and since when.
    """
    engine = {"name": "kserve-container", "volumeMounts": [{"mountPath": each} for each in mounted]}
    labels = {OWNER_LABEL: NAME, REVISION_LABEL: revision, "app": f"isvc.{NAME}-predictor"}
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": refused}
    status: Body = {
        "conditions": [failure | {"lastTransitionTime": since}] if refused else [],
        "observedGeneration": 2 if seen else 1,
        "replicas": replicas if total is None else total,
        "updatedReplicas": replicas if updated is None else updated,
        "availableReplicas": replicas if available is None else available,
        "readyReplicas": replicas if available is None else available,
    }
    return {
        "metadata": {
            "name": f"{NAME}-predictor",
            "namespace": NAMESPACE,
            "generation": 2,
            "labels": {OWNER_LABEL: NAME},
        },
        "spec": {
            "replicas": replicas,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [engine]}},
        },
        "status": {key: value for key, value in status.items() if value},  # Kubernetes leaves zeros out
    }
