"""Film strips of the state machine: facts at times in, states out."""

from collections.abc import Iterator
from typing import Any

from tests.unit.builders import facts

from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.transitions import TABLE, TransitionRule, advance, note_observations

Frame = dict[str, Any]
"""What is changed in the facts of a quiet turn. A verdict or a pace is of a window that closed at that time."""
Frames = tuple[tuple[float, Frame], ...]


def facts_at(state: State, at: float, frame: Frame) -> Observation:
    """The facts of a turn about what the state asks for; what is measured at `at` was never counted before."""
    closed = at if frame.keys() & {"verdict", "token_times"} else 0.0
    known: Frame = {"subject": state.subject, "speculating": not state.serves_baseline, "closed": closed}
    return facts(**(known | frame))


def strip(state: State, *frames: tuple[float, Frame]) -> list[State]:
    """The states after each frame. Advancing once more by the same facts never makes a difference."""
    states = []
    for at, frame in frames:
        now = facts_at(state, at, frame)
        state = advance(state, now, at)
        assert advance(state, now, at) == state, f"not idempotent at {at} s: {frame}"
        states.append(state)
    return states


def fired(state: State, *frames: tuple[float, Frame]) -> Iterator[tuple[Phase, TransitionRule]]:
    """The rules that a strip fires, in turn."""
    for at, frame in frames:
        now = facts_at(state, at, frame)
        after = note_observations(state, now, at)
        for phase, rule, follows in _steps(after, now, at):
            yield phase, rule
            after = follows
        assert after == advance(state, now, at), "these steps are not those of advance"
        state = after


def _steps(state: State, now: Observation, at: float) -> Iterator[tuple[Phase, TransitionRule, State]]:
    while rule := next((each for each in TABLE[state.phase] if each.when(state, now, at)), None):
        after = rule.then(state, now, at)
        if after == state:
            return
        yield state.phase, rule, after
        if not now.is_about(after):
            return
        state = after
