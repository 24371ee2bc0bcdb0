"""The state machine, as a table: in each phase, the first rule whose time has come says what follows.

A rollback is no action: it is a state for which `plan` gives other flags.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from specdec_operator.guard import effects as do
from specdec_operator.guard import occasions as on
from specdec_operator.guard.facts import Facts
from specdec_operator.guard.state import Phase, State


@dataclass(frozen=True, slots=True)
class Rule:
    """When something happens, and what follows. Both are small functions whose docstrings are the documentation."""

    when: Callable[[State, Facts, float], bool]
    then: Callable[[State, Facts, float], State]


TABLE: Final[Mapping[Phase, tuple[Rule, ...]]] = MappingProxyType(
    {
        Phase.MEASURING_BASELINE: (
            Rule(on.measuring_is_not_wanted, do.speculate),
            Rule(on.other_pods_fail, do.stall),
            Rule(on.other_pods_are_up, do.settle),
            Rule(on.baseline_is_known, do.speculate),
            Rule(on.baseline_took_too_long, do.speculate),
        ),
        Phase.ROLLING_OUT: (
            Rule(on.no_pods_can_be_made, do.stall),
            Rule(on.pods_with_speculation_fail, do.answer_a_failed_rollout),
            Rule(on.pods_fail, do.stall),
            Rule(on.pods_to_watch_are_up, do.warm_up),
            Rule(on.pods_are_up, do.serve),
        ),
        Phase.WARMING_UP: (
            Rule(on.other_pods_are_asked_for, do.roll_out),
            Rule(on.guard_is_off, do.serve),
            Rule(on.warmup_is_over, do.watch),
        ),
        Phase.WATCHING: (
            Rule(on.other_pods_are_asked_for, do.roll_out),
            Rule(on.guard_is_off, do.serve),
            Rule(on.retry_is_due, do.retry),
            Rule(on.last_failing_window, do.answer_failing_windows),
            Rule(on.failing_window, do.count),
            Rule(on.passing_window, do.remember),
            Rule(on.window_proves_nothing, do.forgive),
        ),
        Phase.RESPONDING: (
            Rule(on.safer_speculation_fails, do.answer_a_failed_rollout),
            Rule(on.pods_fail_or_cannot_be_made, do.stall),
            Rule(on.pods_to_watch_are_up, do.warm_up),
            Rule(on.pods_are_up, do.rest),
        ),
        Phase.ROLLED_BACK: (
            Rule(on.retry_is_due, do.retry),
            Rule(on.other_pods_fail, do.stall),
            Rule(on.other_pods_are_up, do.note_revision),
        ),
        Phase.STALLED: (
            Rule(on.user_has_acted, do.resume),
            Rule(on.pods_are_up, do.heal),
            Rule(on.pods_on_trial_are_made_at_last, do.give_them_their_time),
        ),
        Phase.SERVING: (
            Rule(on.other_pods_are_asked_for, do.roll_out),
            Rule(on.guard_is_on, do.warm_up),
        ),
    }
)


def advance(state: State, facts: Facts, now: float) -> State:
    """The next state. Equal to `state` when nothing happened; advancing twice by the same facts is advancing once.

    It ends where something else is to be served than the facts are about: they say nothing about that.
    """
    if not facts.is_about(state):
        return state
    state = do.take_note(state, facts, now)
    for _ in Phase:
        after = _step(state, facts, now)
        if after == state or not facts.is_about(after):
            return after
        state = after
    return state


def _step(state: State, facts: Facts, now: float) -> State:
    for rule in TABLE[state.phase]:
        if rule.when(state, facts, now):
            return rule.then(state, facts, now)
    return state
