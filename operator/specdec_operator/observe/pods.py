"""The part of a pod and of a Deployment that the operator looks at."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from specdec_engine.out_of_memory import ran_out
from specdec_operator.names import DIAL_ANNOTATION, REVISION_LABEL

ENGINE_CONTAINER: Final = "kserve-container"
ENGINE_PORT: Final = 8080
_OURS: Final = re.compile(r"(^|\s)specdec_runtime(\s|$)")
MOST_DIAL: Final = 1000
"""Characters of a setting of the dial that are kept: any longer one is not the operator's."""
MOST_WORDS: Final = 400
"""Characters of others' words that are passed on: the status is kept small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerView:
    """One container of a pod.

    waiting: why it waits (CrashLoopBackOff, ErrImagePull, ...), with the kubelet's message. ends: how often it ended.
    exit_code, ended, message: of its last end. began: when it started before that end; when it started, if it never
    ended; epoch seconds. running: whether it runs now. started: whether its startup probe has passed since.
    ready: whether its readiness probe does now.
    """

    name: str
    running: bool = False
    waiting: str | None = None
    waiting_words: str = ""
    ends: int = 0
    exit_code: int | None = None
    ended: str | None = None
    message: str = ""
    began: float | None = None
    started: bool = False
    ready: bool = False

    @property
    def out_of_memory(self) -> bool:
        """Whether its last end was a lack of memory: the kernel killed it, or it failed with such a message."""
        return self.ended == "OOMKilled" or (bool(self.exit_code) and ran_out(self.message))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """One pod.

    engine: the container that serves. helpers: all others, which stage artifacts: init containers first.
    mounted: whether its volumes are mounted, so that containers can start once their images are pulled.
    pending: the cluster's message why the pod is not scheduled, and since when. ready_since: since when it is ready.
    Both times are epoch seconds. evicted: why the kubelet threw it out.
    folders: sub-paths of volumes that its engine has mounted. on_host: whether its address is that of its node.
    dial: the setting in its annotation; empty without one. dial_revision: what a setting must name to be followed;
    empty if the pod is known to have no dial. uid: its own.
    """

    name: str
    revision: str | None
    ip: str | None
    ready: bool
    deleting: bool
    engine: ContainerView = ContainerView(name=ENGINE_CONTAINER)
    helpers: tuple[ContainerView, ...] = ()
    mounted: bool = False
    pending: str | None = None
    pending_since: float | None = None
    ready_since: float | None = None
    evicted: str | None = None
    folders: frozenset[str] = frozenset()
    on_host: bool = False
    dial: str = ""
    dial_revision: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentView:
    """One Deployment. observed: whether its controller has seen its newest generation. replicas: pods that it asks for;
    total: that there are; ready: of these.

    mounted: folders of the engine's container at which a volume is mounted. refused: the API server's message why it
    makes no pod of it, and since when (epoch seconds); None: it does. prepared: whether its runtime starts the engine
    by specdec_runtime.
    """

    revision: str | None
    observed: bool
    replicas: int
    updated: int
    available: int
    total: int
    ready: int = 0
    mounted: frozenset[str] = frozenset()
    refused: str | None = None
    refused_since: float = 0.0
    prepared: bool = False


def pod_view(body: Mapping[str, Any], *, engine: str = ENGINE_CONTAINER) -> PodView:
    """A pod as far as the operator looks. engine: the name of the container that serves."""
    meta, status = body.get("metadata", {}), body.get("status", {})
    containers = [container_view(each) for each in status.get("containerStatuses", ())]
    initial = [container_view(each) for each in status.get("initContainerStatuses", ())]
    serves = next((each for each in containers if each.name == engine), ContainerView(name=engine))
    conditions = {c["type"]: c for c in status.get("conditions", ())}
    unscheduled = conditions.get("PodScheduled", {})
    revision = meta.get("labels", {}).get(REVISION_LABEL)
    return PodView(
        name=meta["name"],
        revision=revision,
        ip=status.get("podIP"),
        ready=conditions.get("Ready", {}).get("status") == "True",
        deleting="deletionTimestamp" in meta,
        engine=serves,
        helpers=(*initial, *(each for each in containers if each.name != engine)),
        mounted=conditions.get("PodReadyToStartContainers", {}).get("status") == "True",
        pending=unscheduled.get("message") if unscheduled.get("status") == "False" else None,
        pending_since=epoch(unscheduled.get("lastTransitionTime")),
        ready_since=epoch(conditions.get("Ready", {}).get("lastTransitionTime")),
        evicted=status.get("message", "") if status.get("reason") == "Evicted" else None,
        folders=frozenset(each["subPath"] for each in _mounts(body.get("spec", {})) if each.get("subPath")),
        on_host=bool(body.get("spec", {}).get("hostNetwork")) or status.get("podIP", "") == status.get("hostIP"),
        dial=(meta.get("annotations") or {}).get(DIAL_ANNOTATION, "")[:MOST_DIAL],
        dial_revision=revision or "",
        uid=str(meta.get("uid", "")),
    )


def epoch(text: str | None) -> float | None:
    """Epoch seconds of a time as Kubernetes writes it."""
    return datetime.fromisoformat(text).timestamp() if text else None


def serving_pods(pods: Iterable[PodView]) -> int:
    """How many answer requests."""
    return sum(pod.ready and not pod.deleting for pod in pods)


def spoken(text: str) -> Mapping[str, Any]:
    """What a program of ours left as JSON in its termination message or log; empty for the text of another program."""
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def container_view(status: Mapping[str, Any]) -> ContainerView:
    """One entry of containerStatuses or initContainerStatuses."""
    now, before = status.get("state", {}), status.get("lastState", {})
    ended = now.get("terminated") or before.get("terminated") or {}
    return ContainerView(
        name=status.get("name", ""),
        running="running" in now,
        waiting=now.get("waiting", {}).get("reason"),
        waiting_words=now.get("waiting", {}).get("message", ""),
        ends=status.get("restartCount", 0) + (1 if ended and "running" not in now else 0),
        exit_code=ended.get("exitCode"),
        ended=ended.get("reason"),
        message=ended.get("message", ""),
        began=epoch((ended or now.get("running", {})).get("startedAt")),
        started=bool(status.get("started")),
        ready=bool(status.get("ready")),
    )


def deployment_view(body: Mapping[str, Any]) -> DeploymentView:
    """A Deployment as far as the operator looks."""
    spec, status = body.get("spec", {}), body.get("status", {})
    template = spec.get("template", {})
    labels = template.get("metadata", {}).get("labels", {})
    failure = _creation_failure(status)
    return DeploymentView(
        revision=labels.get(REVISION_LABEL),
        observed=status.get("observedGeneration", 0) >= body.get("metadata", {}).get("generation", 1),
        replicas=spec.get("replicas", 1),
        updated=status.get("updatedReplicas", 0),
        available=status.get("availableReplicas", 0),
        total=status.get("replicas", 0),
        ready=status.get("readyReplicas", 0),
        mounted=frozenset(each["mountPath"] for each in _mounts(template.get("spec", {}))),
        refused=failure.get("message"),
        refused_since=epoch(failure.get("lastTransitionTime")) or 0.0,
        prepared=any(_OURS.search(str(word)) for word in _command(template.get("spec", {}))),
    )


def _creation_failure(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The condition for pods that cannot be made; empty if they can."""
    failed = (each for each in status.get("conditions") or () if each.get("type") == "ReplicaFailure")
    found = next((each for each in failed if each.get("status") == "True"), None)
    return found if found and found.get("reason") == "FailedCreate" else {}


def _command(pod: Mapping[str, Any]) -> Iterator[Any]:
    """The command line of the engine's container."""
    for container in pod.get("containers", ()):
        if container.get("name") == ENGINE_CONTAINER:
            yield from (*(container.get("command") or ()), *(container.get("args") or ()))


def _mounts(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The volume mounts of the engine's container."""
    for container in pod.get("containers", ()):
        if container.get("name") == ENGINE_CONTAINER:
            yield from container.get("volumeMounts", ())
