"""Engines that run out of memory: they start again with less, before anything else is tried.

Docstrings of rules are lines of the documentation.
"""

from typing import Final

from specdec_engine.out_of_memory import OUT_OF_MEMORY
from specdec_operator.guard.decisions import PodFailure
from specdec_operator.guard.state import Observation, State
from specdec_operator.guard.tries import respond

STEP: Final = 0.05
"""Share of the device that one step takes off."""
MOST_STEPS: Final = 2


def lacking_memory(known: tuple[PodFailure, ...]) -> tuple[PodFailure, ...]:
    """Those of engines that ran out of memory."""
    return tuple(each for each in known if each.reason == OUT_OF_MEMORY)


def may_lower(state: State, observation: Observation) -> bool:
    """Whether the guard may lower the memory. After a rollback it may not, because the last good speculation passed
    with the memory that it has.
    """
    steps = state.lowering.steps if state.lowering else 0
    return bool(observation.less) and state.rollback is None and steps < MOST_STEPS


def start_runs_out_of_memory(state: State, observation: Observation, now: float) -> bool:
    """A pod with speculation runs out of memory when it starts, and its memory can be lowered or was lowered twice."""
    if not observation.rollout.out_of_memory or not observation.guarded:
        return False
    return may_lower(state, observation) or state.lowered >= MOST_STEPS


def answer_a_lack_of_memory(state: State, observation: Observation, now: float) -> State:
    """The next step (Responding): less memory, or a rollback after two steps. In Observe the guard only reports it."""
    less = may_lower(state, observation)
    return respond(state, observation, OUT_OF_MEMORY, observation.rollout.out_of_memory, now, less_memory=less)
