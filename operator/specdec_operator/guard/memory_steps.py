"""Out of memory as an engine starts: it is started with less, before anything else is tried.

Docstrings of rules are lines of the documentation.
"""

from specdec_engine.out_of_memory import OUT_OF_MEMORY
from specdec_operator.guard.lowering import MOST_STEPS, Lowering
from specdec_operator.guard.remediation import may_lower, respond
from specdec_operator.guard.state import Observation, Reduction, Rollback, State
from specdec_operator.guard.triggers import guard_is_on


def start_runs_out_of_memory(state: State, observation: Observation, now: float) -> bool:
    """A pod with speculation runs out of memory when it starts, and its memory can be lowered or was lowered twice."""
    if not observation.rollout.out_of_memory or not guard_is_on(state, observation, now):
        return False
    return may_lower(state, observation) or state.lowered >= MOST_STEPS


def answer_a_lack_of_memory(state: State, observation: Observation, now: float) -> State:
    """The next step (Responding): less memory, or a rollback after two steps. In Observe the guard only reports it."""
    return respond(state, observation, OUT_OF_MEMORY, observation.rollout.out_of_memory, now, out_of_memory=True)


def newest_decision(state: State) -> Rollback | Reduction | Lowering | None:
    """Why something else is served than asked for; the newer one of two that hold together. None: it is not."""
    reduced, lowering = state.reduced, state.lowering
    if state.rollback is not None or lowering is None:
        return state.rollback or reduced
    return reduced if reduced is not None and reduced.at > lowering.at else lowering
