"""What the user requests, and how the user's own actions change the state, before anything is planned."""

from dataclasses import dataclass, replace

from specdec_operator.guard.decisions import Rollback
from specdec_operator.guard.state import Phase, State

BY_REQUEST = "Requested"
"""Reason of a rollback that the user asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserIntent:
    """What the user requests: hashes of the speculation, of the other served fields and of the memory settings, and the
    values of the annotations.

    speculating: whether there is a speculation. measure: whether the baseline is measured before it.
    """

    speculation: str
    service: str
    speculating: bool
    memory: str = ""
    measure: bool = False
    retry: str | None = None
    rollback: str | None = None


def initial_state(intent: UserIntent, now: float) -> State:
    """The state of a service that was never seen. Annotations that are there already ask for nothing."""
    return State(
        phase=Phase.MEASURING_BASELINE if intent.measure else Phase.ROLLING_OUT,
        since=now,
        speculation=intent.speculation,
        service=intent.service,
        memory=intent.memory,
        measuring=intent.measure,
        attempted=intent.measure,
        handled_retry=intent.retry,
        handled_rollback=intent.rollback,
    )


def follow_user(state: State, intent: UserIntent, now: float) -> State:
    """The state after what the user did: another service, another speculation, a nonce for a rollback or a retry.

    A hash that the status has lost shows no change: its decisions stay.
    """
    state = state if state.speculation else replace(state, speculation=intent.speculation)
    state = state if state.phase is Phase.DIALLED else replace(state, dial=None)  # of a status that others changed
    if (state.service, state.memory) != (intent.service, intent.memory):
        state = replace(state, adapted=None)
    if state.service != intent.service:
        was_kept = state.service != ""  # an earlier release did not keep it
        state = replace(state, service=intent.service)
        state = _of_another_service(state) if was_kept else state
    if state.memory != intent.memory:
        state = replace(state, memory=intent.memory, lowering=None if state.memory else state.lowering)
    if intent.speculation != state.speculation:
        return _anew(state, intent, now)
    if intent.rollback is not None and intent.rollback != state.handled_rollback:
        return _rolled_back(state, intent, now)
    if intent.retry is not None and intent.retry != state.handled_retry:
        if state.rollback is None and state.reduced is None and state.dial is None:
            return replace(state, handled_retry=intent.retry, adapted=None)
        return _anew(state, intent, now)
    if intent.measure and not state.attempted and state.rollback is None:
        return _anew(state, replace(intent, rollback=state.handled_rollback, retry=state.handled_retry), now)
    return state


def _of_another_service(state: State) -> State:
    """Without what was learnt of the service as it was."""
    known = replace(state, baseline=(), baseline_steps=None, off_cost=None, saved=None)
    return replace(known, last_good=(), attempted=False, lowering=None)


def _anew(state: State, intent: UserIntent, now: float) -> State:
    """From the beginning, with what was learnt: a speed that is known is not measured again."""
    measure = intent.measure and not any(each.known for each in state.baseline)
    fresh, same = initial_state(replace(intent, measure=measure), now), intent.speculation == state.speculation
    return replace(
        fresh,
        rollbacks=state.rollbacks,
        revision=state.revision,
        last_good=state.last_good,
        baseline=state.baseline,
        baseline_steps=state.baseline_steps,
        attempted=state.attempted or intent.measure,
        judged=state.judged,
        off_cost=state.off_cost if same else None,
        saved=state.saved if same else None,
    )


def _rolled_back(state: State, intent: UserIntent, now: float) -> State:
    handled = replace(state, handled_rollback=intent.rollback)
    if not intent.speculating:
        return handled
    message = f"requested by annotation specdec.io/rollback={intent.rollback}"
    before = state.rollback
    if before is not None and state.serves_baseline and not state.measuring:  # it is plain already: now by the user
        return replace(handled, rollback=Rollback(reason=BY_REQUEST, message=message, at=now, pending=before.pending))
    return replace(
        handled,
        phase=Phase.RESPONDING,
        since=now,
        failures=0,
        blamed=(),
        measuring=False,
        restarting=(),
        reduced=None,
        dial=None,
        adapted=None,
        rollback=Rollback(reason=BY_REQUEST, message=message, at=now, pending=True),
    )
