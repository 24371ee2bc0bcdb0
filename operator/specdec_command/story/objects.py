"""Deployments and pods as KServe and the kubelet write them, as far as the operator looks."""

from collections.abc import Mapping
from typing import Any, Final

from specdec_operator.api.times import to_time
from specdec_operator.names import OWNER_LABEL, REVISION_LABEL
from specdec_operator.observe.pods import ENGINE_CONTAINER
from specdec_operator.observe.store import predictor_name

Body = dict[str, Any]
_HASH: Final = "7d9f8c6b5"


def predictor(child: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of an InferenceService that asks for pods."""
    found: Mapping[str, Any] = child["spec"]["predictor"]
    return found


def revision_of(child: Mapping[str, Any]) -> str:
    """The revision of the pods that an InferenceService asks for."""
    return str(predictor(child)["labels"][REVISION_LABEL])


def speculative_flag(child: Mapping[str, Any]) -> str:
    """The flag by which the engine speculates; empty without one."""
    args = predictor(child)["model"].get("args", ())
    return next((each for each in args if each.startswith("--speculative-config")), "")


def deployment(child: Mapping[str, Any], *, total: int, updated: int, available: int) -> Body:
    """The Deployment of an InferenceService for one pod. total: pods of every revision; available: that are ready."""
    meta, labels = child["metadata"], {REVISION_LABEL: revision_of(child)}
    mounts = predictor(child)["model"].get("volumeMounts", ())
    owned = {OWNER_LABEL: meta["name"]}
    template = {"metadata": {"labels": owned | labels}, "spec": {"containers": [_engine(mounts)]}}
    counts = {"replicas": total, "updatedReplicas": updated, "availableReplicas": available, "readyReplicas": available}
    return {
        "metadata": {
            "name": predictor_name(meta["name"]),
            "namespace": meta["namespace"],
            "generation": 1,
            "labels": owned,
        },
        "spec": {"replicas": 1, "template": template},
        "status": {"observedGeneration": 1, **counts},
    }


def pod(child: Mapping[str, Any], name: str, *, ready_since: float | None) -> Body:
    """A pod of an InferenceService. ready_since: epoch seconds; None: its engine loads the models."""
    meta, ready = child["metadata"], ready_since is not None
    since = {"lastTransitionTime": to_time(ready_since)} if ready_since is not None else {}
    conditions = [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": str(ready), **since},
    ]
    status = {"name": ENGINE_CONTAINER, "ready": ready, "started": ready, "restartCount": 0, "state": {"running": {}}}
    return {
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": {OWNER_LABEL: meta["name"], REVISION_LABEL: revision_of(child)},
            "ownerReferences": [
                {"kind": "ReplicaSet", "name": f"{predictor_name(meta['name'])}-{_HASH}", "controller": True}
            ],
        },
        "spec": {"containers": [_engine(predictor(child)["model"].get("volumeMounts", ()))]},
        "status": {"phase": "Running", "podIP": "10.0.0.7", "conditions": conditions, "containerStatuses": [status]},
    }


def _engine(mounts: Any) -> Body:
    return {"name": ENGINE_CONTAINER, "volumeMounts": list(mounts)}
