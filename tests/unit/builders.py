"""Builders of what the operator reads and decides on: a sis, states, facts, counters, evidence."""

import json
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from specdec_operator.api.guard import GuardMode
from specdec_operator.api.spec import Spec
from specdec_operator.guard.baseline import BaselineSpeed, Comparison
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.decisions import DryRunAction, KnownGood, Lowering, PodFailure, Reduction, Rollback
from specdec_operator.guard.gain import DipGain
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Policy, Thresholds
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import TokenTime
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.window import Evidence, FailingRun
from specdec_operator.names import API_VERSION, KIND
from specdec_operator.observe.artifacts import ArtifactsStatus
from specdec_operator.observe.obstacle import Obstacle
from specdec_operator.observe.rollout import Progress, RolloutView
from specdec_operator.render.plan import plan
from specdec_operator.report.conditions import Findings
from specdec_operator.staging.kserve import KServe

Body = dict[str, Any]

NAME, NAMESPACE = "llama", "team-a"
STAGED = ArtifactsStatus(status="True", reason="Staged", message="target at /mnt/target/model")
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
    served = {"model": {"uri": "pvc://models/target"}, "speculation": speculation, "engine": {"accelerator": "cpu"}}
    served |= {"guard": GUARD | (guard or {})}
    meta = {"name": NAME, "namespace": NAMESPACE, "uid": "u-1", "generation": generation}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": meta | ({"annotations": annotations} if annotations else {}),
        "spec": {name: part for name, part in (served | spec).items() if part is not None},
        "status": status or {},
    }


def make_spec(**changes: Any) -> Spec:
    """Its spec, parsed."""
    return Spec.model_validate(make_sis(**changes)["spec"])


BASE, OUT, WARM, WATCH, DIALLED, RESPOND, BACK, STALLED, SERVE = (
    Phase.MEASURING_BASELINE,
    Phase.ROLLING_OUT,
    Phase.WARMING_UP,
    Phase.WATCHING,
    Phase.DIALLED,
    Phase.RESPONDING,
    Phase.ROLLED_BACK,
    Phase.STALLED,
    Phase.SERVING,
)


def make_state(phase: Phase = Phase.WATCHING, **changes: Any) -> State:
    """A state whose last rollout, revision r1, is done."""
    known: Body = {"since": 0.0, "speculation": "s1", "revision": "r1", "wanted": "r1"}
    return State(phase=phase, **(known | changes))


_STATE = TypeAdapter(State)
"""Made once: the schema of a state takes 60 ms."""


def status_with(state: State) -> Body:
    """A status that keeps a state, as it lies in the API server: JSON."""
    guard = _STATE.dump_python(state, mode="json", by_alias=True, exclude_none=True)
    kept: Body = json.loads(json.dumps({"guard": guard}))
    return kept


def make_failure(pod: str = "p", ends: int = 1, at: float = 0.0, **changes: Any) -> PodFailure:
    """The engine of a pod was killed for its memory."""
    known: Body = {"reason": "OutOfMemory", "message": f"its engine ended {ends} times"}
    return PodFailure(pod=pod, ends=ends, at=at, **(known | changes))


def make_rollback(
    reason: str = "AcceptanceRateLow",
    at: float = 0.0,
    message: str = "acceptance 0.02",
    good: KnownGood | None = None,
    *,
    pending: bool = False,
) -> Rollback:
    """A decision against speculation. pending: whether its pods do not serve yet."""
    return Rollback(reason=reason, message=message, at=at, good=good, pending=pending)


def make_good(tokens: int = 2, **changes: Any) -> KnownGood:
    """Another speculation that once passed: n-gram."""
    block = json.dumps({"method": "ngram", "tokens": tokens}, separators=(",", ":"))
    known: Body = {"block": block, "digest": f"d{tokens}", "of": "s0", "tokens": tokens, "rate": 0.6, "at": 1.0}
    return KnownGood(**(known | changes))


def make_reduction(tokens: int = 2, at: float = 0.0) -> Reduction:
    """A decision for fewer tokens."""
    return Reduction(reason="AcceptanceRateLow", message="acceptance 0.25 < 0.30", at=at, tokens=tokens)


def make_lowering(steps: int = 1, at: float = 0.0) -> Lowering:
    """A decision for less memory."""
    return Lowering(reason="OutOfMemory", message="pod p ended 1 times (OOMKilled)", at=at, steps=steps)


def make_dry_run(action: str = "RollBack", at: float = 0.0) -> DryRunAction:
    """What a guard that may not act would do."""
    return DryRunAction(action=action, reason="AcceptanceRateLow", message="acceptance 0.02 < 0.30", at=at)


def times(*seconds: float, requests: float = 10) -> RatioSums:
    """Blocks of time in each of which `requests` requests ended, with their mean time per output token in seconds."""
    moments = RatioSums()
    for each in seconds:
        moments = moments.plus(each * requests, requests)
    return moments


def pace(*seconds: float, requests: float = 10) -> TokenTime:
    """The same as a pace: blocks of 2 s, each request of 32 tokens."""
    number = len(seconds)
    moments = times(*seconds, requests=requests)
    return TokenTime(times=moments, requests=requests * number, tokens=32 * requests * number, seconds=2 * number)


def make_baseline(load: int = 1, *seconds: float, blocks: int = 8, requests: float = 10) -> BaselineSpeed:
    """The baseline at a load: known, all its blocks at 0.02 s unless `seconds` gives each its own."""
    return BaselineSpeed(load=load, token_time=pace(*(seconds or (0.02,) * blocks), requests=requests))


def view(progress: Progress = Progress.COMPLETE, reason: str = "RolloutComplete", **changes: Any) -> RolloutView:
    """How far a rollout is."""
    return RolloutView(progress=progress, reason=reason, **({"message": "1 pods serve", "serving": 1} | changes))


NO_ROOM: Body = {
    "obstacle": Obstacle(reason="Unschedulable", words="pod new is not scheduled", since=0.0, frees=True),
    "crowded": True,
}
"""What stops a rollout that has no room, since the beginning."""
PROGRESSING = view(Progress.PROGRESSING, "RollingOut", message="0 of 1 pods of revision r2 are ready")
FAILED = view(Progress.FAILED, "CrashLoop", message="pod p ended 3 times", serving=0)
BLOCKED = view(Progress.BLOCKED, "DeploymentMissing", message="KServe has made no Deployment in 61 s", serving=0)

PASSED = Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message="acceptance 0.80")
LOW = Verdict(outcome=Outcome.FAIL, reason=Reason.ACCEPTANCE_RATE_LOW, message="acceptance 0.02 < 0.30")
UNREAD = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.SCRAPE_FAILED, message="no metrics for 60 s of 120 s")
IDLE = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.NO_TRAFFIC, message="no token generated in 10 s")


def policy(**changes: Any) -> Policy:
    """A guard that enforces, with a warm-up of 4 s, and that three windows convince."""
    known: Body = {"mode": GuardMode.ENFORCE, "warmup": 4.0, "failure_limit": 3}
    return Policy(**(known | changes))


def facts(**changes: Any) -> Observation:
    """Facts of a turn in which nothing happens: rolled out, enforced, no window closed.

    What is a field of the policy changes the policy.
    """
    asked = {each.name: changes.pop(each.name) for each in fields(Policy) if each.name in changes}
    known: Body = {
        "subject": "s1",
        "policy": policy(**asked),
        "speculating": True,
        "revision": "r1",
        "rollout": view(),
    }
    return Observation(**(known | changes))


def make_comparison(speedup: float = 1.5, **changes: Any) -> Comparison:
    """How a window compares with plain, which took 0.02 s per output token."""
    known: Body = {
        "low": speedup - 0.1,
        "high": speedup + 0.1,
        "share": 1.0,
        "baseline": 0.02,
        "seconds": 0.02 / speedup,
    }
    return Comparison(speedup=speedup, **(known | changes))


def make_gain(high: float = 1.2, **changes: Any) -> DipGain:
    """What dips show: two tokens a step, and a step without the draft takes half as long."""
    known: Body = {"gain": 1.0, "ratio": 0.5, "length": 2.0, "share": 1.0, "dips": 40, "seconds": 720.0}
    return DipGain(high=high, **(known | changes))


def judged(verdict: Verdict = PASSED, evidence: Evidence | None = None, **changes: Any) -> Judged:
    """A closed window."""
    known: Body = {"comparison": None, "row": FailingRun()}
    return Judged(verdict=verdict, evidence=evidence or make_evidence(), **(known | changes))


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
        "policy": policy(),
        "thresholds": limits(),
        "judged": None,
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
        "timed_tokens": changes.get("requests", 0.0),
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
    known |= {"decode_tokens": changes.get("generation_tokens", seen.generation_tokens)}
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
