"""What follows: the right column of the transition table. Each docstring is a line of the documentation."""

import math
from dataclasses import replace

from specdec_operator.guard.acceptance import spent
from specdec_operator.guard.baseline import learnt
from specdec_operator.guard.baseline_pods import MOST_PAIRS, too_costly
from specdec_operator.guard.memory import may_lower
from specdec_operator.guard.pods import answered, held, lacking_memory, noted, summary
from specdec_operator.guard.remediation import ROLLOUT_FAILED, remembered, respond
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.observe.rollout import Progress

_ROLLBACK_PATIENCE = 5.0
"""Seconds that the safer pods in Responding may find no room. The time is long enough for a short obstacle, such as a
webhook that restarts, and short enough for pods to serve within a minute of the decision.
"""
_HEALED = 3600.0
"""Seconds of watching after which the pods that were restarted before do not count any more."""

_BESIDE = frozenset({Phase.WARMING_UP, Phase.WATCHING, Phase.RESPONDING})
"""Phases in which baseline pods may run next to the speculating ones."""
_RENEWED = 24 * 3600.0
"""Seconds of watching after which a speculation has all of its tries again."""


def is_fresh(state: State, observation: Observation) -> bool:
    """Whether a window closed that was not counted yet."""
    return math.floor(observation.closed) > state.judged


def note_observations(state: State, observation: Observation, now: float) -> State:
    """Notes, in every phase, the baseline speed, and the pods that were restarted or fail."""
    if is_fresh(state, observation) and not observation.speculating:
        same = observation.revision == state.revision
        token_times = observation.token_times if same else {}
        state = replace(state, judged=math.floor(observation.closed), baseline=learnt(state.baseline, token_times))
        rollback = state.rollback
        if same and rollback is not None and rollback.trial is not None and observation.recent:
            trial = rollback.trial.plus(observation.recent[-1])
            state = replace(state, rollback=replace(rollback, trial=trial))
    if state.restarting and not observation.pods & set(state.restarting):
        state = replace(state, restarting=())
    if observation.speculating and state.phase in (Phase.WARMING_UP, Phase.WATCHING):
        failures = noted(state.pod_failures, observation.pod_failures, observation.pods, now)
        state = replace(state, pod_failures=failures)
    return state


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


def want(state: State, revision: str, now: float) -> State:
    """Another revision is requested: its deadline counts from now."""
    return state if state.wanted == revision else replace(state, wanted=revision, wanted_since=now, up=0)


def note_progress(state: State, up: int, now: float, asked: float = math.inf) -> State:
    """More pods of the revision are ready than ever, or than were requested since: the deadline counts from now."""
    most, up = int(min(state.up, asked)), int(min(up, asked))
    return replace(state, up=up, wanted_since=now) if up > most else replace(state, up=most)


def speculate(state: State, observation: Observation, now: float) -> State:
    """RollingOut, with speculation."""
    return replace(enter(state, Phase.ROLLING_OUT, now), measuring=False)


def stall(state: State, observation: Observation, now: float) -> State:
    """Stalled: the user must act."""
    return enter(state, Phase.STALLED, max(now, state.wanted_since))  # also when a clock went back


def start_measuring(state: State, observation: Observation, now: float) -> State:
    """The measurement begins."""
    return replace(state, revision=observation.revision, since=now)


def roll_out(state: State, observation: Observation, now: float) -> State:
    """RollingOut."""
    return enter(state, Phase.ROLLING_OUT, now)


def warm_up(state: State, observation: Observation, now: float) -> State:
    """WarmingUp."""
    return enter(replace(state, revision=observation.revision, pod_failures=()), Phase.WARMING_UP, now)


def watch(state: State, observation: Observation, now: float) -> State:
    """Watching."""
    return enter(state, Phase.WATCHING, now)


def enter_serving(state: State, observation: Observation, now: float) -> State:
    """Serving, not watched."""
    settled = observation.rollout.progress is Progress.COMPLETE
    return enter(replace(state, revision=observation.revision) if settled else state, Phase.SERVING, now)


def enter_rolled_back(state: State, observation: Observation, now: float) -> State:
    """RolledBack."""
    return enter(replace(state, revision=observation.revision), Phase.ROLLED_BACK, now)


def note_revision(state: State, observation: Observation, now: float) -> State:
    """They serve from now on."""
    return replace(state, revision=observation.revision)


def window_failed(state: State, observation: Observation, now: float) -> State:
    """A severe failure is counted, and the lost acceptance is added to the regret."""
    verdict = observation.verdict
    after = counted(state, observation) if verdict is None or verdict.severe else state
    return _judged(after, observation)


def window_quiet(state: State, observation: Observation, now: float) -> State:
    """Nothing: too little traffic is not evidence."""
    return _judged(state, observation)


def pod_is_left_alone(state: State, observation: Observation, now: float) -> State:
    """Nothing: a second restart would not help."""
    return window_inconclusive(state, observation, now)


def window_inconclusive(state: State, observation: Observation, now: float) -> State:
    """The count of failing windows returns to 0: only windows in a row count."""
    return replace(_judged(state, observation), failures=0, blamed=())


def _judged(state: State, observation: Observation) -> State:
    """The state after a window: the window is counted, and the regret and the results of baseline pods are updated."""
    pair = observation.pair
    return replace(
        state,
        judged=math.floor(observation.closed),
        regret=regret_after(state, observation),
        pairs=(*state.pairs, pair)[-MOST_PAIRS:] if pair else state.pairs,
        baseline=learnt(state.baseline, pair.times) if pair else state.baseline,
        unmeasured=_unmeasured(state, observation),
        collateral=too_costly(state.collateral, observation.findings, observation.policy.limited),
    )


def _unmeasured(state: State, observation: Observation) -> int:
    """Windows in a row whose speed could not be compared. A quiet window among them does not count, and does not end
    the row.
    """
    verdict = observation.verdict
    if verdict is None:
        return 0
    return state.unmeasured + 1 if verdict.uncompared else state.unmeasured if verdict.quiet else 0


def regret_after(state: State, observation: Observation) -> float:
    """Acceptance that was lost lately, the newest window included, in point-hours."""
    seconds = observation.closed - state.judged if state.judged else 0.0
    return spent(state.regret, observation.lost or 0.0, seconds)


def window_passed(state: State, observation: Observation, now: float) -> State:
    """The count of failing windows returns to 0, and this speculation becomes the last good one. One hour after a pod
    restart, the restart no longer counts. One day after a retry that still serves, the retries no longer count.
    """
    last_good = state.last_good if observation.good is None else remembered(state, observation.good)
    watched, after = now - state.since, window_inconclusive(state, observation, now)
    restarts = 0 if watched >= _HEALED else state.restarts
    asked_for = state.rollback is None and state.reduced is None  # other pods are not evidence about it
    retries = 0 if asked_for and watched >= _RENEWED else state.retries
    return replace(after, last_good=last_good, dry_run=None, restarts=restarts, retries=retries)


def answer_failing_windows(state: State, observation: Observation, now: float) -> State:
    """The next step (Responding, or WarmingUp after a pod restart). In Observe the guard only reports it."""
    verdict = observation.verdict
    state = window_failed(state, observation, now)
    return state if verdict is None else respond(state, observation, verdict.reason.value, verdict.message, now)


def answer_pod_failures(state: State, observation: Observation, now: float) -> State:
    """The next step. After an out-of-memory crash: less memory, at most twice (Responding). If one pod fails alone: a
    restart of it, at most twice (WarmingUp). Otherwise: a rollback (Responding). In Observe the guard only reports it.
    """
    failures = held(state.pod_failures)
    lacking = lacking_memory(failures)[-1:] if may_lower(state, observation) else ()
    failures = lacking or failures
    pods = {each.pod for each in failures}
    alone = tuple(pods) if len(pods) == 1 and len(observation.pods) > 1 else ()
    state = replace(state, blamed=alone, pod_failures=answered(state.pod_failures))
    return respond(state, observation, *summary(failures), now, pods_fail=True, less_memory=bool(lacking))


def answer_a_failed_rollout(state: State, observation: Observation, now: float) -> State:
    """The next step (Responding). In Observe the guard only reports it."""
    message = f"{observation.rollout.reason}: {observation.rollout.message}"
    return respond(state, observation, ROLLOUT_FAILED, message, now)


def resume(state: State, observation: Observation, now: float) -> State:
    """The state before the stall."""
    return enter(state, _moving(state, Phase.RESPONDING), now)


def leave_stalled(state: State, observation: Observation, now: float) -> State:
    """The state before the stall: the service recovered by itself."""
    return enter(state, _moving(state, Phase.ROLLED_BACK if state.plain else Phase.RESPONDING), now)


def give_them_their_time(state: State, observation: Observation, now: float) -> State:
    """RollingOut; the deadline starts now."""
    return replace(enter(state, Phase.ROLLING_OUT, now), wanted_since=now)


def _moving(state: State, after_rollback: Phase) -> Phase:
    if state.measuring:
        return Phase.MEASURING_BASELINE
    return after_rollback if state.rollback else Phase.ROLLING_OUT


def enter(state: State, phase: Phase, now: float) -> State:
    """Another phase: the counts start again. In Responding, baseline pods keep serving until the pods of the rollback
    have taken over.
    """
    control = state.control if phase in _BESIDE else None
    aside = state.set_aside if phase is Phase.ROLLING_OUT else None
    anew = replace(state, failures=0, blamed=(), regret=0.0, pairs=(), unmeasured=0, collateral=())
    return replace(anew, phase=phase, since=now, control=control, set_aside=aside)


def counted(state: State, observation: Observation) -> State:
    """One more failing window in a row. Blamed are the pods that failed in all of them; others begin another row. So
    does a window whose evidence does not hold the ones before: they are history, or another process saw them.
    """
    pods = observation.verdict.pods if observation.verdict else ()
    if state.failures == 0 or observation.in_row == 1:
        return replace(state, failures=1, blamed=pods)
    blamed = tuple(pod for pod in pods if pod in state.blamed) if state.blamed and pods else state.blamed or pods
    if pods and not blamed:
        return replace(state, failures=1, blamed=pods)
    return replace(state, failures=state.failures + 1, blamed=blamed)
