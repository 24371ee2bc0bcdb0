"""When a loop looks again if nothing wakes it."""

from math import inf
from typing import Final

from specdec_operator.control.memory import Memory
from specdec_operator.errors import Unavailable
from specdec_operator.guard.occasions import retry_at
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import Phase, State

RETRY: Final = 5.0
"""Seconds to the next look at what is on its way."""
RESYNC: Final = 300.0
"""Seconds to the next look at what stands."""


def seconds_to_next(state: State, memory: Memory, policy: Policy, *, looks: bool, now: float) -> float:
    """Seconds until something is due; events wake the loop earlier. looks: whether the pods are being read."""
    due = [next_due(state, memory, policy, now)]
    if looks:
        due.append(memory.watched.due if memory.watched else now)
    elif state.phase in (Phase.WATCHING, Phase.WARMING_UP, Phase.MEASURING_BASELINE):
        warm = state.since + policy.warmup
        due.append(warm if warm > now else now + RETRY)
    return max(0.0, min(due) - now)


def next_due(state: State, memory: Memory, policy: Policy, now: float) -> float:
    """When something else than a reading is due, epoch seconds."""
    tries = policy.acts and state.phase in (Phase.WATCHING, Phase.ROLLED_BACK)
    due = [now + RESYNC, (retry_at(state, policy) if tries else None) or inf]
    if memory.contest.waits:
        due.append(memory.contest.due)
    match state.phase:
        case Phase.ROLLING_OUT | Phase.RESPONDING:
            due.append(now + RETRY)
        case Phase.ROLLED_BACK | Phase.SERVING if state.since + policy.warmup > now:
            due.append(state.since + policy.warmup)
    return min(due)


def seconds_to_retry(error: Unavailable) -> float:
    """Seconds until what could not be done is tried again: as long as the server asks for, within reason."""
    return min(RESYNC, max(RETRY, error.after))
