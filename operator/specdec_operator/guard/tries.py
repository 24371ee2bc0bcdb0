"""Retries of the requested speculation after a rollback or a smaller K: a bad hour does not prove a bad draft. Their
number is limited, and a rollback that the user requested is never retried.

Docstrings of rules are lines of the documentation.
"""

from dataclasses import replace
from typing import Final

from specdec_operator.guard.effects import enter
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import Observation, Phase, Rollback, State
from specdec_operator.guard.triggers import no_engine_can_start
from specdec_operator.guard.user_intent import BY_REQUEST

_TRIED: Final = "; the retry did not start: "


def retry_at(state: State, policy: Policy) -> float | None:
    """When the speculation that is asked for is tried again, epoch seconds; None: not by itself."""
    decision = state.rollback or state.reduced
    if decision is None or decision.reason == BY_REQUEST or policy.retry_after is None:
        return None
    return decision.at + policy.retry_after * 2**state.retries if state.retries < policy.retry_limit else None


def retry_is_due(state: State, observation: Observation, now: float) -> bool:
    """`guard.retry.after`, doubled with each retry, has passed, retries are left, and the user did not request the
    rollback.
    """
    due = retry_at(state, observation.policy)
    return due is not None and now >= due and observation.policy.acts


def retry(state: State, observation: Observation, now: float) -> State:
    """RollingOut, with the requested speculation; one retry less."""
    fresh, aside = enter(state, Phase.ROLLING_OUT, now), state.rollback or state.reduced
    return replace(fresh, rollback=None, reduced=None, retries=state.retries + 1, restarts=0, set_aside=aside)


def a_try_starts_no_engine(state: State, observation: Observation, now: float) -> bool:
    """A retry of the guard: no pod could start its engine by the deadline."""
    tries = state.set_aside is not None and observation.policy.acts
    return tries and no_engine_can_start(state, observation, now)


def give_the_try_up(state: State, observation: Observation, now: float) -> State:
    """Responding. The pods from before the retry keep serving."""
    aside, back = state.set_aside, enter(state, Phase.RESPONDING, now)
    if aside is None:
        return state
    message = f"{aside.message.partition(_TRIED)[0]}{_TRIED}{observation.rollout.message}"
    if isinstance(aside, Rollback):
        return replace(back, rollback=replace(aside, message=message))
    return replace(back, reduced=replace(aside, message=message))
