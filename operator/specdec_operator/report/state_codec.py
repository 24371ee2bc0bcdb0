"""The guard's state as it is kept in status.guard, and back."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from specdec_operator.api.times import from_time, to_time
from specdec_operator.guard.baseline import Plain
from specdec_operator.guard.lowering import Lowering
from specdec_operator.guard.mix import Mix
from specdec_operator.guard.pod_failures import PodFailure
from specdec_operator.guard.state import DryRunAction, KnownGood, Phase, Reduction, Rollback, State
from specdec_operator.guard.statistics import RatioSums, TokenTime
from specdec_operator.report import arms_codec
from specdec_operator.schema import comparison_status as compared
from specdec_operator.schema import guard_status as api

_Kept = TypeVar("_Kept", Reduction, Lowering, DryRunAction, KnownGood, PodFailure)
_ALIKE: Final = (
    *("revision", "wanted", "up", "replacing", "regret", "failures", "measuring", "attempted", "rollbacks", "retries"),
    *("restarts", "handled_retry", "handled_rollback", "unmeasured", "doubts", "armless"),
)
"""Fields of the state that are kept under their own names as they are."""


def decode_state(status: Mapping[str, Any], now: float = math.inf) -> State | None:
    """The state that an earlier process left behind; None where there is none that can be read.

    No moment of it is later than now: what waits for a time that a clock showed by mistake would stand still.
    """
    try:
        return _not_after(_state(api.GuardStatus.model_validate(status["guard"])), now)
    except (KeyError, ValueError, ValidationError):
        return None


def _not_after(state: State, now: float) -> State:
    kept, reduced, aside = state.rollback, state.reduced, state.set_aside
    return replace(
        state,
        since=min(state.since, now),
        wanted_since=min(state.wanted_since, now),
        judged=min(state.judged, now),
        rollback=kept and replace(kept, at=min(kept.at, now)),
        reduced=reduced and replace(reduced, at=min(reduced.at, now)),
        lowering=state.lowering and replace(state.lowering, at=min(state.lowering.at, now)),
        set_aside=aside and replace(aside, at=min(aside.at, now)),
        pod_failures=tuple(replace(each, at=min(each.at, now)) for each in state.pod_failures),
    )


def _state(kept: api.GuardStatus) -> State:
    return State(
        phase=Phase(kept.state),
        since=from_time(kept.since),
        speculation=kept.speculation or "",
        service=kept.service or "",
        memory=kept.memory or "",
        wanted_since=_from(kept.wanted_since),
        blamed=tuple(kept.blamed or ()),
        judged=_from(kept.judged),
        rollback=_rollback(kept.rollback) if kept.rollback else None,
        reduced=_read(Reduction, kept.reduced) if kept.reduced else None,
        lowering=_read(Lowering, kept.lowered) if kept.lowered else None,
        set_aside=_set_aside(kept.set_aside) if kept.set_aside else None,
        dry_run=_read(DryRunAction, kept.would) if kept.would else None,
        restarting=tuple(kept.restarting or ()),
        pod_failures=tuple(_read(PodFailure, each) for each in kept.pod_failures or ()),
        last_good=tuple(_read(KnownGood, each) for each in kept.last_good or ()),
        baseline=tuple(Plain(load=each.load, token_time=_token_time(each)) for each in kept.baseline or ()),
        doubted=_from(kept.doubted),
        **arms_codec.decoded(kept),
        **{name: getattr(kept, name) for name in _ALIKE},
    )


def without_progress(state: State) -> State:
    """The state without what grows by itself: a difference here is worth a write at once."""
    failures = 0 if state.dry_run else state.failures  # what would be done is told: they count round and round
    plain = tuple(Plain(load=each.load, token_time=TokenTime()) for each in state.baseline)
    since = 0.0 if state.up else state.wanted_since  # a rollout of a thousand pods is no thousand writes
    state = replace(state, failures=failures, baseline=plain, wanted_since=since)
    return replace(state, judged=0.0, regret=0.0, up=0, unmeasured=0, pairs=())


def encode_state(state: State) -> dict[str, Any]:
    """The fields of status.guard that hold the state."""
    return {
        "state": state.phase.value,
        "since": to_time(state.since),
        "speculation": state.speculation,
        "service": state.service or None,
        "memory": state.memory or None,
        "wanted_since": to_time(state.wanted_since) if state.wanted else None,
        "blamed": list(state.blamed) or None,
        "judged": to_time(state.judged) if state.judged else None,
        "rollback": _written_rollback(state.rollback),
        "reduced": _written(state.reduced),
        "lowered": _written(state.lowering),
        "set_aside": _written_aside(state.set_aside),
        "would": _written(state.dry_run),
        "restarting": list(state.restarting) or None,
        "pod_failures": [_written(each) for each in state.pod_failures] or None,
        "last_good": [_written(each) for each in state.last_good] or None,
        "baseline": [_written_plain(each) for each in state.baseline] or None,
        "doubted": to_time(state.doubted) if state.doubted else None,
        **arms_codec.encoded(state),
        **{name: getattr(state, name) for name in _ALIKE},
    }


def _from(text: str | None) -> float:
    return from_time(text) if text else 0.0


def _read(kind: type[_Kept], kept: BaseModel) -> _Kept:
    """A decision as it was kept; both sides have the same fields, but for the time."""
    fields = kept.model_dump(exclude_none=True)
    return kind(**(fields | {"at": from_time(fields["at"])}))


def _written(value: Reduction | Lowering | DryRunAction | KnownGood | PodFailure | None) -> dict[str, Any] | None:
    """As it is kept. No step of less memory is no field: the first release knows none, and would take it out again."""
    if value is None:
        return None
    fields = {name: each for name, each in asdict(value).items() if name != "lowered" or each}
    return fields | {"at": to_time(value.at)}


def _rollback(kept: api.Rollback) -> Rollback:
    good = _read(KnownGood, kept.good) if kept.good else None
    trial = arms_codec.trial_of(kept.trial) if kept.trial else None
    return Rollback(reason=kept.reason, message=kept.message, at=from_time(kept.at), good=good, trial=trial)


def _written_rollback(rollback: Rollback | None) -> dict[str, Any] | None:
    if rollback is None:
        return None
    at, good = to_time(rollback.at), _written(rollback.good)
    trial = arms_codec.written_trial(rollback.trial) if rollback.trial else None
    return asdict(rollback) | {"at": at, "to": rollback.to.value, "good": good, "trial": trial}


def _set_aside(kept: api.SetAside) -> Rollback | Reduction | None:
    if kept.rollback is not None:
        return _rollback(kept.rollback)
    return _read(Reduction, kept.reduced) if kept.reduced else None


def _written_aside(aside: Rollback | Reduction | None) -> dict[str, Any] | None:
    if aside is None:
        return None
    return {"rollback": _written_rollback(aside)} if isinstance(aside, Rollback) else {"reduced": _written(aside)}


def _token_time(kept: compared.PlainSpeed) -> TokenTime:
    total, of, total_total, total_of, of_of, tokens, seconds = kept.sums
    times = RatioSums(blocks=kept.blocks, total=total, of=of, total_total=total_total, total_of=total_of, of_of=of_of)
    mix = Mix(**kept.mix.model_dump()) if kept.mix else None
    return TokenTime(times=times, requests=kept.requests, tokens=tokens, seconds=seconds, mix=mix)


def _written_plain(plain: Plain) -> compared.PlainSpeed:
    seen, times = plain.token_time, plain.token_time.times
    return compared.PlainSpeed(
        load=plain.load,
        time_per_output_token_ms=round(1000 * (times.mean or 0.0), 3),
        error_ms=None if times.error is None else round(1000 * times.error, 4),
        tokens_per_second=round(seen.tokens / seen.seconds, 1) if seen.seconds else 0.0,
        requests=round(seen.requests),
        blocks=times.blocks,
        sums=[times.total, times.of, times.total_total, times.total_of, times.of_of, seen.tokens, seen.seconds],
        mix=seen.mix and compared.Mix(**asdict(seen.mix)),
    )
