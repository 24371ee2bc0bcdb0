"""The report of a run: speeds, acceptance, moments, and whether the promises were kept. Pure; it becomes demo.json."""

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from hack.demo import counters, speed
from hack.demo.recording import Act, Recording
from hack.demo.speed import Speed
from specdec_operator.api.durations import format_duration

Report: TypeAlias = dict[str, Any]

SLICE_SECONDS = 3.0
PATCH_SECONDS = 2.0
"""From the decision to the InferenceService patched, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One promise of the operator and what was measured of it, in seconds."""

    what: str
    at_most: float
    measured: float

    @property
    def kept(self) -> bool:
        """Whether it was."""
        return self.measured <= self.at_most


def promises(run: Recording) -> tuple[Promise, ...]:
    """What the operator promises about a rollback."""
    when = run.moments
    windows = run.sample.guard.failure_limit + 1
    return (
        Promise(
            what=f"onset to decision within {windows} windows",
            at_most=run.sample.decision_bound,
            measured=round(when.decided - when.onset, 1),
        ),
        Promise(
            what="decision to InferenceService patched",
            at_most=PATCH_SECONDS,
            measured=round(when.patched - when.decided, 2),
        ),
    )


def speeds(run: Recording) -> dict[Act, Speed]:
    """The speed in each act."""
    return {act: speed.measured(run.completions, span, SLICE_SECONDS) for act, span in run.spans.items()}


def assemble(run: Recording) -> Report:
    """Everything, as it is written to demo.json. Rates and speedups are rounded here and nowhere before."""
    fast, when = speeds(run), run.moments
    return {
        "plain": {
            "tokens_per_second": _round(fast[Act.PLAIN_CODE].median),
            "drift_tokens_per_second": _round(fast[Act.PLAIN_DRIFT].median),
            "spread": _spread(fast[Act.PLAIN_CODE]),
            "drift_spread": _spread(fast[Act.PLAIN_DRIFT]),
        },
        "code": _act(run, Act.CODE, fast[Act.CODE], fast[Act.PLAIN_CODE]),
        "drift": _act(run, Act.DRIFT, fast[Act.DRIFT], fast[Act.PLAIN_DRIFT]),
        "decision": {
            "seconds_from_onset": round(when.decided - when.onset, 1),
            "seconds_to_patch": round(when.patched - when.decided, 2),
            "reason": run.decision.reason,
            "message": run.decision.message,
            "at": run.decision.at,
        },
        "serving_again_seconds": round(when.serving - when.decided, 1),
        "rolled_back_seconds": round(when.rolled_back - when.decided, 1),
        "after": {
            "tokens_per_second": _round(fast[Act.AFTER].median),
            "spread": _spread(fast[Act.AFTER]),
            "speedup": _ratio(fast[Act.AFTER], fast[Act.PLAIN_DRIFT]),
            "speedup_over_drift": _ratio(fast[Act.AFTER], fast[Act.DRIFT]),
        },
        "promises": [asdict(each) | {"kept": each.kept} for each in promises(run)],
        "requests": _requests(run),
        "kserve": run.kserve,
        "windows": _windows(run),
        "machine": asdict(run.machine),
        "steps": dict(run.steps),
    }


def _act(run: Recording, act: Act, fast: Speed, plain: Speed) -> dict[str, Any]:
    rate = counters.acceptance(run.readings, run.spans[act])
    return {
        "acceptance": None if rate is None else round(rate, 3),
        "acceptance_in_status": run.told[act],
        "tokens_per_second": _round(fast.median),
        "spread": _spread(fast),
        "speedup": _ratio(fast, plain),
    }


def _requests(run: Recording) -> dict[str, Any]:
    failed = [{"seconds_from_onset": round(each.at - run.moments.onset, 1), "why": each.why} for each in run.failures]
    return {
        "ok": len(run.completions),
        "failed": len(run.failures),
        "failures": failed,
        "clients": run.clients,
        "max_tokens": run.max_tokens,
    }


def _windows(run: Recording) -> dict[str, Any]:
    guard = run.sample.guard
    return {
        "interval": format_duration(guard.interval),
        "window": format_duration(guard.window),
        "warmup": format_duration(guard.warmup),
        "failureLimit": guard.failure_limit,
        "minDraftTokens": guard.min_draft_tokens,
        "strategy": run.sample.spec.rollout.strategy.value,
    }


def _round(value: float) -> float:
    return round(value, 1)


def _spread(fast: Speed) -> list[float]:
    return [_round(fast.lowest), _round(fast.highest)]


def _ratio(fast: Speed, slow: Speed) -> float:
    return round(fast.median / slow.median, 2)
