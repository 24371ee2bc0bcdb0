"""What is reported of a decision: status, Events and metrics. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from specdec_operator.guard.state import Phase
from specdec_operator.guest.liveness import unnoticed_text
from specdec_operator.guest.refusals import GUEST_MISSING, GUEST_TAKEN
from specdec_operator.guest.view import Guest
from specdec_operator.observe.ownership import NAME_TAKEN, Standing
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.report.conditions import Findings
from specdec_operator.report.events import Event, events_of, refusal_event, unreadable_event
from specdec_operator.report.guard_status import without_progress
from specdec_operator.report.status import (
    SpecRefusal,
    is_significant,
    refused_status,
    status_of,
    told_unreadable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is reported. write: whether the status is worth a write. findings: for the metrics; None: only a refusal."""

    status: dict[str, Any]
    events: tuple[Event, ...]
    write: bool
    findings: Findings | None = None
    refused: bool = False


def describe(
    decision: Decision | SpecRefusal, observed: Observed, memory: ServiceMemory, shown: Mapping[str, Any], now: float
) -> Report:
    """What is reported of a decision. memory: before it. shown: the status as the watch has it."""
    if isinstance(decision, SpecRefusal):
        return _refusal(decision, observed, memory, shown, now)
    written = memory.status or {}
    findings = findings_of(decision, observed, memory)
    status = status_of(findings, written, now)
    status = refused_status(status, decision.refusal, now=now) if decision.refusal else status
    before, after = decision.before, decision.state
    decided = before is None or without_progress(after) != without_progress(before) or memory.lost(shown, now)
    decided = decided or told_unreadable(status) != told_unreadable(written)
    return Report(
        status=status,
        events=events_of(before, after, findings, written, decision.refusal),
        write=decided or is_significant(status, written, since_written=now - memory.status_at),
        findings=findings,
        refused=decision.refusal is not None,
    )


def _refusal(
    refusal: SpecRefusal, observed: Observed, memory: ServiceMemory, shown: Mapping[str, Any], now: float
) -> Report:
    """Of a spec that nothing can be made of. Decisions and measurements stay as they were."""
    written = memory.status if memory.status is not None else dict(shown)
    taken = refusal.error.reason == NAME_TAKEN and observed.look.standing is not Standing.OURS
    taken = taken or refusal.error.reason in (GUEST_MISSING, GUEST_TAKEN)
    status = refused_status(written, refusal, now=now, ready=not taken, unreadable=memory.unreadable)
    news = status["message"] != written.get("message")
    lost = memory.unreadable if told_unreadable(status) != told_unreadable(written) else ""
    write = news or bool(lost) or is_significant(status, written, since_written=0.0) or memory.lost(shown, now)
    events = ((refusal_event(refusal),) if write else ()) + ((unreadable_event(lost),) if lost else ())
    return Report(status=status, events=events, write=write, refused=True)


def findings_of(decision: Decision, observed: Observed, memory: ServiceMemory) -> Findings:
    """What a decision was made of, in the words of the report."""
    desired, child = decision.desired, observed.objects.child
    findings = Findings(
        name=decision.sis.owner.name,
        generation=decision.sis.generation,
        state=decision.state,
        policy=decision.policy,
        plan=desired.plan,
        rollout=desired.rollout,
        arrival=desired.artifacts,
        fetches=desired.downloads,
        kserve=desired.kserve,
        revision=desired.rendered.revision,
        url=desired.guest.url if desired.guest else child.url if child else None,
        thresholds=decision.thresholds,
        judged=memory.judged,
        fewer=decision.what_if.rows,
        advice=decision.what_if.advice,
        contested=memory.conflict.words,
        owned=desired.owned,
        baseline_pods=decision.baseline_pods,
        facts=desired.facts,
        taken=memory.facts.used if memory.facts.asked == desired.rendered.revision else None,
        enforcement=desired.enforcement,
        deployment=observed.objects.deployment,
        unreadable=memory.unreadable,
        unprobed=_unprobed(desired.guest),
        dial=decision.dial,
    )
    return findings if _is_about_present_pods(decision) else replace(findings, judged=None)


def _unprobed(guest: Guest | None) -> str:
    engine = guest.engine if guest else None
    return "" if engine is None or engine.notices_hangs else unnoticed_text(engine.container)


def _is_about_present_pods(decision: Decision) -> bool:
    """Whether the last window measured what is served now, or explains why that is no longer served."""
    before, after = decision.before, decision.state
    decided_by = after.phase is Phase.ROLLED_BACK or (before is not None and after.restarts > before.restarts)
    return decided_by or not decision.starts_over
