"""When a loop looks again if nothing wakes it."""

from typing import Final

from specdec_operator.control.memory import Memory
from specdec_operator.guard.state import Phase, State

RETRY: Final = 5.0
"""Seconds to the next look at what is on its way."""
RESYNC: Final = 300.0
"""Seconds to the next look at what stands."""


def seconds_to_next(state: State, memory: Memory, warmup: float, now: float) -> float:
    """Seconds until something is due; events wake the loop earlier."""
    match state.phase:
        case Phase.WATCHING:
            return max(0.0, (memory.next_look if memory.window else now) - now)
        case Phase.WARMING_UP:
            return max(0.0, state.since + warmup - now)
        case Phase.ROLLING_OUT | Phase.RESPONDING:
            return RETRY
        case Phase.ROLLED_BACK | Phase.STALLED | Phase.SERVING:
            return RESYNC
