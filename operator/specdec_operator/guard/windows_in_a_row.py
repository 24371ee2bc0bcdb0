"""What judged windows change: the count of failing ones in a row, the regret, and the step when they are too many.

Docstrings of rules are lines of the documentation.
"""

import math
from dataclasses import replace

from specdec_operator.guard.acceptance import spent
from specdec_operator.guard.baseline import learnt
from specdec_operator.guard.baseline_pods import MOST_PAIRS, too_costly
from specdec_operator.guard.saved import Saved, busy_seconds, with_window
from specdec_operator.guard.state import Observation, State
from specdec_operator.guard.tries import remembered, respond
from specdec_operator.guard.verdict import BY_ACCEPTANCE, Outcome

_HEALED = 3600.0
"""Seconds of watching after which the pods that were restarted before do not count any more."""
_RENEWED = 24 * 3600.0
"""Seconds of watching after which a speculation has all of its tries again."""


def is_fresh(state: State, observation: Observation) -> bool:
    """Whether a window closed that was not counted yet."""
    return math.floor(observation.closed) > state.judged


def failing_window(state: State, observation: Observation, now: float) -> bool:
    """A window has failed."""
    return _closed(state, observation, Outcome.FAIL)


def passing_window(state: State, observation: Observation, now: float) -> bool:
    """A window has passed."""
    return _closed(state, observation, Outcome.PASS)


def window_is_quiet(state: State, observation: Observation, now: float) -> bool:
    """A window had too little traffic to judge."""
    verdict = observation.verdict
    return _closed(state, observation, Outcome.INCONCLUSIVE) and verdict is not None and verdict.quiet


def window_proves_nothing(state: State, observation: Observation, now: float) -> bool:
    """A window was inconclusive."""
    return _closed(state, observation, Outcome.INCONCLUSIVE)


def _closed(state: State, observation: Observation, outcome: Outcome) -> bool:
    verdict = observation.verdict
    return is_fresh(state, observation) and verdict is not None and verdict.outcome is outcome


def last_failing_window(state: State, observation: Observation, now: float) -> bool:
    """`failureLimit` windows in a row failed severely, and their combined evidence is significant. Or a window fails
    for acceptance, and `regretBudget` is spent. Or the comparison with baseline pods decides.
    """
    verdict = observation.verdict
    if verdict is None or not failing_window(state, observation, now):
        return False
    if verdict.final:
        return True
    if verdict.reason in BY_ACCEPTANCE and regret_after(state, observation) >= observation.policy.regret_budget:
        return True
    enough = counted(state, observation).failures >= observation.policy.failure_limit  # others begin another row
    return enough and verdict.severe and verdict.settled


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


def regret_after(state: State, observation: Observation) -> float:
    """Acceptance that was lost lately, the newest window included, in point-hours."""
    seconds = observation.closed - state.judged if state.judged else 0.0
    return spent(state.regret, observation.lost or 0.0, seconds)


def answer_failing_windows(state: State, observation: Observation, now: float) -> State:
    """The next step (Responding, or WarmingUp after a pod restart). In Observe the guard only reports it."""
    verdict = observation.verdict
    state = window_failed(state, observation, now)
    return state if verdict is None else respond(state, observation, verdict.reason.value, verdict.message, now)


def window_failed(state: State, observation: Observation, now: float) -> State:
    """A severe failure is counted, and the lost acceptance is added to the regret."""
    verdict = observation.verdict
    after = counted(state, observation) if verdict is None or verdict.severe else state
    return _judged(after, observation)


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


def window_quiet(state: State, observation: Observation, now: float) -> State:
    """Nothing: too little traffic is not evidence."""
    return _judged(state, observation)


def window_inconclusive(state: State, observation: Observation, now: float) -> State:
    """The count of failing windows returns to 0: only windows in a row count."""
    return replace(_judged(state, observation), failures=0, blamed=())


def _judged(state: State, observation: Observation) -> State:
    """The state after a window: the window is counted, and the regret, the hours that were saved and the results of
    baseline pods are updated.
    """
    pair = observation.pair
    return replace(
        state,
        judged=math.floor(observation.closed),
        regret=regret_after(state, observation),
        pairs=(*state.pairs, pair)[-MOST_PAIRS:] if pair else state.pairs,
        baseline=learnt(state.baseline, pair.times) if pair else state.baseline,
        unmeasured=_unmeasured(state, observation),
        collateral=too_costly(state.collateral, observation.findings, observation.policy.limited),
        saved=_saved(state, observation),
    )


def _saved(state: State, observation: Observation) -> Saved | None:
    """What was saved, with this window, unless its data cannot be used or the dial asks for other tokens."""
    if observation.verdict is not None and observation.verdict.void:
        return state.saved
    closed, busy = math.floor(observation.closed), busy_seconds(observation.token_times)
    return with_window(state.saved, observation.comparison, busy, closed)


def _unmeasured(state: State, observation: Observation) -> int:
    """Windows in a row whose speed could not be compared. A quiet window among them does not count, and does not end
    the row.
    """
    verdict = observation.verdict
    if verdict is None:
        return 0
    return state.unmeasured + 1 if verdict.uncompared else state.unmeasured if verdict.quiet else 0
