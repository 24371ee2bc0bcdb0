"""What the guard measured and knows, in the form of the status, and its state read back. Pure. Values that this
reconcile has not measured are kept.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from specdec_operator.api.kept import NOW
from specdec_operator.guard.baseline import BaselineSpeed
from specdec_operator.guard.baseline_pods import Measure, MeasureFinding
from specdec_operator.guard.state import State
from specdec_operator.guard.token_time import TokenTime
from specdec_operator.guard.tries import retry_at
from specdec_operator.guard.what_if import Advice, Fewer
from specdec_operator.report.conditions import Findings
from specdec_operator.schema import guard_status, status

_MOST_ROWS: Final = 16
"""Rows of the table of fewer tokens that the status shows: those of the largest K."""
TOLD: Final[Mapping[str, TypeAdapter[Any]]] = {
    **dict.fromkeys(("verdict", "reason", "message"), TypeAdapter(str)),
    "fewer_tokens": TypeAdapter(tuple[Fewer, ...]),
    "recommendation": TypeAdapter(Advice),
    "findings": TypeAdapter(tuple[MeasureFinding, ...]),
}
"""Values that stay in the status until new ones are known, and how they are read."""
_MEASURES: Final = frozenset(Measure)
_STATE: Final = TypeAdapter(State)
_OF_STATE: Final = tuple(each.name for each in fields(State))


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
        per_position=[round(value / evidence.drafts, 2) for value in found.positions],
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
    against, by_load, gain = judged.comparison, judged.evidence.token_times, judged.gain
    return status.Performance(
        time_per_output_token_ms=round(1000 * seconds, 2),
        tokens_per_second=round(judged.evidence.generation_tokens / judged.evidence.seconds, 1),
        requests=round(judged.evidence.token_time.requests),
        load=max(by_load, key=lambda load: by_load[load].times.of) or None,
        speedup=round(against.speedup, 2) if against else None,
        speedup_low=round(against.low, 2) if against else None,
        speedup_high=round(against.high, 2) if against else None,
        gain_high=round(gain.high, 2) if gain else None,
        gain_low=math.floor(100 * gain.low) / 100 if gain and gain.low is not None else None,
        dips=gain.dips if gain else None,
    )


def guard_status_of(found: Findings, before: Mapping[str, Any]) -> guard_status.GuardStatus:
    """What the guard knows and must not forget."""
    told = before.get("guard", {})
    return guard_status.GuardStatus(
        **{name: getattr(found.state, name) for name in _OF_STATE},
        **_said(found, told),
        held=found.policy.held,
        next_retry=retry_at(found.state, found.policy) if found.policy.acts else None,
        thresholds=_thresholds(found),
        findings=_findings(found, told),
    )


def _as_told(told: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """These values of the earlier status; without those that it does not have."""
    written = {name: told.get(to_camel(name)) for name in names}
    return {name: TOLD[name].validate_python(each) for name, each in written.items() if each is not None}


def _findings(found: Findings, told: Mapping[str, Any]) -> tuple[MeasureFinding, ...]:
    """The results of both arms so far. They are removed together with the windows that they are from."""
    if not found.state.pairs:
        return ()
    if found.judged and found.judged.findings:
        return found.judged.findings
    known = [each for each in told.get("findings") or () if each["measure"] in _MEASURES]
    read: tuple[MeasureFinding, ...] = TOLD["findings"].validate_python(known)
    return read


def _said(found: Findings, told: Mapping[str, Any]) -> dict[str, Any]:
    """The newest verdict, with what follows from its numbers. A baseline window has one only if its time is limited."""
    judged, limits = found.judged, found.thresholds
    silent = limits is None or limits.silent
    if judged is None or silent:
        return _as_told(told, "verdict", "reason", "message", "fewer_tokens", "recommendation")
    verdict = judged.verdict
    said = {"verdict": verdict.outcome.value, "reason": verdict.reason.value, "message": verdict.message}
    if not found.fewer and not judged.conclusive:
        return said | _as_told(told, "fewer_tokens", "recommendation")
    rows = {"fewer_tokens": found.fewer[-_MOST_ROWS:]} if found.fewer else _as_told(told, "fewer_tokens")
    return said | rows | {"recommendation": found.advice}


def _thresholds(found: Findings) -> guard_status.ThresholdsStatus | None:
    limits = found.thresholds
    if limits is None or limits.of_baseline:
        return None
    most = limits.time_per_output_token
    return guard_status.ThresholdsStatus(
        acceptance_rate=limits.acceptance_rate,
        acceptance_length=limits.acceptance_length,
        min_draft_tokens=limits.min_draft_tokens,
        speedup=limits.speedup,
        time_per_output_token_ms=None if most is None else round(1000 * most, 3),
    )


def kept_state(status: Mapping[str, Any], now: float = math.inf) -> State | None:
    """The state that an earlier process left behind; None where there is none that can be read.

    No moment of it is later than now: what waits for a time that a clock showed by mistake would stand still.
    """
    try:
        return _STATE.validate_python(status.get("guard"), context={NOW: now})
    except ValidationError:
        return None


def without_progress(state: State) -> State:
    """The state without what grows by itself: a difference here is worth a write at once."""
    failures = 0 if state.dry_run else state.failures  # in a dry run they return to 0 again and again
    baseline = tuple(BaselineSpeed(load=each.load, token_time=TokenTime()) for each in state.baseline)
    since = 0.0 if state.up else state.wanted_since  # a rollout of many pods causes no write for each of them
    state = replace(state, failures=failures, baseline=baseline, wanted_since=since)
    state = replace(state, judged=0.0, regret=0.0, up=0, unmeasured=0, pairs=(), saved=None)
    return replace(state, off_cost=None, baseline_steps=None)
