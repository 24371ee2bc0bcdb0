"""Which decision counts: ours, unless another operator has written a later one.

There should be no other, for there is a Lease. Where it is switched off by mistake, two that each trusted their own
memory would put back what the other takes out for as long as their windows differ.
"""

from specdec_operator.control.durable import state_of
from specdec_operator.control.memory import Memory
from specdec_operator.control.sis import Sis
from specdec_operator.guard.state import State


def standing(memory: Memory, sis: Sis, now: float) -> State | None:
    """The state to go on from; None where there is none yet. Forgets ours where it is overruled.

    The version tells an echo of our own writes, however late, from what others wrote after them. An older decision
    than ours is written over again, as it is compared with from now on.
    """
    if memory.state is not None and not 0 < memory.version < sis.version:
        return memory.state
    shown = state_of(sis.status, now)
    if memory.state is None or shown is None or _decisions(shown) == _decisions(memory.state):
        return memory.state or shown
    memory.written = sis.status
    if _decisions(shown) < _decisions(memory.state):
        return memory.state
    memory.state = memory.watched = memory.judged = None
    return shown


def _decisions(state: State) -> tuple[int, int]:
    """How many were made; restarts are counted anew after each of the others."""
    return state.rollbacks + state.retries, state.restarts
