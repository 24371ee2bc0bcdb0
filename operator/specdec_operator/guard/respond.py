"""The ladder: what is done about a speculation that failed. Each rung is tried once; the last one is no speculation."""

from dataclasses import replace
from enum import StrEnum
from typing import Final

from specdec_operator.guard.facts import Facts
from specdec_operator.guard.state import Good, Phase, Reduction, Rollback, State, Would
from specdec_operator.guard.verdict import Reason

ROLLOUT_FAILED: Final = "RolloutFailed"
MOST_RESTARTS: Final = 2
"""Restarts of pods that a speculation is given before the fault is taken to be no pod's."""
_GOODS_KEPT: Final = 2


class Action(StrEnum):
    """What is done. In this order, where each applies."""

    RESTART_POD = "RestartPod"
    """A pod that is far below its siblings is restarted: the draft is not to blame."""
    REDUCE_TOKENS = "ReduceTokens"
    """Fewer tokens per step, the most that would have passed."""
    ROLL_BACK = "RollBack"
    """The last good other speculation, or else none."""


def action_for(state: State, facts: Facts) -> Action:
    """The next rung."""
    skewed = facts.verdict is not None and facts.verdict.reason is Reason.POD_SKEW
    if skewed and state.blamed and state.restarts < MOST_RESTARTS and state.phase is Phase.WATCHING:
        return Action.RESTART_POD
    reducible = facts.policy.reduce_tokens and state.reduced is None and state.rollback is None
    if reducible and facts.fewer is not None and state.phase is Phase.WATCHING:
        return Action.REDUCE_TOKENS
    return Action.ROLL_BACK


def respond(state: State, facts: Facts, reason: str, message: str, now: float) -> State:
    """The state after the next rung was decided on; what would have been done, where the guard may not act."""
    action = action_for(state, facts)
    if not facts.policy.acts:
        return _would(state, Would(action=action.value, reason=reason, message=message, at=now))
    there = tuple(pod for pod in state.blamed if pod in facts.pods)  # one that is gone was restarted by somebody else
    state = replace(state, failures=0, blamed=(), since=now, would=None, restarting=())
    match action:
        case Action.RESTART_POD:  # one at a time: the others serve meanwhile
            return replace(state, phase=Phase.WARMING_UP, restarting=there[:1], restarts=state.restarts + 1)
        case Action.REDUCE_TOKENS:
            reduced = Reduction(reason=reason, message=message, at=now, tokens=facts.fewer or 1)
            return replace(state, phase=Phase.RESPONDING, reduced=reduced)
        case Action.ROLL_BACK:
            return _roll_back(state, facts, reason, message, now)


def remembered(state: State, good: Good) -> tuple[Good, ...]:
    """The last speculations that passed, this one first; the newest of each that was asked for."""
    same = next((each for each in state.goods if each.digest == good.digest), good)
    return (same, *(each for each in state.goods if each.of != good.of))[:_GOODS_KEPT]


def _roll_back(state: State, facts: Facts, reason: str, message: str, now: float) -> State:
    goods = state.goods
    if state.rollback is not None and state.rollback.good is not None:  # it is not good any more
        gone = state.rollback.good.digest
        goods = tuple(each for each in goods if each.digest != gone)
    other = next((each for each in goods if each.of != state.speculation), None)
    may = facts.policy.to_last_good and state.rollback is None
    rollback = Rollback(reason=reason, message=message, at=now, good=other if may else None)
    return replace(
        state, phase=Phase.RESPONDING, rollback=rollback, reduced=None, rollbacks=state.rollbacks + 1, goods=goods
    )


def _would(state: State, would: Would) -> State:
    """What is told once is not told again before it changes."""
    told = state.would
    same = told is not None and (told.action, told.reason) == (would.action, would.reason)
    return replace(state, failures=0, blamed=(), would=told if same else would)
