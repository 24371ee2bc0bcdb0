"""What the user's own acts make of the state, before anything is planned."""

from dataclasses import replace

from specdec_operator.guard.facts import Asked
from specdec_operator.guard.state import Phase, Rollback, State

BY_REQUEST = "Requested"
"""Reason of a rollback that the user asked for."""


def begin(asked: Asked, now: float) -> State:
    """The state of a sis that was never seen. Annotations that are there already ask for nothing."""
    return State(
        phase=Phase.MEASURING_BASELINE if asked.measure else Phase.ROLLING_OUT,
        since=now,
        speculation=asked.speculation,
        service=asked.service,
        measuring=asked.measure,
        attempted=asked.measure,
        handled_retry=asked.retry,
        handled_rollback=asked.rollback,
    )


def renewed(state: State, asked: Asked, now: float) -> State:
    """The state after what the user did: another service, another speculation, a nonce for a rollback or a retry."""
    if state.service != asked.service:
        known = state.service != ""  # an earlier release did not keep it
        state = replace(state, service=asked.service)
        state = replace(state, baseline=(), goods=(), attempted=False) if known else state
    if asked.speculation != state.speculation:
        return _anew(state, asked, now)
    if asked.rollback is not None and asked.rollback != state.handled_rollback:
        return _rolled_back(state, asked, now)
    if asked.retry is not None and asked.retry != state.handled_retry:
        if state.rollback is None and state.reduced is None:
            return replace(state, handled_retry=asked.retry)
        return _anew(state, asked, now)
    if asked.measure and not state.attempted and state.rollback is None:
        return _anew(state, replace(asked, rollback=state.handled_rollback, retry=state.handled_retry), now)
    return state


def _anew(state: State, asked: Asked, now: float) -> State:
    """From the beginning, with what was learnt: a speed that is known is not measured again."""
    measure = asked.measure and not any(each.known for each in state.baseline)
    fresh = begin(replace(asked, measure=measure), now)
    return replace(
        fresh,
        rollbacks=state.rollbacks,
        revision=state.revision,
        goods=state.goods,
        baseline=state.baseline,
        attempted=state.attempted or asked.measure,
        judged=state.judged,
    )


def _rolled_back(state: State, asked: Asked, now: float) -> State:
    handled = replace(state, handled_rollback=asked.rollback)
    if not asked.speculating:
        return handled
    words = f"asked for by annotation specdec.io/rollback={asked.rollback}"
    rollback = Rollback(reason=BY_REQUEST, message=words, at=now)
    if state.plain and not state.measuring:  # it is plain already; but now it is so by the user's will
        return replace(handled, rollback=rollback)
    return replace(
        handled,
        phase=Phase.RESPONDING,
        since=now,
        failures=0,
        blamed=(),
        measuring=False,
        restarting=(),
        reduced=None,
        rollback=rollback,
        rollbacks=state.rollbacks + 1,
    )
