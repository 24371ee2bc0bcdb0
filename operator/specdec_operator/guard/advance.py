"""The state machine: one function a phase, and the table of them.

A rollback is no action: it is a state for which `plan` gives other flags.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.state import Phase, Rollback, State
from specdec_operator.guard.verdict import Outcome, Verdict
from specdec_operator.serving.rollout import Progress, RolloutView

ROLLOUT_FAILED: Final = "RolloutFailed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known at one turn of the loop.

    speculating: whether the present plan speculates. revision: revision of the pods that it asks for.
    rollout: how far they are. verdict: of a window that closed just now. warmup: in seconds.
    """

    speculating: bool
    mode: GuardMode
    warmup: float
    failure_limit: int
    revision: str
    rollout: RolloutView
    verdict: Verdict | None


Transition = Callable[[State, Facts, float], State]


def begin(speculation: str, retry: str | None, now: float) -> State:
    """The state of a sis that was never seen. A retry annotation that is there already asks for nothing."""
    return State(phase=Phase.ROLLING_OUT, since=now, speculation=speculation, handled_retry=retry)


def renewed(state: State, speculation: str, retry: str | None, now: float) -> State:
    """What the user's own acts make of the state, before anything is planned.

    Another speculation starts anew; a new value of the retry annotation asks for speculation again.
    """
    if speculation != state.speculation:
        return replace(begin(speculation, retry, now), rollbacks=state.rollbacks, revision=state.revision)
    if retry is None or retry == state.handled_retry:
        return state
    if state.rollback is None:
        return replace(state, handled_retry=retry)
    fresh = begin(speculation, retry, now)
    return replace(fresh, rollbacks=state.rollbacks, revision=state.revision)


def wanting(state: State, revision: str, now: float) -> State:
    """The state once `revision` is what the plan asks for."""
    return state if state.wanted == revision else replace(state, wanted=revision, wanted_since=now)


def advance(state: State, facts: Facts, now: float) -> State:
    """The next state. Equal to `state` when nothing happened."""
    return TRANSITIONS[state.phase](state, facts, now)


def _enter(state: State, phase: Phase, now: float) -> State:
    return replace(state, phase=phase, since=now, failures=0)


def _rolling_out(state: State, facts: Facts, now: float) -> State:
    match facts.rollout.progress:
        case Progress.PROGRESSING:
            return state
        case Progress.BLOCKED:
            return _enter(state, Phase.STALLED, now)
        case Progress.FAILED:
            return _rollout_failed(state, facts, now)
        case Progress.COMPLETE:
            watched = facts.speculating and facts.mode is not GuardMode.OFF
            return _enter(replace(state, revision=facts.revision), Phase.WARMING_UP if watched else Phase.SERVING, now)


def _rollout_failed(state: State, facts: Facts, now: float) -> State:
    if not facts.speculating or facts.mode is GuardMode.OFF:
        return _enter(state, Phase.STALLED, now)
    message = f"{facts.rollout.reason}: {facts.rollout.message}"
    return _respond(state, facts, Rollback(reason=ROLLOUT_FAILED, message=message, at=now), now)


def _respond(state: State, facts: Facts, rollback: Rollback, now: float) -> State:
    if facts.mode is GuardMode.OBSERVE:
        would = state.would_roll_back
        same = would is not None and would.reason == rollback.reason
        return replace(state, failures=0, would_roll_back=would if same else rollback)
    responding = _enter(replace(state, rollback=rollback), Phase.RESPONDING, now)
    return replace(responding, rollbacks=state.rollbacks + 1)


def _warming_up(state: State, facts: Facts, now: float) -> State:
    if moved := _spec_moved(state, facts, now):
        return moved
    return _enter(state, Phase.WATCHING, now) if now - state.since >= facts.warmup else state


def _watching(state: State, facts: Facts, now: float) -> State:
    if moved := _spec_moved(state, facts, now):
        return moved
    if facts.verdict is None:
        return state
    if facts.verdict.outcome is not Outcome.FAIL:
        return replace(state, failures=0)  # a gap in the evidence ends the row: only windows in a row convict
    failures = state.failures + 1
    if failures < facts.failure_limit:
        return replace(state, failures=failures)
    rollback = Rollback(reason=facts.verdict.reason.value, message=facts.verdict.message, at=now)
    return _respond(state, facts, rollback, now)


def _serving(state: State, facts: Facts, now: float) -> State:
    if moved := _spec_moved(state, facts, now):
        return moved
    watched = facts.speculating and facts.mode is not GuardMode.OFF  # the guard was switched on
    return _enter(state, Phase.WARMING_UP, now) if watched else state


def _spec_moved(state: State, facts: Facts, now: float) -> State | None:
    """A change of the spec outside speculation asks for other pods: they roll out first."""
    if facts.revision != state.revision:
        return _enter(state, Phase.ROLLING_OUT, now)
    if facts.mode is GuardMode.OFF and state.phase is not Phase.SERVING:
        return _enter(state, Phase.SERVING, now)
    return None


def _responding(state: State, facts: Facts, now: float) -> State:
    match facts.rollout.progress:
        case Progress.PROGRESSING:
            return state
        case Progress.FAILED | Progress.BLOCKED:
            return _enter(state, Phase.STALLED, now)
        case Progress.COMPLETE:
            return _enter(replace(state, revision=facts.revision), Phase.ROLLED_BACK, now)


def _rolled_back(state: State, facts: Facts, now: float) -> State:
    if facts.revision == state.revision:  # it came up once: later trouble shows in Ready, and pods heal by themselves
        return state
    match facts.rollout.progress:
        case Progress.PROGRESSING:
            return state
        case Progress.FAILED | Progress.BLOCKED:
            return _enter(state, Phase.STALLED, now)
        case Progress.COMPLETE:
            return replace(state, revision=facts.revision)


def _stalled(state: State, facts: Facts, now: float) -> State:
    if state.wanted_since > state.since:  # the user has acted: other pods are asked for than those that failed
        return _enter(state, Phase.RESPONDING if state.rollback else Phase.ROLLING_OUT, now)
    if facts.rollout.progress is Progress.COMPLETE:  # it healed by itself
        return _enter(state, Phase.ROLLED_BACK if state.rollback else Phase.ROLLING_OUT, now)
    on_trial = facts.speculating and facts.mode is not GuardMode.OFF
    if on_trial and facts.rollout.progress is not Progress.BLOCKED:  # there are pods at last: their time begins now
        return replace(_enter(state, Phase.ROLLING_OUT, now), wanted_since=now)
    return state


TRANSITIONS: Final[Mapping[Phase, Transition]] = MappingProxyType(
    {
        Phase.ROLLING_OUT: _rolling_out,
        Phase.WARMING_UP: _warming_up,
        Phase.WATCHING: _watching,
        Phase.RESPONDING: _responding,
        Phase.ROLLED_BACK: _rolled_back,
        Phase.STALLED: _stalled,
        Phase.SERVING: _serving,
    }
)
