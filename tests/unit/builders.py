"""Builders of what the operator reads: a sis, counters, evidence, pods and Deployments as Kubernetes writes them."""

from collections.abc import Iterable
from typing import Any

from specdec_operator.api.guard import GuardMode
from specdec_operator.api.spec import Spec
from specdec_operator.control.report import Findings
from specdec_operator.guard.advance import Facts
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.judge import Thresholds
from specdec_operator.guard.state import Phase, Rollback, State
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.names import API_VERSION, KIND, OWNER_LABEL, REVISION_LABEL
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.plan import plan
from specdec_operator.serving.rollout import Progress, RolloutView
from specdec_operator.staging.kserve import KServe

Body = dict[str, Any]

NAME, NAMESPACE = "llama", "team-a"
STAGED = Arrival(status="True", reason="Staged", message="target at /mnt/target/model")
DRAFT: Body = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
GUARD: Body = {"interval": "2s", "window": "10s", "warmup": "4s", "failureLimit": 3, "minDraftTokens": 200}
"""A window is five looks."""


def make_sis(
    *,
    generation: int = 1,
    annotations: dict[str, str] | None = None,
    status: Body | None = None,
    speculation: Body | None = DRAFT,
    guard: Body | None = None,
    **spec: Any,
) -> Body:
    """A sis as the API server holds it."""
    asked = {} if speculation is None else {"speculation": speculation}
    meta = {"name": NAME, "namespace": NAMESPACE, "uid": "u-1", "generation": generation}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": meta | ({"annotations": annotations} if annotations else {}),
        "spec": {"model": {"uri": "pvc://models/target"}, **asked, "engine": {"accelerator": "cpu"}}
        | {"guard": GUARD | (guard or {})}
        | spec,
        "status": status or {},
    }


def make_spec(**changes: Any) -> Spec:
    """Its spec, parsed."""
    return Spec.model_validate(make_sis(**changes)["spec"])


def make_state(phase: Phase = Phase.WATCHING, **changes: Any) -> State:
    """A state whose last rollout, revision r1, is done."""
    known: Body = {"since": 0.0, "speculation": "s1", "revision": "r1", "wanted": "r1"}
    return State(phase=phase, **(known | changes))


def make_rollback(reason: str = "AcceptanceRateLow", at: float = 0.0, message: str = "acceptance 0.02") -> Rollback:
    """A decision against speculation."""
    return Rollback(reason=reason, message=message, at=at)


def view(progress: Progress = Progress.COMPLETE, reason: str = "RolloutComplete", **changes: Any) -> RolloutView:
    """How far a rollout is."""
    return RolloutView(progress=progress, reason=reason, **({"message": "1 pods serve", "serving": 1} | changes))


PROGRESSING = view(Progress.PROGRESSING, "RollingOut", message="0 of 1 pods of revision r2 are ready")
FAILED = view(Progress.FAILED, "CrashLoop", message="pod p ended 3 times", serving=0)
BLOCKED = view(Progress.BLOCKED, "DeploymentMissing", message="KServe has made no Deployment in 61 s", serving=0)

PASSED = Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message="acceptance 0.80")
LOW = Verdict(outcome=Outcome.FAIL, reason=Reason.ACCEPTANCE_RATE_LOW, message="acceptance 0.02 < 0.30")
IDLE = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.NO_TRAFFIC, message="no token generated in 10 s")


def facts(**changes: Any) -> Facts:
    """Facts of a turn in which nothing happens: rolled out, enforced, no window closed."""
    known: Body = {
        "speculating": True,
        "mode": GuardMode.ENFORCE,
        "warmup": 4.0,
        "failure_limit": 3,
        "revision": "r1",
        "rollout": view(),
        "verdict": None,
    }
    return Facts(**(known | changes))


def found(state: State, *, spec: Body | None = None, **changes: Any) -> Findings:
    """What a turn found out."""
    parsed = make_spec(**(spec or {}))
    known: Body = {
        "name": NAME,
        "generation": 1,
        "plan": plan(parsed, state, name=NAME),
        "rollout": view(),
        "revision": "r1",
        "url": None,
        "thresholds": limits(),
        "verdict": None,
        "evidence": None,
        "arrival": STAGED,
        "fetches": (),
        "kserve": KServe(version=(0, 20), seen="the controller is kserve/kserve-controller:v0.20.0"),
    }
    return Findings(state=state, **(known | changes))


def counters(drafts: float = 0, *, rate: float = 0.8, tokens: int = 4, **changes: Any) -> Counters:
    """The counters of an engine that drafted `tokens` tokens a step and had the share `rate` of them accepted."""
    accepted = drafts * tokens * rate
    known: Body = {
        "drafts": drafts,
        "draft_tokens": drafts * tokens,
        "accepted_tokens": accepted,
        "generation_tokens": drafts + accepted,
        "accepted_per_position": (drafts * rate,) * tokens,
        "started": 1.0e9,
        "speculative": True,
    }
    return Counters(**(known | changes))


def make_evidence(drafts: float = 500, *, rate: float = 0.8, tokens: int = 4, **changes: Any) -> Evidence:
    """The evidence of one pod over a clean window."""
    seen = counters(drafts, rate=rate, tokens=tokens)
    known: Body = {
        "seconds": 10.0,
        "drafts": seen.drafts,
        "draft_tokens": seen.draft_tokens,
        "accepted_tokens": seen.accepted_tokens,
        "generation_tokens": seen.generation_tokens,
        "accepted_per_position": seen.accepted_per_position,
        "speculative": True,
        "longest_gap": 2.0,
        "restarted": False,
        "pods": 1,
    }
    return Evidence(**(known | changes))


def limits(**changes: Any) -> Thresholds:
    """Thresholds: acceptance at least 0.30, 200 drafted tokens at least, gaps of 6 s at most, K=4."""
    known: Body = {
        "acceptance_rate": 0.3,
        "acceptance_length": None,
        "min_draft_tokens": 200,
        "always_drafts": True,
        "longest_gap": 6.0,
        "draft_length": 4,
    }
    return Thresholds(**(known | changes))


def make_pod(
    name: str = "llama-predictor-1",
    *,
    revision: str = "r1",
    ready: bool = True,
    engine: Body | None = None,
    unscheduled: str | None = None,
    deleting: bool = False,
    mounts: Iterable[Body] = (),
) -> Body:
    """A pod. `engine` is the container's status, from running(), ended(), waiting() or crashed()."""
    spec = {"containers": [{"name": "kserve-container", "volumeMounts": list(mounts)}]}
    meta: Body = {"name": name, "namespace": NAMESPACE, "labels": {OWNER_LABEL: NAME, REVISION_LABEL: revision}}
    if deleting:
        meta |= {"deletionTimestamp": "2026-11-20T10:00:00Z", "deletionGracePeriodSeconds": 30}
    if unscheduled is not None:
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": unscheduled}
        return {"metadata": meta, "spec": spec, "status": {"phase": "Pending", "conditions": [scheduled]}}
    return {
        "metadata": meta,
        "spec": spec,
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "True" if ready else "False"},
            ],
            "containerStatuses": [
                {"name": "sidecar", "restartCount": 9, "state": {"running": {}}},
                {"name": "kserve-container", "ready": ready, **(engine or running())},
            ],
        },
    }


def running(restarts: int = 0, before: Body | None = None) -> Body:
    """The engine runs; `before` is how it ended before that."""
    return {"restartCount": restarts, "state": {"running": {}}, "lastState": {"terminated": before} if before else {}}


def termination(code: int, reason: str = "Error", message: str = "") -> Body:
    """How a container ended."""
    return {"exitCode": code, "reason": reason} | ({"message": message} if message else {})


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
) -> Body:
    """A Deployment, rolled out unless the numbers say otherwise. `seen`: its controller knows its newest generation.

    mounted: folders at which the engine's container has volumes.
    """
    engine = {"name": "kserve-container", "volumeMounts": [{"mountPath": each} for each in mounted]}
    labels = {OWNER_LABEL: NAME, REVISION_LABEL: revision, "app": f"isvc.{NAME}-predictor"}
    status = {
        "observedGeneration": 2 if seen else 1,
        "replicas": replicas if total is None else total,
        "updatedReplicas": replicas if updated is None else updated,
        "availableReplicas": replicas if available is None else available,
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
