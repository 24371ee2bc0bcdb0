"""When the speed of the baseline is measured, and what the comparison decides.

The service runs as baseline first (MeasureFirst). Or baseline pods run for comparison: always, or if the speed is in
doubt. A service of one pod then runs as baseline for a while. Docstrings of rules are lines of the documentation.
"""

import math
from dataclasses import replace
from typing import Final

from specdec_operator.api.control import ControlMode
from specdec_operator.guard.baseline import learnt
from specdec_operator.guard.baseline_pods import MOST_PAIRS, Measure, about, shows_fast_enough
from specdec_operator.guard.decisions import Rollback
from specdec_operator.guard.off_cost import renewed
from specdec_operator.guard.state import Observation, Phase, RequestedBaselinePods, State
from specdec_operator.guard.trial import FEWEST_TRAFFIC, Trial, TrialOutcome, outcome_of, trial_text
from specdec_operator.guard.trial import differs as traffic_differs
from specdec_operator.guard.verdict import Reason
from specdec_operator.guard.windows_in_a_row import is_fresh, last_failing_window, window_inconclusive, window_passed

ENOUGH_BLOCKS = 16
"""Blocks of time at one load that make a baseline: two windows' worth. With one window's, the gate misses more."""
ALWAYS: Final = "Always"
_BY_SPEED: Final = frozenset({Reason.SLOWER_THAN_PLAIN, Reason.TOO_SLOW})
_MOST_TO_ACQUIT: Final = MOST_PAIRS // 2
"""Windows after which speculation stays if it is not clearly faster, and not clearly slower either."""
_UNCOMPARED_ALONE: Final = 10
"""Windows in a row that cannot be compared after which a service of one pod runs as baseline: two rollouts for it."""
_PATIENCE: Final = 1800.0
_NO_ROOM: Final = 5.0
_FAILED: Final = 60.0
"""In seconds: how long baseline pods may take to become ready; how long one may find no room before it replaces a
speculating pod; after how long a failed start is final.
"""
_PAUSE, _MOST_PAUSE = 3600.0, 24 * 3600.0
"""Seconds after a doubt that was settled before there is another one; doubled with each."""


def measuring_is_not_wanted(_: State, observation: Observation, now: float) -> bool:
    """`guard.baseline` is no longer MeasureFirst, or the mode is not Enforce."""
    return not observation.policy.measures


def baseline_is_known(state: State, observation: Observation, now: float) -> bool:
    """The baseline's time per output token is known at a load."""
    known = any(each.known and each.token_time.times.blocks >= ENOUGH_BLOCKS for each in state.baseline)
    return known and _is_measured(state, observation)


def baseline_took_too_long(state: State, observation: Observation, now: float) -> bool:
    """Ten windows have passed since the pods without speculation became ready."""
    limit = observation.policy.warmup + observation.policy.baseline_limit
    return now - state.since >= limit and _is_measured(state, observation)


def _is_measured(state: State, observation: Observation) -> bool:
    return observation.revision == state.revision and not observation.policy.held


def speculate(state: State, observation: Observation, now: float) -> State:
    """RollingOut, with speculation."""
    return replace(state.enter(Phase.ROLLING_OUT, now), measuring=False)


def start_measuring(state: State, observation: Observation, now: float) -> State:
    """The measurement begins."""
    return replace(state, revision=observation.revision, since=now)


def note_baseline_window(state: State, observation: Observation) -> State:
    """Learns the speed and the steps of the baseline from a window of the service without speculation, and adds it to
    the trial.
    """
    if observation.speculating or not is_fresh(state, observation):
        return state
    same = observation.revision == state.revision
    token_times = observation.token_times if same else {}
    state = replace(state, judged=math.floor(observation.closed), baseline=learnt(state.baseline, token_times))
    if not same:
        return state
    state = replace(state, baseline_steps=observation.baseline_steps or state.baseline_steps)
    rollback = state.rollback
    if rollback is None or rollback.trial is None or not observation.recent:
        return state
    trial = rollback.trial.plus(observation.recent[-1])
    return replace(state, rollback=replace(rollback, trial=trial))


def note_off_cost(state: State, observation: Observation) -> State:
    """What engines that leave their draft out reach of the baseline: learnt from both arms, and forgotten once other
    pods speculate.
    """
    asked, known = observation.measured_for, state.off_cost
    if asked is not None and known is not None and known.measured_for != asked:
        state = replace(state, off_cost=None)
    if not is_fresh(state, observation) or observation.revision != state.revision:
        return state
    return replace(state, off_cost=renewed(state.off_cost, observation.off_cost, asked))


def is_of_speed(state: State, observation: Observation, now: float) -> bool:
    """Whether speculation is too slow compared with the baseline of another time, or `failureLimit` windows in a row
    could not be compared; in a service of one pod ten, unless more requests run at once than in any baseline, and not
    at all if its engine compares itself: a trial costs two rollouts.
    """
    verdict = observation.verdict
    if verdict is None or verdict.final or not is_fresh(state, observation):
        return False
    if verdict.reason in _BY_SPEED:
        return last_failing_window(state, observation, now)
    alone = observation.policy.single
    if not verdict.uncompared or (alone and observation.dips):
        return False
    waits = alone and verdict.reason is not Reason.BEYOND_BASELINE
    return state.unmeasured + 1 >= max(observation.policy.failure_limit, _UNCOMPARED_ALONE if waits else 0)


def _may_settle(state: State, observation: Observation) -> bool:
    """Whether the guard may do something about a doubt."""
    policy = observation.policy
    return policy.control is ControlMode.ON_DOUBT and policy.acts and state.rollback is None


def _why(observation: Observation) -> tuple[str, str]:
    """The doubt in a word and a sentence."""
    verdict = observation.verdict
    return (verdict.reason.value, verdict.message) if verdict else ("", "")


def _pause_is_over(state: State, observation: Observation, now: float) -> bool:
    """Whether there may be another doubt. Two things end the pause early: a speed far below the required one, and a
    load above every load of the baseline. A draft that became slow fills the batch until no window can be compared.
    """
    pause, verdict = min(_MOST_PAUSE, _PAUSE * 2 ** max(0, state.doubts - 1)), observation.verdict
    grave = verdict is not None and (verdict.grave or verdict.reason is Reason.BEYOND_BASELINE)
    return grave or not state.doubted or now - state.doubted >= pause


def speed_is_in_doubt(state: State, observation: Observation, now: float) -> bool:
    """Speculation is slower than the baseline of another time, or `failureLimit` windows in a row could not be
    compared. The service has two pods or more, or an autoscaler, and `guard.control` is OnDoubt. For a while after the
    last doubt, one of two more conditions is needed: speculation is far slower, or more requests run at once than in
    any baseline measurement.
    """
    asks = state.control is None and _may_settle(state, observation) and not observation.policy.single
    return asks and _pause_is_over(state, observation, now) and is_of_speed(state, observation, now)


def ask_for_baseline_pod(state: State, observation: Observation, now: float) -> State:
    """A baseline pod is created, and both are compared."""
    reason, message = _why(observation)
    control = RequestedBaselinePods(replicas=1, reason=reason, message=message, at=now)
    return replace(window_inconclusive(state, observation, now), control=control, pairs=(), unmeasured=0)


def doubt_waits(state: State, observation: Observation, now: float) -> bool:
    """The speed is in doubt, and baseline pods run or ran a short while ago. Or a service of one pod got
    speculation back after a trial within the day, and is not far slower now.
    """
    if not _may_settle(state, observation) or state.armless or not is_of_speed(state, observation, now):
        return False
    if observation.policy.single and state.control is None:
        grave = observation.verdict is not None and observation.verdict.grave
        return bool(state.doubted) and now - state.doubted < _MOST_PAUSE and not grave
    return state.control is not None or not _pause_is_over(state, observation, now)


def wait_for_evidence(state: State, observation: Observation, now: float) -> State:
    """Nothing: the comparison with baseline pods decides, not the baseline of another time."""
    return window_inconclusive(state, observation, now)


def baseline_pods_are_always_wanted(state: State, observation: Observation, now: float) -> bool:
    """`guard.control` is Always, and the baseline pods do not exist yet or have another number."""
    policy = observation.policy
    wanted = policy.control is ControlMode.ALWAYS and policy.acts and state.rollback is None
    return wanted and (state.control is None or state.control.replicas != policy.baseline_replicas)


def keep_baseline_pods(state: State, observation: Observation, now: float) -> State:
    """The baseline pods are created, and stay."""
    message = "guard.control.mode is Always"
    return replace(
        state,
        control=RequestedBaselinePods(
            replicas=observation.policy.baseline_replicas, reason=ALWAYS, message=message, at=now
        ),
    )


def baseline_pods_are_not_wanted(state: State, observation: Observation, now: float) -> bool:
    """`guard.control` no longer requests baseline pods, or the guard may not act."""
    if state.control is None:
        return False
    policy, always = observation.policy, state.control.reason == ALWAYS
    return not policy.acts or policy.control is not (ControlMode.ALWAYS if always else ControlMode.ON_DOUBT)


def remove_baseline_pods(state: State, observation: Observation, now: float) -> State:
    """The baseline pods are removed."""
    return replace(state, control=None, pairs=())


def baseline_pods_serve(state: State, observation: Observation, now: float) -> bool:
    """The baseline pods are ready."""
    control = state.control
    return control is not None and not control.up and observation.baseline_pods.serving >= control.replicas


def note_baseline_pods(state: State, observation: Observation, now: float) -> State:
    """From now on the metrics of both groups are read."""
    return state if state.control is None else replace(state, control=replace(state.control, up=now))


def baseline_pod_finds_no_room(state: State, observation: Observation, now: float) -> bool:
    """The baseline pod has found no room for five seconds, and no autoscaler sets the number of pods."""
    control, obstacle = state.control, observation.baseline_pods.obstacle
    if observation.policy.scaled or control is None or control.replaces or control.reason == ALWAYS or control.up:
        return False
    return obstacle is not None and obstacle.frees and now - obstacle.since >= _NO_ROOM


def replace_one_pod(state: State, observation: Observation, now: float) -> State:
    """It replaces a speculating pod."""
    return state if state.control is None else replace(state, control=replace(state.control, replaces=True))


def baseline_pods_come_to_nothing(state: State, observation: Observation, now: float) -> bool:
    """The baseline pod cannot be created, has no room beside an autoscaler's pods, is not ready within half an hour, or
    ten windows had no data of it.
    """
    control, baseline_pods = state.control, observation.baseline_pods
    if control is None or control.reason == ALWAYS:
        return False
    if not control.up:
        hopeless = baseline_pods.failure or (observation.policy.scaled and baseline_pods.obstacle)
        return now - control.at >= (_FAILED if hopeless else _PATIENCE)
    silent = not state.pairs and observation.pair is None
    return silent and now - control.up >= observation.policy.warmup + observation.policy.baseline_limit


def do_without_baseline_pods(state: State, observation: Observation, now: float) -> State:
    """It is removed. For one hour the baseline of another time decides."""
    return replace(state, control=None, pairs=(), armless=True, doubted=now)


def draft_is_acquitted(state: State, observation: Observation, now: float) -> bool:
    """Five windows with a baseline pod show that speculation is fast enough, or fifteen do not show a loss."""
    control, pair = state.control, observation.pair
    if control is None or control.reason == ALWAYS or pair is None or not is_fresh(state, observation):
        return False
    speed = about(observation.findings, Measure.SPEED)
    if speed is None or speed.convicts:
        return False
    return len(state.pairs) + 1 >= _MOST_TO_ACQUIT or shows_fast_enough(observation.findings)


def acquit(state: State, observation: Observation, now: float) -> State:
    """The baseline pod is removed, and speculation stays. Its measurements are the baseline from now on."""
    after = window_passed(state, observation, now)
    return replace(after, control=None, pairs=(), armless=False, doubts=state.doubts + 1, doubted=now)


def one_pod_is_in_doubt(state: State, observation: Observation, now: float) -> bool:
    """The same doubt in a service of one pod that did not run as baseline within a day, after three windows."""
    may = _may_settle(state, observation) and observation.policy.single
    rested = not state.doubted or now - state.doubted >= _MOST_PAUSE
    known = sum(each.known for each in observation.recent)
    return may and rested and known >= FEWEST_TRAFFIC and is_of_speed(state, observation, now)


def serve_baseline_for_a_while(state: State, observation: Observation, now: float) -> State:
    """Responding: the service runs as baseline for five windows, and both are compared (a provisional rollback)."""
    reason, message = _why(observation)
    known = tuple(each for each in observation.recent if each.known)
    rollback = Rollback(
        reason=reason,
        message=(
            f"{message}; provisional: the baseline is measured on the same traffic, and the faster of the two stays"
        ),
        at=now,
        trial=Trial(speculating=known, least=_least_speedup(observation)),
        pending=True,
    )
    after = window_inconclusive(state, observation, now)
    return replace(after, phase=Phase.RESPONDING, since=now, rollback=rollback, unmeasured=0)


def _least_speedup(observation: Observation) -> float:
    limits = observation.thresholds
    return 1.0 if limits is None or limits.speedup is None else limits.speedup


def _outcome(state: State) -> TrialOutcome:
    trial = state.rollback.trial if state.rollback else None
    return TrialOutcome.OPEN if trial is None else outcome_of(trial)


def speculation_was_not_slower(state: State, observation: Observation, now: float) -> bool:
    """The rollback is provisional, and five baseline windows do not show that speculation was slower."""
    return _outcome(state) is TrialOutcome.NOT_SLOWER and observation.policy.acts


def bring_it_back(state: State, observation: Observation, now: float) -> State:
    """RollingOut, with the previous speculation. Without room, the baseline keeps serving. No new trial for one day."""
    fresh, rollback = state.enter(Phase.ROLLING_OUT, now), state.rollback
    aside = rollback and _settled(rollback, trial_text(rollback.trial) if rollback.trial else "")
    return replace(fresh, rollback=None, set_aside=aside, doubts=state.doubts + 1, doubted=now, armless=False)


def baseline_is_settled(state: State, observation: Observation, now: float) -> bool:
    """The rollback is provisional, and speculation was significantly slower, or the traffic cannot be compared."""
    return _outcome(state) in (TrialOutcome.SLOWER, TrialOutcome.UNLIKE, TrialOutcome.QUIET)


def stay_with_baseline(state: State, observation: Observation, now: float) -> State:
    """The rollback is no longer provisional; the retries of the guard still apply."""
    rollback = state.rollback
    if rollback is None or rollback.trial is None:
        return state
    differs = f"the traffic changed ({traffic_differs(rollback.trial)}), so the two cannot be compared"
    words = {TrialOutcome.UNLIKE: differs, TrialOutcome.QUIET: "too little traffic to measure the baseline"}
    found = words.get(_outcome(state)) or trial_text(rollback.trial)
    return replace(state, rollback=_settled(rollback, found), doubted=now, armless=True)


def _settled(rollback: Rollback, found: str) -> Rollback:
    """No longer provisional. found: the result of the baseline windows."""
    return replace(rollback, message=f"{rollback.message.partition('; provisional')[0]}; {found}", trial=None)
