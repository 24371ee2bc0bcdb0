"""What the guard measured and knows, as the status tells it. Pure. What this reconcile has not measured is kept."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from specdec_operator.api.times import to_time
from specdec_operator.guard.counterfactual import Fewer
from specdec_operator.guard.findings import BOUND
from specdec_operator.guard.tries import retry_at
from specdec_operator.report.conditions import Findings
from specdec_operator.report.state_codec import encode_state
from specdec_operator.schema import guard_status, status

_MOST_ROWS: Final = 16
"""Rows of the table of fewer tokens that are told: the largest K."""
_KEPT: Final = ("verdict", "reason", "message", "fewerTokens", "recommendation")


def acceptance_of(found: Findings, before: Mapping[str, Any]) -> status.Acceptance | None:
    """What the last window with enough evidence showed."""
    evidence = found.judged.evidence if found.judged else None
    if evidence is None or evidence.acceptance_rate is None or evidence.acceptance_length is None:
        kept = before.get("acceptance")
        return status.Acceptance.model_validate(kept) if kept else None
    return status.Acceptance(
        rate=round(evidence.acceptance_rate, 2),
        length=round(evidence.acceptance_length, 2),
        drafts=round(evidence.drafts),
        draft_tokens=round(evidence.draft_tokens),
        per_position=[round(value / evidence.drafts, 2) for value in evidence.accepted_per_position],
        drafted_share=None if evidence.drafted_share is None else round(evidence.drafted_share, 2),
        window_seconds=round(evidence.seconds, 1),
        pods=evidence.pods,
    )


def performance_of(found: Findings, before: Mapping[str, Any]) -> status.Performance | None:
    """How fast the last window was in which requests ended."""
    judged = found.judged
    seconds = judged.evidence.token_time.times.mean if judged else None
    if judged is None or seconds is None:
        kept = before.get("performance")
        return status.Performance.model_validate(kept) if kept else None
    against, by_load = judged.comparison, judged.evidence.token_times
    return status.Performance(
        time_per_output_token_ms=round(1000 * seconds, 2),
        tokens_per_second=round(judged.evidence.generation_tokens / judged.evidence.seconds, 1),
        requests=round(judged.evidence.token_time.requests),
        load=max(by_load, key=lambda load: by_load[load].times.of) or None,
        speedup=round(against.speedup, 2) if against else None,
        speedup_low=round(against.low, 2) if against else None,
        speedup_high=round(against.high, 2) if against else None,
    )


def guard_status_of(found: Findings, before: Mapping[str, Any]) -> guard_status.GuardStatus:
    """What the guard knows and must not forget."""
    due = retry_at(found.state, found.policy) if found.policy.acts else None
    said = _said(found, before.get("guard", {}))
    more = {"held": found.policy.held, "next_retry": None if due is None else to_time(due)}
    findings = {"findings": _findings(found, before.get("guard", {}))}
    thresholds = {"thresholds": _thresholds(found)}
    return guard_status.GuardStatus.model_validate(encode_state(found.state) | said | more | thresholds | findings)


def _findings(found: Findings, before: Mapping[str, Any]) -> Any:
    """What both arms say so far; gone with the windows that it is of."""
    if not found.state.pairs:
        return None
    told = found.judged.findings if found.judged else ()
    return [asdict(each) | {"measure": each.measure.value, "bound": BOUND} for each in told] or before.get("findings")


def _said(found: Findings, before: Mapping[str, Any]) -> dict[str, Any]:
    """The newest verdict, with what follows from its numbers. A plain window speaks only where an SLO asks it to."""
    judged, limits = found.judged, found.thresholds
    silent = limits is None or limits.silent
    if judged is None or silent:
        return {key: before.get(key) for key in _KEPT}
    verdict = judged.verdict
    said = {"verdict": verdict.outcome.value, "reason": verdict.reason.value, "message": verdict.message}
    if not found.fewer and not judged.conclusive:
        return said | {key: before.get(key) for key in ("fewerTokens", "recommendation")}
    advice = found.advice
    return said | {
        "fewer_tokens": [_row(each) for each in found.fewer[-_MOST_ROWS:]] or before.get("fewerTokens"),
        "recommendation": advice and guard_status.Recommendation(tokens=advice.tokens, message=advice.message),
    }


def _row(row: Fewer) -> guard_status.FewerTokens:
    rounded = {name: round(value, 2) if isinstance(value, float) else value for name, value in asdict(row).items()}
    return guard_status.FewerTokens.model_validate(rounded)


def _thresholds(found: Findings) -> guard_status.Thresholds | None:
    limits = found.thresholds
    if limits is None or limits.plain:
        return None
    most = limits.time_per_output_token
    return guard_status.Thresholds(
        acceptance_rate=limits.acceptance_rate,
        acceptance_length=limits.acceptance_length,
        min_draft_tokens=limits.min_draft_tokens,
        speedup=limits.speedup,
        time_per_output_token_ms=None if most is None else round(1000 * most, 3),
    )
