"""What is told in the status of a sis. Pure; the loop writes it."""

from collections.abc import Mapping
from typing import Any, Final

from specdec_operator.api import status as api
from specdec_operator.control.conditions import ABOUT_SPECULATION, merged, wanted_conditions
from specdec_operator.control.durable import to_time
from specdec_operator.control.findings import Findings
from specdec_operator.control.measured import acceptance_of, guard_of, performance_of
from specdec_operator.downloads.waiting import Fetch
from specdec_operator.engine.asked import path_of
from specdec_operator.engine.memory.plan import MemoryPlan
from specdec_operator.guard.state import Phase
from specdec_operator.names import KSERVE_GROUP
from specdec_operator.staging.kserve import KServe

_TURNS_KEPT: Final = 10
_TURN_WORDS: Final = 200
_WARNING_WORDS: Final = 1000


def status_of(found: Findings, before: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The status to write. What this turn has not measured is kept from the status before."""
    state, stamp = found.state, to_time(now)
    asked = found.plan.spec.speculation is not None
    same_subject = before.get("guard", {}).get("speculation") == state.speculation
    wanted = wanted_conditions(found, speculating=asked, warning=warning_of(found))
    old = tuple(c for c in before.get("conditions", ()) if same_subject or c["type"] not in ABOUT_SPECULATION)
    reason, message = why(found, before if same_subject else {})
    status = api.Status(
        observed_generation=found.generation,
        phase=state.phase.value,
        reason=reason,
        message=message,
        conditions=merged(wanted, old, now=stamp, generation=found.generation),
        serving=_serving(found),
        acceptance=acceptance_of(found, before if same_subject else {}),
        performance=performance_of(found, before if same_subject else {}),
        memory=_memory(found.plan.memory),
        kserve=_kserve(found.kserve),
        artifacts=[_artifact(each) for each in found.fetches] or None,
        guard=guard_of(found, before if same_subject else {}),
        history=_history(found, before, stamp),
    )
    return status.as_manifest()


def why(found: Findings, before: Mapping[str, Any]) -> tuple[str, str]:
    """Why the sis is in its phase: the decision, or else the newest verdict, or else the rollout."""
    state, rollout = found.state, found.rollout
    decision = state.rollback or state.reduced
    if decision is not None and state.phase in (Phase.RESPONDING, Phase.ROLLED_BACK):
        return decision.reason, decision.message
    if state.phase in (Phase.WATCHING, Phase.WARMING_UP) and found.judged is not None:
        return found.judged.verdict.reason.value, found.judged.verdict.message
    if state.phase is Phase.WATCHING and before.get("phase") == Phase.WATCHING:
        return before["reason"], before["message"]  # a restarted operator has no verdict yet
    if state.phase is Phase.MEASURING_BASELINE and state.revision == found.revision:
        return "MeasuringBaseline", "the service runs plain, so that its speed is known before speculation begins"
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


def _history(found: Findings, before: Mapping[str, Any], stamp: str) -> list[api.Turn]:
    turns = [api.Turn.model_validate(turn) for turn in before.get("history", ())]
    phase = found.state.phase.value
    if turns and turns[0].state == phase and before.get("guard", {}).get("since", "") >= to_time(found.state.since):
        return turns
    reason, message = why(found, before)
    turn = api.Turn(at=stamp, state=phase, reason=reason, message=message[:_TURN_WORDS], rate=_rate(found))
    return [turn, *turns][:_TURNS_KEPT]


def _rate(found: Findings) -> float | None:
    rate = found.judged.evidence.acceptance_rate if found.judged else None
    return None if rate is None else round(rate, 2)


def warning_of(found: Findings) -> str:
    """What the engine's rules warn of, in one line; empty where they do not."""
    said = [f"{path_of(each.field)}: {each.message} ({each.rule.id})" for each in found.plan.warnings]
    return "; ".join(said)[:_WARNING_WORDS]
