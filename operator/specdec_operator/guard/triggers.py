"""When something happens: the left column of the transition table. Each docstring is a line of the documentation."""

from specdec_operator.guard.effects import counted, is_fresh, regret_after
from specdec_operator.guard.memory import may_lower
from specdec_operator.guard.pods import MOST_FAILURES, held, lacking_memory
from specdec_operator.guard.state import Observation, State
from specdec_operator.guard.verdict import BY_ACCEPTANCE, Outcome
from specdec_operator.observe.rollout import Progress


def measuring_is_not_wanted(_: State, observation: Observation, now: float) -> bool:
    """`guard.baseline` is no longer MeasureFirst, or the mode is not Enforce."""
    return not observation.policy.measures


ENOUGH_BLOCKS = 16
"""Blocks of time at one load that make a baseline: two windows' worth. With one window's, the gate misses more."""


def baseline_is_known(state: State, observation: Observation, now: float) -> bool:
    """The baseline's time per output token is known at a load."""
    known = any(each.known and each.token_time.times.blocks >= ENOUGH_BLOCKS for each in state.baseline)
    return known and _is_measured(state, observation)


def baseline_took_too_long(state: State, observation: Observation, now: float) -> bool:
    """Ten windows have passed since the pods without speculation became ready."""
    limit = observation.policy.warmup + observation.policy.baseline_limit
    return now - state.since >= limit and _is_measured(state, observation)


def _is_measured(state: State, observation: Observation) -> bool:
    return observation.revision == state.revision and not observation.policy.held


def pods_are_up(_: State, observation: Observation, now: float) -> bool:
    """The rollout is complete."""
    return observation.rollout.progress is Progress.COMPLETE


def pods_to_watch_are_up(state: State, observation: Observation, now: float) -> bool:
    """The rollout is complete, the pods speculate, and the guard is on."""
    return guard_is_on(state, observation, now) and pods_are_up(state, observation, now)


def other_pods_are_up(state: State, observation: Observation, now: float) -> bool:
    """Pods of another revision are rolled out, and the rollout is complete."""
    return observation.revision != state.revision and pods_are_up(state, observation, now)


def pods_fail(_: State, observation: Observation, now: float) -> bool:
    """The pods crash, are rejected by the preflight, run out of memory, or miss the deadline."""
    return observation.rollout.progress is Progress.FAILED


def pods_with_speculation_fail(state: State, observation: Observation, now: float) -> bool:
    """Pods with speculation crash, are rejected by the preflight, run out of memory, or miss the deadline."""
    return guard_is_on(state, observation, now) and pods_fail(state, observation, now)


def no_engine_can_start(_: State, observation: Observation, now: float) -> bool:
    """The deadline has passed, and KServe created no Deployment, the cluster admitted no pod, or the pods are still
    downloading models or pulling images. Speculation is not the cause.
    """
    return observation.rollout.progress is Progress.BLOCKED


def pods_fail_or_cannot_start(state: State, observation: Observation, now: float) -> bool:
    """The pods do not come up, for any reason."""
    return pods_fail(state, observation, now) or no_engine_can_start(state, observation, now)


def safer_speculation_fails(state: State, observation: Observation, now: float) -> bool:
    """The pods with less memory, fewer tokens, or the last good speculation do not come up, and the guard may act."""
    return observation.speculating and pods_fail_or_cannot_start(state, observation, now) and observation.policy.acts


def other_pods_fail(state: State, observation: Observation, now: float) -> bool:
    """Pods of another revision are rolled out, and do not come up."""
    return observation.revision != state.revision and pods_fail_or_cannot_start(state, observation, now)


def other_pods_are_asked_for(state: State, observation: Observation, now: float) -> bool:
    """The spec requests other pods."""
    return observation.revision != state.revision


def guard_is_off(state: State, observation: Observation, now: float) -> bool:
    """The guard's mode is Off, or nothing speculates."""
    return not guard_is_on(state, observation, now)


def guard_is_on(_: State, observation: Observation, now: float) -> bool:
    """The pods speculate and the guard's mode is not Off."""
    return observation.guarded


def pods_keep_failing(state: State, observation: Observation, now: float) -> bool:
    """Three times within an hour, engines of the watched pods crashed or were not ready for two minutes. Or an engine
    ran out of memory, and the guard can lower its memory.
    """
    failures = held(state.pod_failures)
    return len(failures) >= MOST_FAILURES or (bool(lacking_memory(failures)) and may_lower(state, observation))


def warmup_is_over(state: State, observation: Observation, now: float) -> bool:
    """`guard.warmup` is over."""
    return now - state.since >= observation.policy.warmup


def a_broken_pod_was_restarted_before(state: State, observation: Observation, now: float) -> bool:
    """One pod fails, all pods together do not, and a pod was restarted within the hour."""
    verdict = observation.verdict
    beside = verdict is not None and bool(verdict.pods) and verdict.together is not Outcome.FAIL
    return beside and state.restarts > 0 and failing_window(state, observation, now)


def last_failing_window(state: State, observation: Observation, now: float) -> bool:
    """`failureLimit` windows in a row failed severely, and their combined evidence is significant. Or a window fails
    for acceptance, and `regretBudget` is spent. Or the comparison with baseline pods decides.
    """
    verdict = observation.verdict
    if verdict is None or not failing_window(state, observation, now):
        return False
    if verdict.final:
        return True
    if verdict.reason in BY_ACCEPTANCE and regret_after(state, observation) >= observation.policy.regret_budget:
        return True
    enough = counted(state, observation).failures >= observation.policy.failure_limit  # others begin another row
    return enough and verdict.severe and verdict.settled


def failing_window(state: State, observation: Observation, now: float) -> bool:
    """A window has failed."""
    return _closed(state, observation, Outcome.FAIL)


def passing_window(state: State, observation: Observation, now: float) -> bool:
    """A window has passed."""
    return _closed(state, observation, Outcome.PASS)


def window_is_quiet(state: State, observation: Observation, now: float) -> bool:
    """A window had too little traffic to judge."""
    verdict = observation.verdict
    return _closed(state, observation, Outcome.INCONCLUSIVE) and verdict is not None and verdict.quiet


def window_proves_nothing(state: State, observation: Observation, now: float) -> bool:
    """A window was inconclusive."""
    return _closed(state, observation, Outcome.INCONCLUSIVE)


def _closed(state: State, observation: Observation, outcome: Outcome) -> bool:
    verdict = observation.verdict
    return is_fresh(state, observation) and verdict is not None and verdict.outcome is outcome


def user_has_acted(state: State, observation: Observation, now: float) -> bool:
    """The spec now requests other pods than those that failed."""
    return state.wanted_since > state.since


def engines_can_start_after_stall(state: State, observation: Observation, now: float) -> bool:
    """A pod can start its engine now. Before, none could."""
    return guard_is_on(state, observation, now) and not no_engine_can_start(state, observation, now)
