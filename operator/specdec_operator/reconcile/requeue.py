"""When a service is looked at again if nothing wakes it."""

from math import inf
from typing import Final

from specdec_operator.errors import Unavailable
from specdec_operator.guard.dial import probe
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.tries import retry_at
from specdec_operator.reconcile.memory import ServiceMemory

RETRY: Final = 5.0
"""Seconds to the next look at what is on its way."""
RESYNC: Final = 300.0
"""Seconds to the next look at what stands."""


def next_due(state: State, memory: ServiceMemory, policy: Policy, now: float) -> float:
    """When the next full reconcile is due, epoch seconds; events and closing windows bring it earlier."""
    tries = policy.acts and state.phase in (Phase.WATCHING, Phase.ROLLED_BACK)
    due = [now + RESYNC, (retry_at(state, policy) if tries else None) or inf]
    if state.control is not None and not state.control.up:
        due.append(now + RETRY)
    if memory.conflict.waits:
        due.append(memory.conflict.due)
    warm = state.since + policy.warmup
    if state.dial is not None:
        due.append(probe(state.dial.at, policy.settle, now)[1])
    match state.phase:
        case Phase.ROLLING_OUT | Phase.RESPONDING:
            due.append(now + RETRY)
        case Phase.ROLLED_BACK | Phase.SERVING if warm > now:
            due.append(warm)
        case Phase.WATCHING | Phase.WARMING_UP | Phase.DIALLED | Phase.MEASURING_BASELINE if memory.sampling is None:
            due.append(warm if warm > now else now + RETRY)
    return min(due)


def next_reconcile(memory: ServiceMemory, now: float) -> tuple[float, bool]:
    """When the next reconcile is due, epoch seconds, and whether for nothing but a reading of the pods' counters."""
    reading = memory.sampling is not None and (memory.window is None or memory.window.due < memory.due)
    due = (memory.window.due if memory.window else now) if reading else memory.due
    if memory.unsent and not memory.to_send(now):  # else they are sent with this result
        due = min(due, memory.send_at)
    return due, reading


def retry_after(error: Unavailable) -> float:
    """Seconds until what could not be done is tried again: as long as the server asks for, within reason."""
    return min(RESYNC, max(RETRY, error.after))
