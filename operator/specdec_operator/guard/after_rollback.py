"""What is watched after a rollback for pods that fail: whether the baseline's pods fail too. Then the draft was not the
cause, and speculation returns.

Nothing flaps: each return is one of the retries, and for a day after it, then two, four and seven, failures of that
kind do not end speculation. Docstrings of rules are lines of the documentation.
"""

from dataclasses import replace
from typing import Final

from specdec_operator.guard.decisions import BaselineFailure
from specdec_operator.guard.pods import (
    MOST_FAILURES,
    PodFault,
    downtime_summary,
    hanging,
    held,
    pods_are_down_too_long,
    summary,
)
from specdec_operator.guard.state import Observation, State
from specdec_operator.guard.tries import retries_are_left, retry

_FOR_PODS: Final = frozenset(each.value for each in PodFault)


def baseline_fails_too(state: State, observation: Observation, now: float) -> bool:
    """Speculation was taken out for pods that fail, baseline pods now fail as often and for the same reason, and
    retries are left.
    """
    rollback = state.rollback
    if rollback is None or rollback.reason not in _FOR_PODS or not observation.policy.acts:
        return False
    found = _found(state, observation, now)
    return found is not None and found[0] == rollback.reason and retries_are_left(state, observation.policy)


def return_to_speculation(state: State, observation: Observation, now: float) -> State:
    """RollingOut, with the requested speculation; one retry less. For a day, failures for this reason do not end
    speculation; after each further such decision twice as long, a week at most.
    """
    reason, message = _found(state, observation, now) or ("", "")
    before = state.baseline_fails
    times = 1 + (before.times if before is not None and before.reason == reason else 0)
    found = BaselineFailure(reason=reason, message=f"baseline pods fail too: {message}", at=now, times=times)
    return replace(retry(state, observation, now), baseline_fails=found)


def _found(state: State, observation: Observation, now: float) -> tuple[str, str] | None:
    """Why baseline pods fail, in a word and a sentence, by the limits that hold for those with speculation."""
    failures = held(state.pod_failures)
    if len(failures) >= MOST_FAILURES:
        return summary(failures)
    return downtime_summary(state, observation, now) if pods_are_down_too_long(state, observation, now) else None


def a_baseline_engine_hangs(state: State, observation: Observation, now: float) -> bool:
    """An engine without speculation hangs, as in Watching."""
    return observation.policy.acts and not state.restarting and hanging(state, observation) is not None


def restart_it(state: State, observation: Observation, now: float) -> State:
    """Its pod is evicted, one at a time."""
    failure = hanging(state, observation)
    return state if failure is None else replace(state, restarting=(failure.pod,), restarts=state.restarts + 1)
