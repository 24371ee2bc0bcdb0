"""The status of a service: of one that is followed, and of one whose spec cannot be. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_engine.accelerators import Accelerator
from specdec_operator.api.conditions import ConditionType
from specdec_operator.api.times import to_time
from specdec_operator.downloads.job_status import DownloadStatus
from specdec_operator.engine.translate import path_of
from specdec_operator.errors import Invalid
from specdec_operator.guard.dial import DialView
from specdec_operator.guard.state import Phase
from specdec_operator.guard.verdict import Reason
from specdec_operator.names import KSERVE_GROUP
from specdec_operator.report.conditions import ABOUT_SPECULATION, Findings, Wanted, merged, wanted_conditions
from specdec_operator.report.facts_codec import facts_status
from specdec_operator.report.guard_status import acceptance_of, guard_status_of, performance_of
from specdec_operator.report.kv_measured import Measured, measured
from specdec_operator.report.scaling import counted, needed
from specdec_operator.schema import status as api
from specdec_operator.staging.kserve import shown

_MOST_HISTORY: Final = 10
_HISTORY_WORDS: Final = 200
_WARNING_WORDS: Final = 1000
_A_DAY: Final = 86400.0


def status_of(found: Findings, before: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The status to write. What this reconcile has not measured is kept from the status before."""
    state, stamp, version = found.state, to_time(now), found.kserve.version
    asked = found.plan.spec.speculation is not None
    same_subject = before.get("guard", {}).get("speculation") == state.speculation
    wanted = wanted_conditions(found, speculating=asked, warning=warning_of(found))
    wanted |= _unreadable(found.unreadable, before, now)
    old = tuple(c for c in before.get("conditions", ()) if same_subject or c["type"] not in ABOUT_SPECULATION)
    kept = before if same_subject else {}
    reason, message = why(found, kept)
    status = api.Status(
        observed_generation=found.generation,
        phase=state.phase.value,
        reason=reason,
        message=message,
        conditions=merged(wanted, old, now=stamp, generation=found.generation),
        serving=_serving(found),
        **counted(found, kept),
        acceptance=acceptance_of(found, kept),
        performance=performance_of(found, kept),
        memory=_memory(found, measured(found, before, now)),
        facts=facts_status(found.facts),
        kserve=api.KServeStatus(version=version and shown(version), seen=found.kserve.seen),
        artifacts=[_artifact(each) for each in found.fetches] or None,
        owned=[api.OwnedObject(kind=each.kind, name=each.name, uid=each.uid) for each in found.owned] or None,
        guard=guard_status_of(found, kept),
        dial=_dial(found.dial),
        history=_history(found, before, stamp),
    )
    return status.model_dump(mode="json", by_alias=True, exclude_none=True)


def _unreadable(words: str, before: Mapping[str, Any], now: float) -> dict[str, Wanted | None]:
    """The condition about what could not be read. It stays for a day: the next write removes its cause."""
    if words:
        return {ConditionType.STATE_UNREADABLE: ("True", "ValuesReplaced", words[:_WARNING_WORDS])}
    known = (each for each in before.get("conditions", ()) if each["type"] == ConditionType.STATE_UNREADABLE)
    since = next((each["lastTransitionTime"] for each in known), "")
    return {ConditionType.STATE_UNREADABLE: None} if since > to_time(now - _A_DAY) else {}


def told_unreadable(status: Mapping[str, Any]) -> str:
    """What a status reports about parts that could not be read."""
    return str(_condition(status, ConditionType.STATE_UNREADABLE).get("message", ""))


def why(found: Findings, before: Mapping[str, Any]) -> tuple[str, str]:
    """Why the service is in its phase: the decision, or else the newest verdict, or else the rollout."""
    state, rollout = found.state, found.rollout
    decision = state.decision
    if decision is not None and state.phase in (Phase.RESPONDING, Phase.ROLLED_BACK):
        return decision.reason, decision.message
    if state.dial is not None:
        return state.dial.reason, state.dial.message
    if state.phase in (Phase.WATCHING, Phase.WARMING_UP) and found.judged is not None:
        return found.judged.verdict.reason.value, found.judged.verdict.message
    if (
        state.phase is Phase.WATCHING
        and before.get("phase") == Phase.WATCHING
        and {"reason", "message"} <= before.keys()
    ):
        return before["reason"], before["message"]  # a restarted operator has no verdict yet
    if state.phase is Phase.MEASURING_BASELINE and state.revision == found.revision:
        return "MeasuringBaseline", "the service runs without speculation first, to measure the baseline speed"
    return rollout.reason, rollout.message


def _serving(found: Findings) -> api.Serving:
    speculation, guest = found.asked, found.plan.spec.guest
    return api.Serving(
        speculating=speculation is not None,
        method=speculation.method.value if speculation else "none",
        tokens=found.tokens,
        drafted=found.drafted,
        revision=found.revision,
        inference_service=guest.resource if guest else f"inferenceservices.{KSERVE_GROUP}/{found.name}",
        url=found.url,
    )


def _memory(found: Findings, seen: Measured) -> api.MemoryStatus | None:
    """The memory plan with its measurements. None if nothing is planned or measured: then the engine's own default
    applies.
    """
    plan = found.plan.memory
    on_device = found.plan.spec.engine.accelerator is not Accelerator.CPU
    found_out = on_device and bool(plan.device.source) and found.plan.spec.speculation is not None
    if plan.fits is None and plan.lowered_by <= 0 and not found_out and seen == Measured():
        return None
    return api.MemoryStatus(
        utilization=plan.utilization,
        lowered_by=round(plan.lowered_by, 4),
        because=plan.because,
        device=plan.device.bytes,
        device_source=plan.device.source,
        draft_weights=plan.draft_weights,
        kv_price=plan.kv_price,
        kv_tokens_predicted=plan.kv_tokens,
        kv_tokens_measured=seen.tokens,
        kv_tokens_plain_measured=seen.baseline,
        kv_tokens_difference_percent=seen.difference,
        kv_requests_measured=seen.requests,
        kv_used_most=seen.used,
        acceptance_by_cache_use=[
            api.CacheUseStatus(
                used=round(each.used, 2),
                drafts=round(each.drafts),
                draft_tokens=round(each.draft_tokens),
                accepted_tokens=round(each.accepted_tokens),
            )
            for each in seen.by_use
        ]
        or None,
        device_used=seen.taken,
        utilization_measured=seen.utilization,
        recommendation=seen.recommendation,
    )


def _dial(view: DialView) -> api.DialStatus | None:
    if view.request is None:
        return api.DialStatus(reason="Refused", message=view.refused) if view.refused else None
    trouble = f"; {view.trouble}" if view.trouble else ""
    return api.DialStatus(
        tokens=view.request.lasting,
        tokens_by_batch_size=[api.DialRow(up_to=each.up_to, tokens=each.tokens) for each in view.request.rows] or None,
        pods=len(view.pods),
        in_force=view.in_force,
        reason=view.request.reason,
        message=f"{view.request.message}{trouble}",
    )


def _artifact(fetch: DownloadStatus) -> api.ArtifactStatus:
    progress = fetch.progress
    return api.ArtifactStatus(
        name=fetch.download.name,
        uri=fetch.download.uri,
        folder=fetch.download.key,
        state=fetch.view.stand.value,
        attempt=fetch.view.attempt,
        bytes=progress.bytes if progress else None,
    )


def _history(found: Findings, before: Mapping[str, Any], stamp: str) -> list[api.HistoryEntry]:
    entries = [api.HistoryEntry.model_validate(each) for each in before.get("history", ())]
    phase = found.state.phase.value
    if entries and entries[0].state == phase and before.get("guard", {}).get("since", "") >= to_time(found.state.since):
        return entries
    reason, message = why(found, before)
    rate = found.judged.evidence.acceptance_rate if found.judged else None
    newest = api.HistoryEntry(
        at=stamp,
        state=phase,
        reason=reason,
        message=message[:_HISTORY_WORDS],
        rate=None if rate is None else round(rate, 2),
    )
    return [newest, *entries][:_MOST_HISTORY]


def warning_of(found: Findings) -> str:
    """What the engine's rules warn of and what a guest lacks, in one line; empty where nothing is to be mended."""
    said = [f"{path_of(each.field)}: {each.message} ({each.rule.id})" for each in found.plan.warnings]
    return "; ".join((*said, found.unprobed) if found.unprobed else said)[:_WARNING_WORDS]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRefusal:
    """A generation of the spec that cannot run, and why."""

    error: Invalid
    generation: int


def refused_status(
    before: Mapping[str, Any], trouble: SpecRefusal, *, now: float, ready: bool = True, unreadable: str = ""
) -> dict[str, Any]:
    """The status before, with Stalled=True and the message of the refusal. Pods that run already keep answering.

    ready: whether there can be such pods; else Ready=False, for the same reason. unreadable: what of the status could
    not be read.
    """
    error, generation = trouble.error, trouble.generation
    old = tuple(before.get("conditions", ()))
    moving = (ConditionType.STALLED, ConditionType.RECONCILING)
    kept: dict[str, Wanted | None] = {each["type"]: None for each in old if each["type"] not in moving}
    wanted = {ConditionType.READY: None, **kept, ConditionType.STALLED: ("True", error.reason, error.message)}
    wanted |= _unreadable(unreadable, {}, now)
    if not ready:
        wanted[ConditionType.READY] = ("False", error.reason, error.message)
    conditions = merged(wanted, old, now=to_time(now), generation=generation)
    return {
        **before,
        "observedGeneration": generation,
        "phase": Phase.STALLED.value,
        "reason": error.reason,
        "message": error.message,
        "conditions": [condition.model_dump(by_alias=True, exclude_none=True) for condition in conditions],
    }


_PODS: Final = ("replicas", "readyReplicas", "selector")
_RATE_STEP: Final = 0.02
_SPEED_STEP: Final = 0.05
_RATE_EVERY: Final = 60.0
_PROGRESS_EVERY: Final = 15.0
_LEARNT_EVERY: Final = 600.0
_NUMBER: Final = re.compile(r"[0-9.]+")
_GROWING: Final = frozenset(
    {"message", "judged", "baseline", "fewerTokens", "recommendation", "nextRetry", "wantedSince", "up", "regret"}
    | {"pairs", "findings", "unmeasured", "offCost", "baselineSteps", "saved"}
)
"""Parts of status.guard that move with every window."""


def is_significant(status: Mapping[str, Any], written: Mapping[str, Any] | None, *, since_written: float) -> bool:
    """Whether a decision moved, or a number did and the last write is old enough."""
    if written is None or _decisions(status) != _decisions(written):
        return True
    if since_written >= _PROGRESS_EVERY and status.get("artifacts") != written.get("artifacts"):
        return True
    if since_written >= _LEARNT_EVERY and _learnt(status) != _learnt(written):
        return True
    return since_written >= _RATE_EVERY and _moved(status, written)


def _moved(status: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    if abs(_number(status, "acceptance", "rate") - _number(written, "acceptance", "rate")) > _RATE_STEP:
        return True
    if any(each(status) != each(written) for each in (_advised, _pairs, _enforcing, _unread, needed)):
        return True
    speed, old = (_number(each, "performance", "timePerOutputTokenMs") for each in (status, written))
    return abs(speed - old) > _SPEED_STEP * max(speed, old)


def _number(status: Mapping[str, Any], part: str, name: str) -> float:
    return float(status.get(part, {}).get(name, 0.0))


def _advised(status: Mapping[str, Any]) -> Any:
    advice = status.get("guard", {}).get("recommendation", {})
    return advice.get("tokens"), advice.get("tokensByBatchSize")


def _pairs(status: Mapping[str, Any]) -> Any:
    """The windows of both arms: an operator that restarts goes on with them."""
    return status.get("guard", {}).get("pairs")


def _enforcing(status: Mapping[str, Any]) -> str:
    """What keeps the guard from writing a guest, with the time of its next try."""
    return str(_condition(status, ConditionType.ENFORCING).get("message", ""))


def _unread(status: Mapping[str, Any]) -> str:
    """What keeps the operator from reading metrics. A permission that comes later changes this text only."""
    passing = _condition(status, ConditionType.GUARD_PASSING)
    return _NUMBER.sub("", passing["message"]) if passing.get("reason") == Reason.SCRAPE_FAILED else ""


def _condition(status: Mapping[str, Any], kind: ConditionType) -> Mapping[str, Any]:
    return next((each for each in status.get("conditions", ()) if each["type"] == kind), {})


def _learnt(status: Mapping[str, Any]) -> Any:
    guard = status.get("guard", {})
    return guard.get("baseline"), guard.get("offCost"), guard.get("saved")


def _decisions(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without the numbers that move all the time."""
    written = status.get("guard", {})
    growing = _GROWING | {"failures"} if written.get("would") else _GROWING
    guard = {key: value for key, value in written.items() if key not in growing}
    conditions = [(c["type"], c["status"], c["reason"]) for c in status.get("conditions", ())]
    fixed = {
        key: status.get(key)
        for key in (
            *("observedGeneration", "phase", "reason", "serving", "memory", "facts", "kserve", "owned", "dial"),
            *_PODS,
        )
    }
    artifacts = [(each["name"], each["folder"], each["state"], each["attempt"]) for each in status.get("artifacts", ())]
    return {
        **fixed,
        "artifacts": artifacts,
        "guard": guard,
        "loads": [each["load"] for each in written.get("baseline") or ()],
        "off_cost": "offCost" in written,
        "conditions": conditions,
        "measured": ("acceptance" in status, "performance" in status),
    }
