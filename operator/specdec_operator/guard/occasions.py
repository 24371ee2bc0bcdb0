"""When something happens: the left column of the transition table. Each docstring is a line of the documentation."""

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.asked import BY_REQUEST
from specdec_operator.guard.effects import counted, is_fresh
from specdec_operator.guard.facts import Facts
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import State
from specdec_operator.guard.verdict import Outcome
from specdec_operator.serving.rollout import Progress


def measuring_is_not_wanted(_: State, facts: Facts, now: float) -> bool:
    """`guard.baseline` is not MeasureFirst any more, or the mode is not Enforce."""
    return not facts.policy.measures


def baseline_is_known(state: State, facts: Facts, now: float) -> bool:
    """The plain service's time per output token is known at a load."""
    settled = facts.revision == state.revision and not facts.policy.held
    return settled and any(each.known and each.pace.times.blocks >= ENOUGH_BLOCKS for each in state.baseline)


def baseline_took_too_long(state: State, facts: Facts, now: float) -> bool:
    """Ten windows have passed since the plain pods were up."""
    settled = facts.revision == state.revision and not facts.policy.held
    return settled and now - state.since >= facts.policy.warmup + facts.policy.baseline_limit


def pods_are_up(_: State, facts: Facts, now: float) -> bool:
    """The Deployment is fully on these pods."""
    return facts.rollout.progress is Progress.COMPLETE


def pods_to_watch_are_up(state: State, facts: Facts, now: float) -> bool:
    """The Deployment is fully on these pods, which speculate, and the guard is on."""
    return guard_is_on(state, facts, now) and pods_are_up(state, facts, now)


def other_pods_are_up(state: State, facts: Facts, now: float) -> bool:
    """Pods of another revision were asked for, and the Deployment is fully on them."""
    return facts.revision != state.revision and pods_are_up(state, facts, now)


def pods_fail(_: State, facts: Facts, now: float) -> bool:
    """The pods crash, are refused by the preflight, run out of memory, or miss the deadline."""
    return facts.rollout.progress is Progress.FAILED


def pods_with_speculation_fail(state: State, facts: Facts, now: float) -> bool:
    """Pods that speculate crash, are refused by the preflight, run out of memory, or miss the deadline."""
    return guard_is_on(state, facts, now) and pods_fail(state, facts, now)


def no_pods_can_be_made(_: State, facts: Facts, now: float) -> bool:
    """KServe has made no Deployment by the deadline: nothing speaks against speculation."""
    return facts.rollout.progress is Progress.BLOCKED


def pods_fail_or_cannot_be_made(state: State, facts: Facts, now: float) -> bool:
    """The pods do not come up, for whatever reason."""
    return pods_fail(state, facts, now) or no_pods_can_be_made(state, facts, now)


def safer_speculation_fails(state: State, facts: Facts, now: float) -> bool:
    """Fewer tokens, or the last good speculation, do not come up."""
    return facts.speculating and pods_fail_or_cannot_be_made(state, facts, now) and facts.policy.acts


def other_pods_fail(state: State, facts: Facts, now: float) -> bool:
    """Pods of another revision were asked for and do not come up."""
    return facts.revision != state.revision and pods_fail_or_cannot_be_made(state, facts, now)


def other_pods_are_asked_for(state: State, facts: Facts, now: float) -> bool:
    """The spec asks for other pods."""
    return facts.revision != state.revision


def guard_is_off(state: State, facts: Facts, now: float) -> bool:
    """The guard's mode is Off, or nothing speculates."""
    return not guard_is_on(state, facts, now)


def guard_is_on(_: State, facts: Facts, now: float) -> bool:
    """The pods speculate and the guard's mode is not Off."""
    return facts.speculating and facts.policy.mode is not GuardMode.OFF


def warmup_is_over(state: State, facts: Facts, now: float) -> bool:
    """`guard.warmup` is over."""
    return now - state.since >= facts.policy.warmup


def retry_is_due(state: State, facts: Facts, now: float) -> bool:
    """`guard.retry.after`, doubled with each try, is over; tries are left; it was not the user who rolled back."""
    due = retry_at(state, facts.policy)
    return due is not None and now >= due and facts.policy.acts


def retry_at(state: State, policy: Policy) -> float | None:
    """When the speculation that is asked for is tried again, epoch seconds; None: not by itself."""
    decision = state.rollback or state.reduced
    if decision is None or decision.reason == BY_REQUEST or policy.retry_after is None:
        return None
    return decision.at + policy.retry_after * 2**state.retries if state.retries < policy.retry_limit else None


def last_failing_window(state: State, facts: Facts, now: float) -> bool:
    """`failureLimit` windows in a row have failed, and their evidence together is beyond doubt."""
    enough = counted(state, facts).failures >= facts.policy.failure_limit  # pods that differ begin another row
    return failing_window(state, facts, now) and enough and facts.verdict is not None and facts.verdict.settled


def failing_window(state: State, facts: Facts, now: float) -> bool:
    """A window has failed."""
    return is_fresh(state, facts) and facts.verdict is not None and facts.verdict.outcome is Outcome.FAIL


def passing_window(state: State, facts: Facts, now: float) -> bool:
    """A window has passed."""
    return is_fresh(state, facts) and facts.verdict is not None and facts.verdict.outcome is Outcome.PASS


def window_proves_nothing(state: State, facts: Facts, now: float) -> bool:
    """A window was inconclusive."""
    return is_fresh(state, facts) and facts.verdict is not None and facts.verdict.outcome is Outcome.INCONCLUSIVE


def user_has_acted(state: State, facts: Facts, now: float) -> bool:
    """Other pods are asked for than those that failed."""
    return state.wanted_since > state.since


def pods_on_trial_are_made_at_last(state: State, facts: Facts, now: float) -> bool:
    """There are pods to be watched after all, where there were none."""
    return guard_is_on(state, facts, now) and not no_pods_can_be_made(state, facts, now)


ENOUGH_BLOCKS = 16
"""Blocks of time at one load that make a baseline: two windows' worth. With one window's, the gate misses more."""
