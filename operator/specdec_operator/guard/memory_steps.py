"""Out of memory as an engine starts: it is started with less, before anything else is tried.

Docstrings of rules are lines of the documentation.
"""

from specdec_engine.out_of_memory import OUT_OF_MEMORY
from specdec_operator.guard.lowering import MOST_STEPS, Lowering
from specdec_operator.guard.remediation import may_lower, respond
from specdec_operator.guard.state import Observation, Reduction, Rollback, State
from specdec_operator.guard.triggers import guard_is_on


def start_runs_out_of_memory(state: State, observation: Observation, now: float) -> bool:
    """A pod that speculates runs out of memory as it starts, and less of it can be asked for, or was twice."""
    if not observation.rollout.out_of_memory or not guard_is_on(state, observation, now):
        return False
    return may_lower(state, observation) or state.lowered >= MOST_STEPS


def answer_a_lack_of_memory(state: State, observation: Observation, now: float) -> State:
    """The next rung of the ladder: it is started with less memory (Responding). Observe only says so."""
    return respond(state, observation, OUT_OF_MEMORY, observation.rollout.out_of_memory, now, out_of_memory=True)


def newest_decision(state: State) -> Rollback | Reduction | Lowering | None:
    """Why something else is served than asked for; the newer one of two that hold together. None: it is not."""
    reduced, lowering = state.reduced, state.lowering
    if state.rollback is not None or lowering is None:
        return state.rollback or reduced
    return reduced if reduced is not None and reduced.at > lowering.at else lowering
