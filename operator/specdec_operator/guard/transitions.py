"""The state machine, as a table: in each phase, the first rule that applies decides what follows.

A rollback is not an action: it is a state for which `plan` gives other flags.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from specdec_operator.guard import doubt, memory, tries
from specdec_operator.guard import effects as do
from specdec_operator.guard import triggers as on
from specdec_operator.guard.state import Observation, Phase, State


@dataclass(frozen=True, slots=True)
class Rule:
    """When something happens, and what follows. Both are small functions whose docstrings are the documentation."""

    when: Callable[[State, Observation, float], bool]
    then: Callable[[State, Observation, float], State]


TABLE: Final[Mapping[Phase, tuple[Rule, ...]]] = MappingProxyType(
    {
        Phase.MEASURING_BASELINE: (
            Rule(on.measuring_is_not_wanted, do.speculate),
            Rule(on.other_pods_fail, do.stall),
            Rule(on.other_pods_are_up, do.start_measuring),
            Rule(on.baseline_is_known, do.speculate),
            Rule(on.baseline_took_too_long, do.speculate),
        ),
        Phase.ROLLING_OUT: (
            Rule(tries.a_try_starts_no_engine, tries.give_the_try_up),
            Rule(on.no_engine_can_start, do.stall),
            Rule(memory.start_runs_out_of_memory, memory.answer_a_lack_of_memory),
            Rule(on.pods_with_speculation_fail, do.answer_a_failed_rollout),
            Rule(on.pods_fail, do.stall),
            Rule(on.pods_to_watch_are_up, do.warm_up),
            Rule(on.pods_are_up, do.enter_serving),
        ),
        Phase.WARMING_UP: (
            Rule(on.other_pods_are_asked_for, do.roll_out),
            Rule(on.guard_is_off, do.enter_serving),
            Rule(on.pods_keep_failing, do.answer_pod_failures),
            Rule(doubt.plain_pods_are_not_wanted, doubt.remove_plain_pods),
            Rule(doubt.plain_pods_are_always_wanted, doubt.keep_plain_pods),
            Rule(on.warmup_is_over, do.watch),
        ),
        Phase.WATCHING: (
            Rule(on.other_pods_are_asked_for, do.roll_out),
            Rule(on.guard_is_off, do.enter_serving),
            Rule(on.pods_keep_failing, do.answer_pod_failures),
            Rule(tries.retry_is_due, tries.retry),
            Rule(doubt.plain_pods_are_not_wanted, doubt.remove_plain_pods),
            Rule(doubt.plain_pods_are_always_wanted, doubt.keep_plain_pods),
            Rule(doubt.plain_pod_finds_no_room, doubt.replace_one_pod),
            Rule(doubt.plain_pods_serve, doubt.note_plain_pods),
            Rule(doubt.plain_pods_come_to_nothing, doubt.do_without_plain_pods),
            Rule(doubt.draft_is_acquitted, doubt.acquit),
            Rule(doubt.speed_is_in_doubt, doubt.ask_for_plain_pod),
            Rule(doubt.doubt_waits, doubt.wait_for_evidence),
            Rule(doubt.one_pod_is_in_doubt, doubt.serve_plain_for_a_while),
            Rule(on.a_broken_pod_was_restarted_before, do.pod_is_left_alone),
            Rule(on.last_failing_window, do.answer_failing_windows),
            Rule(on.failing_window, do.window_failed),
            Rule(on.passing_window, do.window_passed),
            Rule(on.window_is_quiet, do.window_quiet),
            Rule(on.window_proves_nothing, do.window_inconclusive),
        ),
        Phase.RESPONDING: (
            Rule(memory.start_runs_out_of_memory, memory.answer_a_lack_of_memory),
            Rule(on.safer_speculation_fails, do.answer_a_failed_rollout),
            Rule(on.pods_fail_or_cannot_start, do.stall),
            Rule(on.pods_to_watch_are_up, do.warm_up),
            Rule(on.pods_are_up, do.enter_rolled_back),
        ),
        Phase.ROLLED_BACK: (
            Rule(doubt.speculation_was_not_slower, doubt.bring_it_back),
            Rule(doubt.plain_is_settled, doubt.stay_plain),
            Rule(tries.retry_is_due, tries.retry),
            Rule(on.other_pods_fail, do.stall),
            Rule(on.other_pods_are_up, do.note_revision),
        ),
        Phase.STALLED: (
            Rule(on.user_has_acted, do.resume),
            Rule(on.pods_are_up, do.leave_stalled),
            Rule(on.engines_can_start_after_stall, do.give_them_their_time),
        ),
        Phase.SERVING: (
            Rule(on.other_pods_are_asked_for, do.roll_out),
            Rule(on.guard_is_on, do.warm_up),
        ),
    }
)


def advance(state: State, observation: Observation, now: float) -> State:
    """The next state. It is equal to `state` if nothing happened. A second call with the same observation changes
    nothing.

    It stops as soon as the state requests something that the observation is not about.
    """
    if not observation.is_about(state):
        return state
    state = do.note_observations(state, observation, now)
    for _ in Phase:
        after = _step(state, observation, now)
        if not observation.is_about(after):
            return after
        if after == state:
            break
        state = after
    return do.make_room(state, observation, now)


def _step(state: State, observation: Observation, now: float) -> State:
    for rule in TABLE[state.phase]:
        if rule.when(state, observation, now):
            return rule.then(state, observation, now)
    return state
