"""The part of a pod and of a Deployment that the operator looks at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.names import REVISION_LABEL

ENGINE_CONTAINER: Final = "kserve-container"
ENGINE_PORT: Final = 8080


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """One pod. waiting, ends, exit_code, ended and message are the engine container's.

    waiting: why it waits (CrashLoopBackOff, ErrImagePull, ...), with the kubelet's words. ends: how often it ended.
    exit_code, ended, message: of its last end.
    pending: why the pod is not scheduled or started, as the cluster says.
    """

    name: str
    revision: str | None
    ip: str | None
    ready: bool
    deleting: bool
    waiting: str | None = None
    waiting_words: str = ""
    ends: int = 0
    exit_code: int | None = None
    ended: str | None = None
    message: str = ""
    pending: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentView:
    """One Deployment. observed: whether its controller has seen its newest generation."""

    revision: str | None
    observed: bool
    replicas: int
    updated: int
    available: int
    total: int


def pod_view(body: Mapping[str, Any]) -> PodView:
    """A pod as far as the operator looks."""
    meta, status = body.get("metadata", {}), body.get("status", {})
    engine: Mapping[str, Any] = next(
        (s for s in status.get("containerStatuses", ()) if s.get("name") == ENGINE_CONTAINER), {}
    )
    now, before = engine.get("state", {}), engine.get("lastState", {})
    ended = now.get("terminated") or before.get("terminated") or {}
    conditions = {c["type"]: c for c in status.get("conditions", ())}
    unscheduled = conditions.get("PodScheduled", {})
    return PodView(
        name=meta["name"],
        revision=meta.get("labels", {}).get(REVISION_LABEL),
        ip=status.get("podIP"),
        ready=conditions.get("Ready", {}).get("status") == "True",
        deleting="deletionTimestamp" in meta,
        waiting=now.get("waiting", {}).get("reason"),
        waiting_words=now.get("waiting", {}).get("message", ""),
        ends=engine.get("restartCount", 0) + (1 if ended and "running" not in now else 0),
        exit_code=ended.get("exitCode"),
        ended=ended.get("reason"),
        message=ended.get("message", ""),
        pending=unscheduled.get("message") if unscheduled.get("status") == "False" else None,
    )


def deployment_view(body: Mapping[str, Any]) -> DeploymentView:
    """A Deployment as far as the operator looks."""
    spec, status = body.get("spec", {}), body.get("status", {})
    labels = spec.get("template", {}).get("metadata", {}).get("labels", {})
    return DeploymentView(
        revision=labels.get(REVISION_LABEL),
        observed=status.get("observedGeneration", 0) >= body.get("metadata", {}).get("generation", 1),
        replicas=spec.get("replicas", 1),
        updated=status.get("updatedReplicas", 0),
        available=status.get("availableReplicas", 0),
        total=status.get("replicas", 0),
    )
