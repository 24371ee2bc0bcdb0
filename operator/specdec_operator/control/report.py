"""What is told in the status of a sis. Pure; the loop writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.api import status as api
from specdec_operator.control.conditions import ABOUT_SPECULATION, merged, wanted_conditions
from specdec_operator.control.durable import guard_fields, to_time
from specdec_operator.downloads.waiting import Fetch
from specdec_operator.engine.asked import path_of
from specdec_operator.engine.memory.plan import MemoryPlan
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.judge import Thresholds
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Verdict
from specdec_operator.names import KSERVE_GROUP
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.plan import Plan
from specdec_operator.serving.rollout import RolloutView
from specdec_operator.staging.kserve import KServe

_TURNS_KEPT: Final = 10
_TURN_WORDS: Final = 200
_WARNING_WORDS: Final = 1000
_RATE_STEP: Final = 0.02
_RATE_EVERY: Final = 60.0
_PROGRESS_EVERY: Final = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that one turn found out."""

    name: str
    generation: int
    state: State
    plan: Plan
    rollout: RolloutView
    arrival: Arrival
    fetches: tuple[Fetch, ...]
    kserve: KServe
    revision: str
    url: str | None
    thresholds: Thresholds | None
    verdict: Verdict | None
    evidence: Evidence | None


def status_of(found: Findings, before: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The status to write. What this turn has not measured is kept from the status before."""
    state, stamp = found.state, to_time(now)
    asked = found.plan.spec.speculation is not None
    same_subject = before.get("guard", {}).get("speculation") == state.speculation
    wanted = wanted_conditions(
        state,
        found.rollout,
        found.arrival,
        speculating=asked,
        verdict=found.verdict,
        evidence=found.evidence,
        warning=warning_of(found),
        memory=found.plan.memory,
    )
    old = tuple(c for c in before.get("conditions", ()) if same_subject or c["type"] not in ABOUT_SPECULATION)
    reason, message = why(found, before if same_subject else {})
    status = api.Status(
        observed_generation=found.generation,
        phase=state.phase.value,
        reason=reason,
        message=message,
        conditions=merged(wanted, old, now=stamp, generation=found.generation),
        serving=_serving(found),
        acceptance=_acceptance(found.evidence) or (_kept_acceptance(before) if same_subject else None),
        memory=_memory(found.plan.memory),
        kserve=_kserve(found.kserve),
        artifacts=[_artifact(each) for each in found.fetches] or None,
        guard=api.GuardStatus.model_validate(guard_fields(state) | _judged(found, before if same_subject else {})),
        history=_history(found, before, stamp),
    )
    return status.as_manifest()


def why(found: Findings, before: Mapping[str, Any]) -> tuple[str, str]:
    """Why the sis is in its phase: the decision, or else the newest verdict, or else the rollout."""
    state, rollout = found.state, found.rollout
    if state.phase in (Phase.RESPONDING, Phase.ROLLED_BACK) and state.rollback is not None:
        return state.rollback.reason, state.rollback.message
    if state.phase in (Phase.WATCHING, Phase.WARMING_UP) and found.verdict is not None:
        return found.verdict.reason.value, found.verdict.message
    if (
        state.phase is Phase.WATCHING and before.get("phase") == Phase.WATCHING
    ):  # a restarted operator has no verdict yet
        return before["reason"], before["message"]
    return rollout.reason, rollout.message


def _serving(found: Findings) -> api.Serving:
    speculation = found.plan.speculation
    return api.Serving(
        speculating=speculation is not None,
        method=speculation.method.value if speculation else "none",
        tokens=found.plan.tokens,
        revision=found.revision,
        inference_service=f"inferenceservices.{KSERVE_GROUP}/{found.name}",
        url=found.url,
    )


def _acceptance(evidence: Evidence | None) -> api.Acceptance | None:
    if evidence is None or evidence.acceptance_rate is None or evidence.acceptance_length is None:
        return None
    return api.Acceptance(
        rate=round(evidence.acceptance_rate, 2),
        length=round(evidence.acceptance_length, 2),
        drafts=round(evidence.drafts),
        draft_tokens=round(evidence.draft_tokens),
        per_position=[round(value / evidence.drafts, 2) for value in evidence.accepted_per_position],
        window_seconds=round(evidence.seconds, 1),
        pods=evidence.pods,
    )


def _memory(plan: MemoryPlan) -> api.MemoryStatus | None:
    """Nothing where nothing is planned: the engine's own default stands, and a sentence about it is no news."""
    if plan.fits is None and plan.lowered_by <= 0:
        return None
    return api.MemoryStatus(
        utilization=plan.utilization,
        lowered_by=round(plan.lowered_by, 4),
        because=plan.because,
        draft_weights=plan.draft_weights,
        kv_price=plan.kv_price,
        kv_tokens_predicted=plan.kv_tokens,
    )


def _artifact(fetch: Fetch) -> api.Artifact:
    progress = fetch.progress
    return api.Artifact(
        name=fetch.download.name,
        uri=fetch.download.uri,
        folder=fetch.download.key,
        state=fetch.view.stand.value,
        attempt=fetch.view.attempt,
        bytes=progress.bytes if progress else None,
    )


def _kserve(kserve: KServe) -> api.KServeStatus:
    return api.KServeStatus(version=".".join(map(str, kserve.version)) if kserve.version else None, seen=kserve.seen)


def _kept_acceptance(before: Mapping[str, Any]) -> api.Acceptance | None:
    kept = before.get("acceptance")
    return api.Acceptance.model_validate(kept) if kept else None


def _judged(found: Findings, before: Mapping[str, Any]) -> dict[str, Any]:
    limits = found.thresholds
    thresholds = limits and api.Thresholds(
        acceptance_rate=limits.acceptance_rate,
        acceptance_length=limits.acceptance_length,
        min_draft_tokens=limits.min_draft_tokens,
    )
    if (verdict := found.verdict) is not None:
        said = {"verdict": verdict.outcome.value, "reason": verdict.reason.value, "message": verdict.message}
    else:
        said = {key: before.get("guard", {}).get(key) for key in ("verdict", "reason", "message")}
    return {**said, "thresholds": thresholds}


def _history(found: Findings, before: Mapping[str, Any], stamp: str) -> list[api.Turn]:
    turns = [api.Turn.model_validate(turn) for turn in before.get("history", ())]
    phase = found.state.phase.value
    if turns and turns[0].state == phase and before.get("guard", {}).get("since") == to_time(found.state.since):
        return turns
    reason, message = why(found, before)
    return [api.Turn(at=stamp, state=phase, reason=reason, message=message[:_TURN_WORDS]), *turns][:_TURNS_KEPT]


def is_material(status: Mapping[str, Any], written: Mapping[str, Any] | None, *, since_written: float) -> bool:
    """Whether a status is worth a write: a decision moved, or the acceptance did and the last write is a minute old."""
    if written is None or _decisions(status) != _decisions(written):
        return True
    if since_written >= _PROGRESS_EVERY and status.get("artifacts") != written.get("artifacts"):
        return True
    rate, old = _rate(status), _rate(written)
    return since_written >= _RATE_EVERY and abs(rate - old) > _RATE_STEP


def _rate(status: Mapping[str, Any]) -> float:
    return float(status.get("acceptance", {}).get("rate", 0.0))


def _decisions(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without the numbers that move all the time."""
    guard = {key: value for key, value in status.get("guard", {}).items() if key != "message"}
    conditions = [(c["type"], c["status"], c["reason"]) for c in status.get("conditions", ())]
    fixed = {key: status.get(key) for key in ("observedGeneration", "phase", "reason", "serving", "memory", "kserve")}
    artifacts = [(each["name"], each["folder"], each["state"], each["attempt"]) for each in status.get("artifacts", ())]
    return {
        **fixed,
        "artifacts": artifacts,
        "guard": guard,
        "conditions": conditions,
        "measured": "acceptance" in status,
    }


def warning_of(found: Findings) -> str:
    """What the engine's rules warn of, in one line; empty where they do not."""
    said = [f"{path_of(each.field)}: {each.message} ({each.rule.id})" for each in found.plan.warnings]
    return "; ".join(said)[:_WARNING_WORDS]
