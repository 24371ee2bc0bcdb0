"""The state machine, as a table: in each phase, the first rule that applies decides what follows.

A rollback is not an action: it is a state for which `plan` gives other flags.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from specdec_operator.guard import adapt, after_rollback, dial_first, memory, pods, rollout, speed, tries
from specdec_operator.guard import windows_in_a_row as windows
from specdec_operator.guard.state import Observation, Phase, State


@dataclass(frozen=True, slots=True)
class TransitionRule:
    """When something happens, and what follows. Both are small functions whose docstrings are the documentation."""

    when: Callable[[State, Observation, float], bool]
    then: Callable[[State, Observation, float], State]


TABLE: Final[Mapping[Phase, tuple[TransitionRule, ...]]] = MappingProxyType(
    {
        Phase.MEASURING_BASELINE: (
            TransitionRule(speed.measuring_is_not_wanted, speed.speculate),
            TransitionRule(rollout.other_pods_fail, rollout.stall),
            TransitionRule(rollout.other_pods_are_up, speed.start_measuring),
            TransitionRule(speed.baseline_is_known, speed.speculate),
            TransitionRule(speed.baseline_took_too_long, speed.speculate),
        ),
        Phase.ROLLING_OUT: (
            # A try gives way to what served before it; only then is a lack of room the user's to mend.
            TransitionRule(tries.a_try_starts_no_engine, tries.give_the_try_up),
            TransitionRule(rollout.no_engine_can_start, rollout.stall),
            TransitionRule(memory.start_runs_out_of_memory, memory.answer_a_lack_of_memory),
            TransitionRule(rollout.pods_with_speculation_fail, rollout.answer_a_failed_rollout),
            TransitionRule(rollout.pods_fail, rollout.stall),
            TransitionRule(rollout.pods_to_watch_are_up, rollout.warm_up),
            TransitionRule(rollout.pods_are_up, rollout.enter_serving),
        ),
        Phase.WARMING_UP: (
            TransitionRule(rollout.other_pods_are_asked_for, rollout.roll_out),
            TransitionRule(rollout.guard_is_off, rollout.enter_serving),
            TransitionRule(pods.pods_keep_failing, pods.answer_pod_failures),
            TransitionRule(pods.pods_are_down_too_long, pods.answer_downtime),
            TransitionRule(speed.baseline_pods_are_not_wanted, speed.remove_baseline_pods),
            TransitionRule(speed.baseline_pods_are_always_wanted, speed.keep_baseline_pods),
            TransitionRule(rollout.warmup_is_over, rollout.watch),
        ),
        Phase.WATCHING: (
            # First what the user requests, then pods that fail: neither needs a window.
            TransitionRule(rollout.other_pods_are_asked_for, rollout.roll_out),
            TransitionRule(rollout.guard_is_off, rollout.enter_serving),
            TransitionRule(pods.pods_keep_failing, pods.answer_pod_failures),
            TransitionRule(pods.pods_are_down_too_long, pods.answer_downtime),
            TransitionRule(pods.an_engine_hangs, pods.restart_the_engine),
            TransitionRule(dial_first.fewer_tokens_are_not_followed, dial_first.roll_fewer_tokens_out),
            TransitionRule(tries.retry_is_due, tries.retry),
            TransitionRule(adapt.rows_are_not_wanted, adapt.drop_rows),
            TransitionRule(adapt.rows_are_not_followed, adapt.do_without_rows),
            TransitionRule(adapt.other_rows_pay, adapt.set_rows),
            # Baseline pods and doubts come before windows: a window in doubt is not counted as a failing one.
            TransitionRule(speed.baseline_pods_are_not_wanted, speed.remove_baseline_pods),
            TransitionRule(speed.baseline_pods_are_always_wanted, speed.keep_baseline_pods),
            TransitionRule(speed.baseline_pod_finds_no_room, speed.replace_one_pod),
            TransitionRule(speed.baseline_pods_serve, speed.note_baseline_pods),
            TransitionRule(speed.baseline_pods_come_to_nothing, speed.do_without_baseline_pods),
            TransitionRule(speed.draft_is_acquitted, speed.acquit),
            TransitionRule(speed.speed_is_in_doubt, speed.ask_for_baseline_pod),
            TransitionRule(speed.doubt_waits, speed.wait_for_evidence),
            TransitionRule(speed.one_pod_is_in_doubt, speed.serve_baseline_for_a_while),
            # Windows, each rule narrower than the ones below it.
            TransitionRule(pods.a_broken_pod_was_restarted_before, pods.pod_is_left_alone),
            TransitionRule(windows.last_failing_window, windows.answer_failing_windows),
            TransitionRule(windows.failing_window, windows.window_failed),
            TransitionRule(windows.passing_window, windows.window_passed),
            TransitionRule(windows.window_is_quiet, windows.window_quiet),
            TransitionRule(windows.window_proves_nothing, windows.window_inconclusive),
        ),
        Phase.DIALLED: (
            TransitionRule(dial_first.no_dial_was_decided, dial_first.begin_again),
            TransitionRule(dial_first.guard_only_observes, dial_first.begin_again),
            TransitionRule(rollout.other_pods_are_asked_for, rollout.roll_out),
            TransitionRule(rollout.guard_is_off, rollout.enter_serving),
            TransitionRule(pods.pods_keep_failing, pods.answer_pod_failures),
            TransitionRule(pods.pods_are_down_too_long, pods.answer_downtime),
            TransitionRule(pods.an_engine_hangs, pods.restart_the_engine),
            # Recovered comes before standing: a window may be the last that both need.
            TransitionRule(dial_first.dial_is_not_followed, dial_first.give_way),
            TransitionRule(dial_first.acceptance_recovered, dial_first.dial_up),
            TransitionRule(dial_first.failure_stands, dial_first.roll_back),
            TransitionRule(dial_first.probes_were_judged, dial_first.note_probes),
        ),
        Phase.RESPONDING: (
            TransitionRule(memory.start_runs_out_of_memory, memory.answer_a_lack_of_memory),
            TransitionRule(rollout.safer_speculation_fails, rollout.answer_a_failed_rollout),
            TransitionRule(rollout.pods_fail_or_cannot_start, rollout.stall),
            TransitionRule(rollout.pods_to_watch_are_up, rollout.warm_up),
            TransitionRule(rollout.pods_are_up, rollout.enter_rolled_back),
        ),
        Phase.ROLLED_BACK: (
            TransitionRule(speed.speculation_was_not_slower, speed.bring_it_back),
            TransitionRule(speed.baseline_is_settled, speed.stay_with_baseline),
            TransitionRule(after_rollback.baseline_fails_too, after_rollback.return_to_speculation),
            TransitionRule(after_rollback.a_baseline_engine_hangs, after_rollback.restart_it),
            TransitionRule(tries.retry_is_due, tries.retry),
            TransitionRule(rollout.other_pods_fail, rollout.stall),
            TransitionRule(rollout.other_pods_are_up, rollout.note_revision),
        ),
        Phase.STALLED: (
            TransitionRule(rollout.user_has_acted, rollout.resume),
            TransitionRule(rollout.pods_are_up, rollout.leave_stalled),
            TransitionRule(rollout.engines_can_start_after_stall, rollout.give_them_their_time),
        ),
        Phase.SERVING: (
            TransitionRule(rollout.other_pods_are_asked_for, rollout.roll_out),
            TransitionRule(rollout.guard_is_on, rollout.warm_up),
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
    state = note_observations(state, observation, now)
    for _ in Phase:
        after = _step(state, observation, now)
        if not observation.is_about(after):
            return after
        if after == state:
            break
        state = after
    return rollout.make_room(state, observation, now)


def note_observations(state: State, observation: Observation, now: float) -> State:
    """Notes, in every phase, the baseline speed, what leaving the draft out costs, the pods that were restarted or
    fail, and a rollback that serves.
    """
    state = speed.note_off_cost(state, observation)
    noted = rollout.note_rollback(speed.note_baseline_window(state, observation), observation)
    return pods.note_pods(noted, observation, now)


def _step(state: State, observation: Observation, now: float) -> State:
    for rule in TABLE[state.phase]:
        if rule.when(state, observation, now):
            return rule.then(state, observation, now)
    return state
