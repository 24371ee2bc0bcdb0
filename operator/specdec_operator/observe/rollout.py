"""How far a rollout is, read from the Deployment and its pods.

Never from the InferenceService: its Ready stays True while the new pods crash, and its observedGeneration is the
Deployment's (tests/kserve/test_controller.py).
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from specdec_engine import exit_codes
from specdec_engine.out_of_memory import OUT_OF_MEMORY
from specdec_operator.observe.artifacts import is_staging, staging_words, trouble_of
from specdec_operator.observe.inference_service import KServeError
from specdec_operator.observe.obstacle import Obstacle, find_obstacle, pending_words
from specdec_operator.observe.pods import MOST_WORDS, DeploymentView, PodView, serving_pods, spoken

_CRASHES: Final = 3
"""Ends of one container after which it is taken to crash for good."""


class Progress(StrEnum):
    """Where the rollout of the wanted revision stands."""

    PROGRESSING = "Progressing"
    COMPLETE = "Complete"
    FAILED = "Failed"
    """Its pods do not come up."""
    BLOCKED = "Blocked"
    """No pod could start its engine: that shows nothing about what it was to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutView:
    """A rollout, with its reason and one sentence. serving: pods of any revision that answer.

    obstacle: what keeps the cluster from making or placing its pods. crowded: whether pods of another revision are
    there and none of this one is on its way: only if they go can it go on.
    kserve_refuses: whether KServe cannot make the Deployment; `message` has the fix.
    out_of_memory: the message of a pod that ran out of memory before it was up; empty if none did.
    """

    progress: Progress
    reason: str
    message: str
    serving: int
    obstacle: Obstacle | None = None
    crowded: bool = False
    kserve_refuses: bool = False
    out_of_memory: str = ""


def view_rollout(
    revision: str,
    deployment: DeploymentView | None,
    pods: tuple[PodView, ...],
    *,
    since: float,
    now: float,
    deadline: float,
    kserve_error: KServeError | None = None,
    least: int | None = None,
) -> RolloutView:
    """The state of the rollout of `revision`.

    since: its last progress, epoch seconds; deadline: seconds until the next. They begin again when an engine starts.
    kserve_error: what is known to keep KServe from making its Deployment. least: pods that an autoscaler leaves at
    least; None: there is none, and all that are asked for have to be there.
    """
    serving, waited = serving_pods(pods), now - since
    if kserve_error is not None and (deployment is None or deployment.revision != revision):
        progress = Progress.PROGRESSING if waited <= deadline else Progress.BLOCKED
        return replace(_view(progress, kserve_error.reason, kserve_error.message, serving), kserve_refuses=True)
    if deployment is None:
        return _without_deployment(waited, deadline, serving)
    current = pods_of(revision, pods)
    if deployment.revision == revision and least is not None and asleep(deployment):
        return _view(Progress.PROGRESSING, "ScaledToZero", "the autoscaler currently requests 0 pods", serving)
    if deployment.revision == revision and _complete(deployment, least):
        message = f"{deployment.available} pods serve revision {revision}"
        return _view(Progress.COMPLETE, "RolloutComplete", message, serving)
    failures = (failure for pod in current if (failure := _failure(pod)))
    failure = next(failures, None)
    if failure is None:
        waited = now - max(since, min(_engine_since(current), now))
        rollout = _on_its_way(revision, deployment, pods, waited, deadline)
    else:
        rollout = _view(Progress.FAILED, *failure, serving)
    return replace(rollout, out_of_memory=next(filter(None, map(_lack_of_memory, current)), ""))


def pods_of(revision: str, pods: tuple[PodView, ...]) -> tuple[PodView, ...]:
    """The pods of a revision that stay."""
    return tuple(pod for pod in pods if pod.revision == revision and not pod.deleting)


def _on_its_way(
    revision: str, deployment: DeploymentView, pods: tuple[PodView, ...], waited: float, deadline: float
) -> RolloutView:
    """A rollout that is not done and has not failed by itself."""
    current, serving = pods_of(revision, pods), serving_pods(pods)
    asked = deployment.observed and deployment.revision == revision  # else it is about the pods before
    obstacle = find_obstacle(deployment if asked else None, current)
    coming = _coming(current)
    reason, trouble = (obstacle.reason, f"; {obstacle.words}") if obstacle else _trouble(current)
    if waited <= deadline:
        ready = sum(pod.ready for pod in current)
        message = f"{ready} of {deployment.replicas} pods of revision {revision} are ready{trouble}"
        crowded = not coming and any(pod.revision != revision and not pod.deleting for pod in pods)
        return replace(_view(Progress.PROGRESSING, reason, message, serving), obstacle=obstacle, crowded=crowded)
    message = f"no pod became ready for {waited:.0f} s; the deadline is {deadline:.0f} s{trouble}"
    if coming and all(map(is_staging, coming)):
        words = staging_words(coming) or f"pod {coming[0].name} pulls its images"
        return _view(Progress.BLOCKED, "Staging", f"{message}; {words}", serving)
    if obstacle is None or coming:
        return _view(Progress.FAILED, "DeadlineExceeded", message, serving)
    return replace(_view(Progress.BLOCKED, reason, message, serving), obstacle=obstacle)


def _coming(current: tuple[PodView, ...]) -> tuple[PodView, ...]:
    """Those that are placed and not ready."""
    return tuple(pod for pod in current if not pod.ready and not pod.pending)


def _engine_since(current: tuple[PodView, ...]) -> float:
    """Since when the first of them runs its engine, epoch seconds; 0: none does, or it is not known."""
    return min((pod.engine.began for pod in _coming(current) if pod.engine.began is not None), default=0.0)


def waiting_rollout(words: str, pods: tuple[PodView, ...], *, reason: str = "WaitingForTurn") -> RolloutView:
    """A rollout that has not begun, because others come first, or nothing is written yet: it has no deadline."""
    return _view(Progress.PROGRESSING, reason, words, serving_pods(pods))


def _without_deployment(waited: float, deadline: float, serving: int) -> RolloutView:
    if waited <= deadline:
        return _view(Progress.PROGRESSING, "DeploymentMissing", "KServe has not created the Deployment yet", serving)
    see = "check whether the KServe controller runs, and see `kubectl describe isvc`"
    message = f"KServe has not created the Deployment after {waited:.0f} s: {see}"
    return _view(Progress.BLOCKED, "DeploymentMissing", message, serving)


def asleep(deployment: DeploymentView | None) -> bool:
    """Whether no pod is asked for."""
    return deployment is not None and deployment.replicas == 0


def _complete(deployment: DeploymentView, least: int | None) -> bool:
    """Whether no pod of before is left and the requested ones serve. Of an autoscaler's, the least number is enough:
    those beyond it may find no room for as long as the load lasts, and that is not the fault of a pod.
    """
    if least is None:
        whole = deployment.updated == deployment.total == deployment.replicas
        return deployment.observed and whole and deployment.available >= deployment.replicas
    enough = min(deployment.replicas, max(1, least))
    return deployment.observed and deployment.updated == deployment.total and deployment.available >= enough


def _failure(pod: PodView) -> tuple[str, str] | None:
    """Why this pod will never serve, in a word and a sentence; None while it still may."""
    if not pod.ready and any(each.ends >= _CRASHES and each.exit_code for each in pod.helpers):
        return trouble_of(pod)
    if pod.ready or pod.engine.exit_code is None:
        return None
    if pod.engine.exit_code == exit_codes.REFUSED:
        return "PreflightRefused", refusal_words(pod.engine.message)
    if pod.engine.ends < _CRASHES:
        return None
    return OUT_OF_MEMORY if pod.engine.out_of_memory else "CrashLoop", _how_it_ended(pod)


def _lack_of_memory(pod: PodView) -> str:
    """How this pod ran out of memory as it started, at its first try or a later one; empty where it did not."""
    return _how_it_ended(pod) if not pod.ready and pod.engine.out_of_memory else ""


def _how_it_ended(pod: PodView) -> str:
    engine = pod.engine
    said = f": {words}" if (words := _last_words(engine.message)) else ""
    killed = " (OOMKilled)" if engine.ended == "OOMKilled" else ""
    return f"pod {pod.name} ended {engine.ends} times, last with exit code {engine.exit_code}{killed}{said}"


def _last_words(message: str) -> str:
    """Why an engine ended: the runtime's sentence out of its JSON line, else the last line of the log."""
    *_, last = message.strip().splitlines() or [""]
    return str(spoken(last).get("message", last))[:MOST_WORDS]


def refusal_words(message: str) -> str:
    """The preflight's sentence out of its JSON line; the raw text if it is not JSON."""
    said = spoken(message)
    if said.keys() >= {"reason", "message"}:
        return f"{said['reason']}: {said['message']}"[:MOST_WORDS]
    return message.strip()[:MOST_WORDS] or "the preflight rejected the start without a message"


def _trouble(pods: tuple[PodView, ...]) -> tuple[str, str]:
    """What keeps the pods from starting: a reason of its own, so that a change of it is reported, and a message."""
    for pod in pods:
        if staging := trouble_of(pod):
            return staging[0], f"; {staging[1]}"
        if pod.pending:
            return "Unschedulable", f"; pod {pod.name} is not scheduled: {pending_words(pod.pending)}"
        waiting, words = pod.engine.waiting, pod.engine.waiting_words[:MOST_WORDS]
        if waiting and waiting not in {"ContainerCreating", "PodInitializing"}:
            reason = "ImagePull" if waiting in {"ErrImagePull", "ImagePullBackOff"} else waiting
            return reason, f"; pod {pod.name} waits: {waiting} {words}".rstrip()
    return "RollingOut", ""


def _view(progress: Progress, reason: str, message: str, serving: int) -> RolloutView:
    return RolloutView(progress=progress, reason=reason, message=message, serving=serving)
