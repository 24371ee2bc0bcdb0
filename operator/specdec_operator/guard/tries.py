"""What the guard tries after a speculation failed: each step has a limit, and the last one is a rollback. Later it
retries the requested speculation: a bad hour does not prove a bad draft.

The number of retries is limited, and a rollback that the user requested is never retried. Docstrings of rules are lines
of the documentation.
"""

from dataclasses import replace
from enum import StrEnum
from typing import Final

from specdec_operator.guard.decisions import DialDecision, DryRunAction, KnownGood, Lowering, Reduction, Rollback
from specdec_operator.guard.outages import DAY
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.user_intent import BY_REQUEST
from specdec_operator.guard.verdict import BY_ACCEPTANCE, Reason
from specdec_operator.observe.rollout import Progress

MOST_RESTARTS: Final = 2
"""Restarts of pods after which the guard stops blaming the pod and blames the draft."""
_MOST_KNOWN_GOOD: Final = 2
_MOST_DAYS: Final = 7


class Action(StrEnum):
    """What is done. In this order, where each applies."""

    LOWER_MEMORY = "LowerMemory"
    """The engine ran out of memory: it gets 0.05 of the device's memory less, and after a second crash 0.10 less."""
    RESTART_POD = "RestartPod"
    """A pod that is far below the others, hangs, or fails alone, is restarted: the draft is not the cause."""
    REDUCE_TOKENS = "ReduceTokens"
    """Fewer tokens per step: the largest K that would have passed. If acceptance is low and all pods offer a dial, the
    running pods draft so many from the next step on. Otherwise other pods start."""
    DIAL = "Dial"
    """Acceptance is low, and all pods offer a dial: they draft nothing from the next step on. No pod is replaced."""
    ROLL_BACK = "RollBack"
    """The last good other speculation, or the baseline if there is none."""


def action_for(
    state: State,
    observation: Observation,
    *,
    pods_fail: bool = False,
    less_memory: bool = False,
    either_way: bool = False,
) -> Action | None:
    """The next step; None: no step helps. pods_fail: whether failed pods are the reason, and not a window.

    less_memory: whether an engine ran out of memory, and its memory can be lowered. either_way: whether pods fail
    without speculation too.
    """
    if less_memory:
        return Action.LOWER_MEMORY
    skewed = observation.verdict is not None and observation.verdict.reason is Reason.POD_SKEW
    watched = state.phase is Phase.WATCHING or pods_fail
    if (skewed or pods_fail) and state.blamed and (state.restarts < MOST_RESTARTS or either_way) and watched:
        return Action.RESTART_POD
    if pods_fail:
        return None if either_way else Action.ROLL_BACK
    reducible = observation.policy.reduce_tokens and state.reduced is None and state.rollback is None
    if reducible and observation.fewer is not None and state.phase is Phase.WATCHING:
        return Action.REDUCE_TOKENS
    return Action.DIAL if _may_dial(state, observation) else Action.ROLL_BACK


def _may_dial(state: State, observation: Observation) -> bool:
    """Whether the failure may pass by itself, so that it is worth to wait for that with the dial at nothing. Acceptance
    follows the traffic; a draft that costs more than it brings needs another engine.
    """
    return _is_for_the_dial(state, observation) and tries_are_left(state, observation.policy)


def _is_for_the_dial(state: State, observation: Observation) -> bool:
    """Whether acceptance is low in pods that all offer a dial."""
    verdict = observation.verdict
    by_acceptance = verdict is not None and verdict.reason in BY_ACCEPTANCE
    return observation.dials and state.phase is Phase.WATCHING and by_acceptance


def respond(
    state: State,
    observation: Observation,
    reason: str,
    message: str,
    now: float,
    *,
    pods_fail: bool = False,
    less_memory: bool = False,
) -> State:
    """The state after the next step was decided. If the guard may not act, the state only notes the step.

    pods_fail, less_memory: see action_for.
    """
    either_way = pods_fail and fails_either_way(state, reason, now)
    action = action_for(state, observation, pods_fail=pods_fail, less_memory=less_memory, either_way=either_way)
    if action is None:
        return replace(state, blamed=())
    if action is Action.LOWER_MEMORY:
        message = f"{message}; next start: {observation.less}"
    if not observation.policy.acts:
        return _told(state, DryRunAction(action=action.value, reason=reason, message=message, at=now))
    return _taken(state, action, observation, reason, message, now)


def _taken(state: State, action: Action, observation: Observation, reason: str, message: str, now: float) -> State:
    """The state after a step was taken."""
    there = tuple(pod for pod in state.blamed if pod in observation.pods)  # the others were replaced already
    state = replace(state, failures=0, blamed=(), regret=0.0, pairs=(), since=now, dry_run=None)
    dial = state.dial if action is Action.RESTART_POD else None  # the other pods draft nothing meanwhile
    adapted = state.adapted if action is Action.RESTART_POD else None
    state = replace(state, restarting=(), set_aside=None, dial=dial, adapted=adapted)
    match action:
        case Action.LOWER_MEMORY:
            steps = state.lowering.steps + 1 if state.lowering else 1
            lowering = Lowering(reason=reason, message=message, at=now, steps=steps)
            return replace(state.in_flags(), phase=Phase.RESPONDING, lowering=lowering)
        case Action.RESTART_POD:  # one at a time: the others serve meanwhile
            phase = Phase.WARMING_UP if dial is None else Phase.DIALLED
            return replace(state, phase=phase, restarting=there[:1], restarts=state.restarts + 1)
        case Action.DIAL:
            decided = DialDecision(reason=reason, message=message, at=now)
            return replace(state, phase=Phase.DIALLED, dial=decided, control=None)
        case Action.REDUCE_TOKENS:
            return _reduce(state, observation, reason, message, now)
        case Action.ROLL_BACK:
            return _roll_back(state, observation, reason, message, now)


def _reduce(state: State, observation: Observation, reason: str, message: str, now: float) -> State:
    """Fewer tokens: in the running pods, which are watched on, or else in other pods."""
    dialled, tokens = _is_for_the_dial(state, observation), observation.fewer or 1
    reduced = Reduction(reason=reason, message=message, at=now, tokens=tokens, dialled=dialled)
    return replace(state, phase=Phase.WATCHING if dialled else Phase.RESPONDING, reduced=reduced)


def fails_either_way(state: State, reason: str, now: float) -> bool:
    """Whether baseline pods failed for the same reason a short while ago: then such failures do not count against a
    draft. A short while is a day, after a second such decision two days, and a week at most.
    """
    found = state.baseline_fails
    if found is None or found.reason != reason:
        return False
    days: int = min(_MOST_DAYS, 2 ** (found.times - 1))
    return now - found.at < DAY * days


def remembered(state: State, good: KnownGood) -> tuple[KnownGood, ...]:
    """The last speculations that passed, this one first; the newest one for each requested speculation."""
    same = next((each for each in state.last_good if each.digest == good.digest), good)
    return (same, *(each for each in state.last_good if each.of != good.of))[:_MOST_KNOWN_GOOD]


def _roll_back(state: State, observation: Observation, reason: str, message: str, now: float) -> State:
    # The served and the requested speculation no longer count as good, although they may have passed once.
    served = state.speculation if state.rollback is None or state.rollback.good is None else state.rollback.good.of
    last_good = tuple(each for each in state.last_good if each.of not in (served, state.speculation))
    other = next(iter(last_good), None)
    may = observation.policy.to_last_good and state.rollback is None
    rollback = Rollback(reason=reason, message=message, at=now, good=other if may else None, pending=True)
    return replace(state, phase=Phase.RESPONDING, rollback=rollback, reduced=None, last_good=last_good)


def _told(state: State, dry_run: DryRunAction) -> State:
    """Notes the step that the guard would take. A noted step stays until its action or reason changes."""
    before = state.dry_run
    same = before is not None and (before.action, before.reason) == (dry_run.action, dry_run.reason)
    return replace(state, failures=0, blamed=(), regret=0.0, dry_run=before if same else dry_run)


_TRIED: Final = "; the retry did not start: "


def retry_at(state: State, policy: Policy) -> float | None:
    """When the speculation that is asked for is tried again, epoch seconds; None: not by itself."""
    decision = state.rollback or state.reduced
    if decision is None or policy.retry_after is None or not retries_are_left(state, policy):
        return None
    after: float = policy.retry_after * 2**state.retries
    return decision.at + after


def retries_are_left(state: State, policy: Policy) -> bool:
    """Whether the guard may bring the requested speculation back by itself."""
    decision = state.rollback or state.reduced
    return decision is not None and decision.reason != BY_REQUEST and tries_are_left(state, policy)


def tries_are_left(state: State, policy: Policy) -> bool:
    """Whether the limit of retries is not reached."""
    return policy.retry_after is not None and state.retries < policy.retry_limit


def retry_is_due(state: State, observation: Observation, now: float) -> bool:
    """`guard.retry.after`, doubled with each retry, has passed, retries are left, and the user did not request the
    rollback.
    """
    due = retry_at(state, observation.policy)
    return due is not None and now >= due and observation.policy.acts


def retry(state: State, observation: Observation, now: float) -> State:
    """RollingOut, with the requested speculation; one retry less. Watching, if only the dial asked for fewer tokens."""
    if state.by_dial is not None:
        fresh = state.enter(Phase.WATCHING, now)
        return replace(fresh, reduced=None, retries=state.retries + 1, restarts=0)
    fresh, aside = state.enter(Phase.ROLLING_OUT, now), state.rollback or state.reduced
    return replace(fresh, rollback=None, reduced=None, retries=state.retries + 1, restarts=0, set_aside=aside)


def a_try_starts_no_engine(state: State, observation: Observation, now: float) -> bool:
    """A retry of the guard: no pod could start its engine by the deadline."""
    tries = state.set_aside is not None and observation.policy.acts
    return tries and observation.rollout.progress is Progress.BLOCKED


def give_the_try_up(state: State, observation: Observation, now: float) -> State:
    """Responding. The pods from before the retry keep serving."""
    aside, back = state.set_aside, state.enter(Phase.RESPONDING, now)
    if aside is None:
        return state
    message = f"{aside.message.partition(_TRIED)[0]}{_TRIED}{observation.rollout.message}"
    if isinstance(aside, Rollback):
        return replace(back, rollback=replace(aside, message=message))
    return replace(back, reduced=replace(aside, message=message))
