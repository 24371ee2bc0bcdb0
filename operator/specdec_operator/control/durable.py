"""The guard's state as it is kept in status.guard, and back. Times are whole seconds in UTC."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from specdec_operator.api import guard_status as api
from specdec_operator.guard.baseline import Baseline, Plain
from specdec_operator.guard.moments import Moments
from specdec_operator.guard.pace import Pace
from specdec_operator.guard.state import Good, Phase, Reduction, Rollback, State, Would

_Kept = TypeVar("_Kept", Reduction, Would, Good)


def to_time(at: float) -> str:
    """RFC 3339 text of epoch seconds."""
    return datetime.fromtimestamp(math.floor(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_time(text: str) -> float:
    """Epoch seconds of an RFC 3339 text."""
    return datetime.fromisoformat(text).timestamp()


def state_of(status: Mapping[str, Any], now: float = math.inf) -> State | None:
    """The state that an earlier process left behind; None where there is none that can be read.

    No moment of it is later than now: what waits for a time that a clock showed by mistake would stand still.
    """
    try:
        return _not_after(_state(api.GuardStatus.model_validate(status["guard"])), now)
    except (KeyError, ValueError, ValidationError):
        return None


def _not_after(state: State, now: float) -> State:
    kept, reduced = state.rollback, state.reduced
    return replace(
        state,
        since=min(state.since, now),
        wanted_since=min(state.wanted_since, now),
        judged=min(state.judged, now),
        rollback=kept and replace(kept, at=min(kept.at, now)),
        reduced=reduced and replace(reduced, at=min(reduced.at, now)),
    )


def _state(kept: api.GuardStatus) -> State:
    return State(
        phase=Phase(kept.state),
        since=from_time(kept.since),
        speculation=kept.speculation or "",
        service=kept.service or "",
        revision=kept.revision,
        wanted=kept.wanted,
        wanted_since=_from(kept.wanted_since),
        replacing=kept.replacing,
        failures=kept.failures,
        blamed=tuple(kept.blamed or ()),
        judged=_from(kept.judged),
        measuring=kept.measuring,
        attempted=kept.attempted,
        rollback=_rollback(kept.rollback),
        reduced=_read(Reduction, kept.reduced) if kept.reduced else None,
        would=_read(Would, kept.would) if kept.would else None,
        rollbacks=kept.rollbacks,
        retries=kept.retries,
        restarting=tuple(kept.restarting or ()),
        restarts=kept.restarts,
        goods=tuple(_read(Good, each) for each in kept.last_good or ()),
        baseline=_baseline(kept.baseline or []),
        handled_retry=kept.handled_retry,
        handled_rollback=kept.handled_rollback,
    )


def decision(state: State) -> State:
    """The state without what grows by itself: a difference here is worth a write at once."""
    failures = 0 if state.would else state.failures  # what would be done is told: they count round and round
    plain = tuple(Plain(load=each.load, pace=Pace()) for each in state.baseline)
    return replace(state, judged=0.0, failures=failures, baseline=plain)


def guard_fields(state: State) -> dict[str, Any]:
    """The fields of status.guard that hold the state."""
    return {
        "state": state.phase.value,
        "since": to_time(state.since),
        "speculation": state.speculation,
        "service": state.service or None,
        "revision": state.revision,
        "wanted": state.wanted,
        "wanted_since": to_time(state.wanted_since) if state.wanted else None,
        "replacing": state.replacing,
        "failures": state.failures,
        "blamed": list(state.blamed) or None,
        "judged": to_time(state.judged) if state.judged else None,
        "measuring": state.measuring,
        "attempted": state.attempted,
        "rollback": _written_rollback(state.rollback),
        "reduced": _written(state.reduced),
        "would": _written(state.would),
        "rollbacks": state.rollbacks,
        "retries": state.retries,
        "restarting": list(state.restarting) or None,
        "restarts": state.restarts,
        "last_good": [_written(each) for each in state.goods] or None,
        "baseline": [_kept_plain(each) for each in state.baseline] or None,
        "handled_retry": state.handled_retry,
        "handled_rollback": state.handled_rollback,
    }


def _from(text: str | None) -> float:
    return from_time(text) if text else 0.0


def _read(kind: type[_Kept], kept: BaseModel) -> _Kept:
    """A decision as it was kept; both sides have the same fields, but for the time."""
    fields = kept.model_dump()
    return kind(**(fields | {"at": from_time(fields["at"])}))


def _written(value: Reduction | Would | Good | None) -> dict[str, Any] | None:
    return None if value is None else asdict(value) | {"at": to_time(value.at)}


def _rollback(kept: api.Rollback | None) -> Rollback | None:
    if kept is None:
        return None
    good = _read(Good, kept.good) if kept.good else None
    return Rollback(reason=kept.reason, message=kept.message, at=from_time(kept.at), good=good)


def _written_rollback(rollback: Rollback | None) -> dict[str, Any] | None:
    if rollback is None:
        return None
    at, good = to_time(rollback.at), _written(rollback.good)
    return asdict(rollback) | {"at": at, "to": rollback.to.value, "good": good}


def _baseline(kept: list[api.PlainSpeed]) -> Baseline:
    return tuple(Plain(load=each.load, pace=_pace(each)) for each in kept)


def _pace(kept: api.PlainSpeed) -> Pace:
    total, of, total_total, total_of, of_of, tokens, seconds = kept.sums
    times = Moments(blocks=kept.blocks, total=total, of=of, total_total=total_total, total_of=total_of, of_of=of_of)
    return Pace(times=times, tokens=tokens, seconds=seconds)


def _kept_plain(plain: Plain) -> api.PlainSpeed:
    pace, times = plain.pace, plain.pace.times
    return api.PlainSpeed(
        load=plain.load,
        time_per_output_token_ms=round(1000 * (times.mean or 0.0), 3),
        error_ms=None if times.error is None else round(1000 * times.error, 4),
        tokens_per_second=round(pace.tokens / pace.seconds, 1) if pace.seconds else 0.0,
        requests=round(times.of),
        blocks=times.blocks,
        sums=[
            times.total,
            times.of,
            times.total_total,
            times.total_of,
            times.of_of,
            pace.tokens,
            pace.seconds,
        ],
    )
