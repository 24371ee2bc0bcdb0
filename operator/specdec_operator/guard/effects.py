"""What follows: the right column of the transition table. Each docstring is a line of the documentation."""

import math
from dataclasses import replace

from specdec_operator.guard.baseline import learnt
from specdec_operator.guard.facts import Facts
from specdec_operator.guard.respond import ROLLOUT_FAILED, remembered, respond
from specdec_operator.guard.state import Phase, State
from specdec_operator.serving.rollout import Progress

_HEALED = 3600.0
"""Seconds of watching after which the pods that were restarted before do not count any more."""


def is_fresh(state: State, facts: Facts) -> bool:
    """Whether a window closed that was not counted yet."""
    return math.floor(facts.closed) > state.judged


def take_note(state: State, facts: Facts, now: float) -> State:
    """Whatever the phase: the plain service's speed, pods that were restarted, room that there is not."""
    if is_fresh(state, facts) and not facts.speculating:
        paces = facts.paces if facts.revision == state.revision else {}
        state = replace(state, judged=math.floor(facts.closed), baseline=learnt(state.baseline, paces))
    if state.restarting and not facts.pods & set(state.restarting):
        state = replace(state, restarting=())
    starved = facts.policy.auto and facts.rollout.starved and facts.rollout.progress is Progress.PROGRESSING
    if starved and state.replacing != facts.revision:
        state = replace(state, replacing=facts.revision, wanted_since=now)
    return state


def want(state: State, revision: str, now: float) -> State:
    """Another revision is asked for: its deadline counts from now."""
    return state if state.wanted == revision else replace(state, wanted=revision, wanted_since=now)


def speculate(state: State, facts: Facts, now: float) -> State:
    """RollingOut, with speculation."""
    return replace(_enter(state, Phase.ROLLING_OUT, now), measuring=False)


def stall(state: State, facts: Facts, now: float) -> State:
    """Stalled: the user must act."""
    return _enter(state, Phase.STALLED, max(now, state.wanted_since))  # also when a clock went back


def settle(state: State, facts: Facts, now: float) -> State:
    """The measurement begins."""
    return replace(state, revision=facts.revision, since=now)


def roll_out(state: State, facts: Facts, now: float) -> State:
    """RollingOut."""
    return _enter(state, Phase.ROLLING_OUT, now)


def warm_up(state: State, facts: Facts, now: float) -> State:
    """WarmingUp."""
    return _enter(replace(state, revision=facts.revision), Phase.WARMING_UP, now)


def watch(state: State, facts: Facts, now: float) -> State:
    """Watching."""
    return _enter(state, Phase.WATCHING, now)


def serve(state: State, facts: Facts, now: float) -> State:
    """Serving, unwatched."""
    settled = facts.rollout.progress is Progress.COMPLETE
    return _enter(replace(state, revision=facts.revision) if settled else state, Phase.SERVING, now)


def rest(state: State, facts: Facts, now: float) -> State:
    """RolledBack."""
    return _enter(replace(state, revision=facts.revision), Phase.ROLLED_BACK, now)


def note_revision(state: State, facts: Facts, now: float) -> State:
    """They serve."""
    return replace(state, revision=facts.revision)


def count(state: State, facts: Facts, now: float) -> State:
    """It is counted."""
    return replace(counted(state, facts), judged=math.floor(facts.closed))


def forgive(state: State, facts: Facts, now: float) -> State:
    """The count of failing windows is 0 again: only windows in a row convict."""
    return replace(state, failures=0, blamed=(), judged=math.floor(facts.closed))


def remember(state: State, facts: Facts, now: float) -> State:
    """The count of failing windows is 0 again, and this speculation is the last good one. An hour after a pod was
    restarted, that is forgotten.
    """
    goods = state.goods if facts.good is None else remembered(state, facts.good)
    healed = now - state.since >= _HEALED
    restarts = 0 if healed else state.restarts
    return replace(forgive(state, facts, now), goods=goods, would=None, restarts=restarts)


def answer_failing_windows(state: State, facts: Facts, now: float) -> State:
    """The next rung of the ladder (Responding, or WarmingUp after a pod is restarted). Observe only says so."""
    verdict = facts.verdict
    state = count(state, facts, now)
    return state if verdict is None else respond(state, facts, verdict.reason.value, verdict.message, now)


def answer_a_failed_rollout(state: State, facts: Facts, now: float) -> State:
    """The next rung of the ladder (Responding). Observe only says so."""
    message = f"{facts.rollout.reason}: {facts.rollout.message}"
    return respond(state, facts, ROLLOUT_FAILED, message, now)


def retry(state: State, facts: Facts, now: float) -> State:
    """RollingOut, with the speculation that is asked for; one try less."""
    fresh = _enter(state, Phase.ROLLING_OUT, now)
    return replace(fresh, rollback=None, reduced=None, retries=state.retries + 1, restarts=0)


def resume(state: State, facts: Facts, now: float) -> State:
    """Where it was."""
    return _enter(state, _moving(state, Phase.RESPONDING), now)


def heal(state: State, facts: Facts, now: float) -> State:
    """It healed by itself."""
    return _enter(state, _moving(state, Phase.ROLLED_BACK if state.plain else Phase.RESPONDING), now)


def give_them_their_time(state: State, facts: Facts, now: float) -> State:
    """RollingOut; their deadline begins now."""
    return replace(_enter(state, Phase.ROLLING_OUT, now), wanted_since=now)


def _moving(state: State, after_rollback: Phase) -> Phase:
    if state.measuring:
        return Phase.MEASURING_BASELINE
    return after_rollback if state.rollback else Phase.ROLLING_OUT


def _enter(state: State, phase: Phase, now: float) -> State:
    return replace(state, phase=phase, since=now, failures=0, blamed=())


def counted(state: State, facts: Facts) -> State:
    """One more failing window in a row. Blamed are the pods that failed in all of them; others begin another row."""
    pods = facts.verdict.pods if facts.verdict else ()
    if state.failures == 0:
        return replace(state, failures=1, blamed=pods)
    blamed = tuple(pod for pod in pods if pod in state.blamed) if state.blamed and pods else state.blamed or pods
    if pods and not blamed:
        return replace(state, failures=1, blamed=pods)
    return replace(state, failures=state.failures + 1, blamed=blamed)
