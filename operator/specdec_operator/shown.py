"""What the metrics show of one sis: a few numbers and words, kept frozen. What is no longer true is not kept."""

from dataclasses import dataclass, replace
from typing import Final

from specdec_operator.control.findings import Findings
from specdec_operator.control.memory import Memory
from specdec_operator.guard.asked import BY_REQUEST
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.respond import ROLLOUT_FAILED
from specdec_operator.guard.state import Phase, Rollback
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.guard.verdict import Reason

MOST_POSITIONS: Final = 16
"""Draft positions that are shown; the status and the engine have the others."""
ROLLBACK_REASONS: Final = frozenset({*(each.value for each in Reason), ROLLOUT_FAILED, BY_REQUEST})
OTHER: Final = "Other"
"""Reason of a rollback that this version has no word for: a newer one wrote it."""

Words = tuple[str, str] | tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The numbers of the last window of what is served. None: it has none."""

    acceptance_rate: float | None
    acceptance_length: float | None
    drafted_share: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    time_per_output_token_seconds: float | None
    plain_time_per_output_token_seconds: float | None
    tokens_per_second: float | None
    positions: tuple[float, ...]
    verdict: Words | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a sis stands."""

    phase: Phase
    would_act: bool
    failing_windows: int
    speculating: bool
    rollbacks: int
    rolled_back: Words | None
    pods_without_metrics: int
    tokens_asked: int | None
    tokens_served: int
    acceptance_rate_threshold: float | None
    speedup_threshold: float | None
    service_info: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One sis. evidence: when a window closed last that proved something, epoch seconds."""

    stalled: bool
    standing: Standing | None = None
    window: Window | None = None
    evidence: float | None = None


NOTHING: Final = Shown(stalled=True)
"""Of a sis whose spec could never be followed."""


def shown_of(before: Shown, found: Findings, memory: Memory, *, stalled: bool) -> Shown:
    """What one turn found. stalled: whether the present spec cannot be followed."""
    judged = found.judged
    return Shown(
        stalled=stalled or found.state.phase is Phase.STALLED,
        standing=_standing(found, silent=memory.silent if memory.watched else 0),
        window=None if judged is None else _window(judged, found.thresholds),
        evidence=None if judged is None else judged.verdict.at if judged.conclusive else before.evidence,
    )


def refused(before: Shown) -> Shown:
    """The user must act, and no evidence is taken meanwhile."""
    return replace(before, stalled=True, window=None, evidence=None)


def _standing(found: Findings, *, silent: int) -> Standing:
    state, spec, limits = found.state, found.plan.spec, found.thresholds
    asked = spec.speculation
    return Standing(
        phase=state.phase,
        would_act=state.would is not None,
        failing_windows=state.failures,
        speculating=found.plan.speculation is not None,
        rollbacks=state.rollbacks,
        rolled_back=_why(state.rollback) if state.rollback else None,
        pods_without_metrics=silent,
        tokens_asked=asked.tokens if asked else 0,
        tokens_served=found.plan.tokens,
        acceptance_rate_threshold=limits.acceptance_rate if limits else None,
        speedup_threshold=limits.speedup if limits else None,
        service_info=(
            asked.method.value if asked else "none",
            spec.engine.accelerator.value,
            spec.guard.mode.value,
        ),
    )


def _window(judged: Judged, limits: Thresholds | None) -> Window:
    """A plain service has a verdict only where an SLO asks it for one: else each of its windows were Inconclusive."""
    evidence, against, verdict, drafts = judged.evidence, judged.comparison, judged.verdict, judged.evidence.drafts
    silent = limits is None or limits.silent
    rates = (each / drafts for each in evidence.accepted_per_position[:MOST_POSITIONS]) if drafts else ()
    return Window(
        acceptance_rate=evidence.acceptance_rate,
        acceptance_length=evidence.acceptance_length,
        drafted_share=evidence.drafted_share if evidence.speculative else None,
        speedup=None if against is None else against.speedup,
        speedup_low=None if against is None else against.low,
        speedup_high=None if against is None else against.high,
        time_per_output_token_seconds=evidence.pace.times.mean,
        plain_time_per_output_token_seconds=None if against is None else against.plain,
        tokens_per_second=evidence.generation_tokens / evidence.seconds,
        positions=tuple(rates),
        verdict=None if silent else (verdict.outcome.value, verdict.reason.value),
    )


def _why(rollback: Rollback) -> Words:
    return rollback.reason if rollback.reason in ROLLBACK_REASONS else OTHER, rollback.to.value
