"""What the progress of a rollout changes: pods that start or cannot start, and a new spec.

Docstrings of rules are lines of the documentation.
"""

import math
from dataclasses import replace
from typing import Final

from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.tries import respond
from specdec_operator.observe.rollout import Progress

ROLLOUT_FAILED: Final = "RolloutFailed"
_ROLLBACK_PATIENCE = 5.0
"""Seconds that the safer pods in Responding may find no room. The time is long enough for a short obstacle, such as a
webhook that restarts, and short enough for pods to serve within a minute of the decision.
"""


def other_pods_are_asked_for(state: State, observation: Observation, now: float) -> bool:
    """The spec requests other pods."""
    return observation.revision != state.revision


def user_has_acted(state: State, observation: Observation, now: float) -> bool:
    """The spec now requests other pods than those that failed."""
    return state.wanted_since > state.since


def guard_is_off(state: State, observation: Observation, now: float) -> bool:
    """The guard's mode is Off, or nothing speculates."""
    return not observation.guarded


def guard_is_on(_: State, observation: Observation, now: float) -> bool:
    """The pods speculate and the guard's mode is not Off."""
    return observation.guarded


def warmup_is_over(state: State, observation: Observation, now: float) -> bool:
    """`guard.warmup` is over."""
    return now - state.since >= observation.policy.warmup


def pods_are_up(_: State, observation: Observation, now: float) -> bool:
    """The rollout is complete."""
    return observation.rollout.progress is Progress.COMPLETE


def pods_to_watch_are_up(state: State, observation: Observation, now: float) -> bool:
    """The rollout is complete, the pods speculate, and the guard is on."""
    return observation.guarded and pods_are_up(state, observation, now)


def other_pods_are_up(state: State, observation: Observation, now: float) -> bool:
    """Pods of another revision are rolled out, and the rollout is complete."""
    return observation.revision != state.revision and pods_are_up(state, observation, now)


def pods_fail(_: State, observation: Observation, now: float) -> bool:
    """The pods crash, are rejected by the preflight, run out of memory, or miss the deadline."""
    return observation.rollout.progress is Progress.FAILED


def pods_with_speculation_fail(state: State, observation: Observation, now: float) -> bool:
    """Pods with speculation crash, are rejected by the preflight, run out of memory, or miss the deadline."""
    return observation.guarded and pods_fail(state, observation, now)


def no_engine_can_start(_: State, observation: Observation, now: float) -> bool:
    """The deadline has passed, and KServe created no Deployment, the cluster admitted no pod, or the pods are still
    downloading models or pulling images. Speculation is not the cause.
    """
    return observation.rollout.progress is Progress.BLOCKED


def pods_fail_or_cannot_start(state: State, observation: Observation, now: float) -> bool:
    """The pods do not come up, for any reason."""
    return pods_fail(state, observation, now) or no_engine_can_start(state, observation, now)


def safer_speculation_fails(state: State, observation: Observation, now: float) -> bool:
    """The pods with less memory, fewer tokens, or the last good speculation do not come up, and the guard may act."""
    return observation.speculating and pods_fail_or_cannot_start(state, observation, now) and observation.policy.acts


def other_pods_fail(state: State, observation: Observation, now: float) -> bool:
    """Pods of another revision are rolled out, and do not come up."""
    return observation.revision != state.revision and pods_fail_or_cannot_start(state, observation, now)


def engines_can_start_after_stall(state: State, observation: Observation, now: float) -> bool:
    """A pod can start its engine now. Before, none could."""
    return observation.guarded and not no_engine_can_start(state, observation, now)


def roll_out(state: State, observation: Observation, now: float) -> State:
    """RollingOut."""
    return state.enter(Phase.ROLLING_OUT, now)


def warm_up(state: State, observation: Observation, now: float) -> State:
    """WarmingUp."""
    return replace(state, revision=observation.revision, pod_failures=(), outages=()).enter(Phase.WARMING_UP, now)


def watch(state: State, observation: Observation, now: float) -> State:
    """Watching."""
    return state.enter(Phase.WATCHING, now)


def enter_serving(state: State, observation: Observation, now: float) -> State:
    """Serving, not watched."""
    settled = observation.rollout.progress is Progress.COMPLETE
    served = replace(state, revision=observation.revision) if settled else state
    return served.enter(Phase.SERVING, now)


def enter_rolled_back(state: State, observation: Observation, now: float) -> State:
    """RolledBack."""
    return replace(state, revision=observation.revision, pod_failures=(), outages=()).enter(Phase.ROLLED_BACK, now)


def note_rollback(state: State, observation: Observation) -> State:
    """Counts a rollback as soon as its pods serve. Until then it is only decided."""
    rollback = state.rollback
    if rollback is None or not rollback.pending or observation.rollout.progress is not Progress.COMPLETE:
        return state
    return replace(state, rollback=replace(rollback, pending=False), rollbacks=state.rollbacks + 1)


def note_revision(state: State, observation: Observation, now: float) -> State:
    """They serve from now on."""
    return replace(state, revision=observation.revision)


def answer_a_failed_rollout(state: State, observation: Observation, now: float) -> State:
    """The next step (Responding). In Observe the guard only reports it."""
    message = f"{observation.rollout.reason}: {observation.rollout.message}"
    return respond(state, observation, ROLLOUT_FAILED, message, now)


def stall(state: State, observation: Observation, now: float) -> State:
    """Stalled: the user must act."""
    return state.enter(Phase.STALLED, max(now, state.wanted_since))  # also when a clock went back


def resume(state: State, observation: Observation, now: float) -> State:
    """The state before the stall."""
    return state.enter(_moving(state, Phase.RESPONDING), now)


def leave_stalled(state: State, observation: Observation, now: float) -> State:
    """The state before the stall: the service recovered by itself."""
    return state.enter(_moving(state, Phase.ROLLED_BACK if state.serves_baseline else Phase.RESPONDING), now)


def give_them_their_time(state: State, observation: Observation, now: float) -> State:
    """RollingOut; the deadline starts now."""
    return replace(state.enter(Phase.ROLLING_OUT, now), wanted_since=now)


def _moving(state: State, after_rollback: Phase) -> Phase:
    if state.measuring:
        return Phase.MEASURING_BASELINE
    return after_rollback if state.rollback else Phase.ROLLING_OUT


def want(state: State, revision: str, now: float) -> State:
    """Another revision is requested: its deadline counts from now."""
    return state if state.wanted == revision else replace(state, wanted=revision, wanted_since=now, up=0)


def note_progress(state: State, up: int, now: float, asked: float = math.inf) -> State:
    """More pods of the revision are ready than ever, or than were requested since: the deadline counts from now."""
    most, up = int(min(state.up, asked)), int(min(up, asked))
    return replace(state, up=up, wanted_since=now) if up > most else replace(state, up=most)


def make_room(state: State, observation: Observation, now: float) -> State:
    """Notes that old pods stop before new ones start, if that is due. The deadline of the rollout then starts again."""
    if state.replacing == observation.revision or not _makes_room(state, observation, now):
        return state
    return replace(state, replacing=observation.revision, wanted_since=now)


def _makes_room(state: State, observation: Observation, now: float) -> bool:
    """Whether old pods stop before new ones start. The last serving pod stops only if that makes room."""
    rollout, obstacle = observation.rollout, observation.rollout.obstacle
    patience = _ROLLBACK_PATIENCE if state.phase is Phase.RESPONDING else observation.policy.patience
    if obstacle is None or patience is None or not rollout.crowded or rollout.progress is not Progress.PROGRESSING:
        return False
    return (obstacle.frees or rollout.serving > 1) and now - obstacle.since >= patience
