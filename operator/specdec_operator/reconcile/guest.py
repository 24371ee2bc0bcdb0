"""A guest in the form of a service that the operator serves: what it requests, and how far its pods are. Pure.

Nothing is rendered for it. All that follows, from the windows to the status, is as for every other service.
"""

from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from specdec_engine.memory.plan import MemoryPlan
from specdec_operator.api.canonical import digest_of
from specdec_operator.api.control import Control, ControlMode
from specdec_operator.api.guard import Baseline, Guard, GuardMode, RollBackTo
from specdec_operator.api.guest import GuestKind
from specdec_operator.api.rollout import WhenNoRoom
from specdec_operator.api.spec import Spec
from specdec_operator.api.speculation import Method, Speculation
from specdec_operator.engine.build import build_of
from specdec_operator.errors import Invalid
from specdec_operator.guard.rollout import note_progress, want
from specdec_operator.guard.state import State
from specdec_operator.guest.enforcement import OUT, REPLACED, Enforcement, enforcement, put_back_by_another
from specdec_operator.guest.flags import GuestEngine
from specdec_operator.guest.view import BASELINE, Guest
from specdec_operator.guest.write import GuestWrites, with_failure
from specdec_operator.kube.client import version_of
from specdec_operator.observe.artifacts import ArtifactsStatus
from specdec_operator.observe.pods import serving_pods
from specdec_operator.observe.rollout import Progress, RolloutView, pods_of, view_rollout, waiting_rollout
from specdec_operator.reconcile.desired import Desired
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.sis import Parsed, Sis
from specdec_operator.reconcile.throttle import RolloutRequest
from specdec_operator.render.inference_service import Rendered
from specdec_operator.render.plan import Plan, effective_speculation
from specdec_operator.report.guard_status import kept_state
from specdec_operator.report.status import SpecRefusal
from specdec_operator.staging.layout import Layout

LOOK_AGAIN: Final = 60.0
"""Seconds to the next read of a guest: no watch reports its changes."""
NOTHING_TO_GUARD: Final = "NothingToGuard"
_EXAMPLE: Final = '--speculative-config={"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}'
_BROUGHT: Final = ArtifactsStatus(status="True", reason="Guest", message="the owner of the guest provides the models")


def as_guest(sis: Sis, guest: Guest, memory: ServiceMemory) -> Sis:
    """The service with what its guest's flags request. Raises Invalid if nothing can be learnt about the guest."""
    if guest.ref != sis.spec.guest:
        rule = "the newest spec names another guest, and the operator reads only that one"
        raise Invalid("spec", str(sis.spec.guest), rule)
    if guest.trouble is not None:
        raise guest.trouble
    state = memory.state or kept_state(sis.status)
    allowed = enforcement_of(sis, guest, state, memory.guest)
    engine = guest.engine if allowed.taken is None else guest.written  # what its owner wrote, even if it was removed
    speculation = speculation_of(engine) if engine and engine.asks else _counted(sis, guest, memory)
    asked = list(engine.speculative) if engine and engine.asks else None
    if asked is None and speculation is not None:
        asked = [speculation.model_dump_json(exclude_none=True)]
    return replace(
        sis,
        spec=_spec(sis.spec, guest, speculation, acts=allowed.may),
        speculation=digest_of(asked),
        service=guest.base,
        retry=sis.retry if allowed.may or allowed.taken else f"{sis.retry or ''}@{allowed.word}",
        rollback=sis.rollback if allowed.may else None,
    )


def _spec(spec: Spec, guest: Guest, speculation: Speculation | None, *, acts: bool) -> Spec:
    """The spec of a service that serves what the guest serves, and whose rollouts are its owner's."""
    changes: dict[str, Any] = {
        "speculation": speculation,
        "replicas": max(1, guest.deployment.replicas) if guest.deployment else 1,
        "guard": _guard(spec.guard, acts=acts),
        "engine": spec.engine.model_copy(update={"port": guest.where.port if guest.where else None}),
        "rollout": spec.rollout.model_copy(update={"when_no_room": WhenNoRoom.WAIT}),
    }
    return spec.model_copy(update=changes)


def parsed_as_guest(parsed: Parsed, guest: Guest, memory: ServiceMemory) -> Parsed:
    """Both specs with what the guest's flags request."""
    newest, older = (_or_refusal(each, guest, memory) for each in (parsed.newest, parsed.older))
    return Parsed(newest=newest or parsed.newest, older=older if isinstance(older, Sis) else None)


def _or_refusal(sis: Sis | SpecRefusal | None, guest: Guest, memory: ServiceMemory) -> Sis | SpecRefusal | None:
    if not isinstance(sis, Sis) or sis.spec.guest is None:
        return sis
    try:
        return as_guest(sis, guest, memory)
    except Invalid as error:
        return SpecRefusal(error=error, generation=sis.generation)


def enforcement_of(sis: Sis, guest: Guest, state: State | None, writes: GuestWrites) -> Enforcement:
    """What the guard of a service may do about its guest."""
    if guest.ref.kind is not GuestKind.INFERENCE_SERVICE:
        return Enforcement()
    asked = (sis.written.get("guard") or {}).get("mode") == GuardMode.ENFORCE
    allowed = enforcement(guest.flags, uid=sis.owner.uid, asked=asked)
    if allowed.place is not None and state is not None and _was_out(sis, guest, state, writes):
        return put_back_by_another(guest.ref.name, sis.owner.name)
    return allowed


def _was_out(sis: Sis, guest: Guest, state: State, writes: GuestWrites) -> bool:
    """Whether the flag was out of the InferenceService, by what the guard remembers: its pods served without it, or it
    removed the flag from an older version of the object.

    The handled retry keeps the answer after the guard began to observe. Another retry of the user ends it.
    """
    handled = state.handled_retry or ""
    if handled in (sis.retry, f"{sis.retry or ''}@{REPLACED}") and handled.endswith(f"@{REPLACED}"):
        return True
    if sis.retry is not None and sis.retry != handled.partition("@")[0]:
        return False
    written = 0 < writes.version < version_of(guest.live)
    return state.serves_baseline and (state.rolled_back or written)


def _counted(sis: Sis, guest: Guest, memory: ServiceMemory) -> Speculation | None:
    """The speculation that pods are seen to run although their flags do not show it: a file or a variable may set it.
    None: no speculation.

    The status remembers it as long as the same pods run.
    """
    closed = memory.closed
    if closed is not None and closed.evidence.draft_tokens > 0:
        tokens = len(closed.evidence.accepted_per_position) or None
        return Speculation.model_validate({"method": Method.CUSTOM_CLASS, "tokens": tokens})
    serving = (memory.status or sis.status).get("serving") or {}
    if not serving.get("speculating") or serving.get("revision") != guest.revision:
        return None
    return Speculation.model_validate({"method": Method.CUSTOM_CLASS, "tokens": serving.get("tokens") or None})


def _guard(guard: Guard, *, acts: bool) -> Guard:
    """The guard, limited to what it can do for a guest: no baseline pods, no other speculation."""
    mode = GuardMode.ENFORCE if acts else GuardMode.OBSERVE
    mode = GuardMode.OFF if guard.mode is GuardMode.OFF else mode
    return guard.model_copy(
        update={
            "mode": mode,
            "baseline": Baseline.NONE,
            "control": Control(mode=ControlMode.NEVER),
            "response": None,
            "roll_back_to": RollBackTo.BASELINE,
        }
    )


def speculation_of(engine: GuestEngine) -> Speculation:
    """The speculation that an engine requests. If the method is unknown, the guard expects no more of it than of a
    look-up.
    """
    method = engine.method if engine.method in {each.value for each in Method} else Method.CUSTOM_CLASS.value
    rows = (engine.speculation or {}).get("num_speculative_tokens_per_batch_size")
    full: dict[str, Any] = {"method": method, "tokens": engine.tokens}
    try:
        steps = [{"upTo": last, "tokens": tokens} for _, last, tokens in rows] if rows else None
        return Speculation.model_validate({**full, "tokensByBatchSize": steps})
    except (ValidationError, TypeError, ValueError):
        return Speculation.model_validate({"method": method})


def desire_guest(sis: Sis, guest: Guest, state: State, observed: Observed, writes: GuestWrites, now: float) -> Desired:
    """What a guest is and how far its pods are, as if it had been asked for. writes: of the guard, so far."""
    allowed = enforcement_of(sis, guest, state, writes)
    waits = is_to_be_written(state, allowed)
    allowed = with_failure(allowed, writes.failed) if waits else allowed
    revision = _wanted(guest, state, allowed)
    pods = pods_of(revision, guest.pods)
    state = note_progress(want(state, revision, now), serving_pods(pods), now)
    return Desired(
        state=state,
        kserve=observed.kserve,
        plan=_plan(sis, guest, state),
        rendered=Rendered(manifest={}, revision=revision),
        rollout=_unwritten(guest, allowed) if waits else _rollout(sis, guest, state, now),
        artifacts=_BROUGHT,
        deployment=guest.deployment,
        pods=pods,
        downloads=(),
        request=RolloutRequest.NONE,
        waits="",
        guest=guest,
        enforcement=allowed,
        look_again=LOOK_AGAIN,
    )


def is_to_be_written(state: State, allowed: Enforcement) -> bool:
    """Whether the InferenceService is not yet as the guard decided: the flag is still in it, or still out of it."""
    return allowed.place is not None if state.serves_baseline else allowed.reason == OUT


def _unwritten(guest: Guest, allowed: Enforcement) -> RolloutView:
    """The rollout of what was not written: it has not begun, and so its pods cannot be late."""
    failed = "" if allowed.written else f": {allowed.message}"
    reason = "WritingFlags" if allowed.written else allowed.reason
    return waiting_rollout(f"{guest.ref} is not changed yet{failed}", guest.pods, reason=reason)


def _wanted(guest: Guest, state: State, allowed: Enforcement) -> str:
    """The revision that is to serve: its owner's, or the one without speculation once the guard has decided that."""
    if state.serves_baseline and (allowed.may or allowed.taken):
        return f"{guest.base}-{BASELINE}"
    return allowed.taken.revision if allowed.taken else guest.revision


def _plan(sis: Sis, guest: Guest, state: State) -> Plan:
    engine = guest.engine
    speculation = effective_speculation(sis.spec, state)
    return Plan(
        spec=sis.spec,
        runtime="",
        speculation=speculation,
        tokens=(speculation.tokens or 0) if speculation else 0,
        args=engine.words if engine else (),
        warnings=(),
        refused=(),
        layout=Layout(target="", draft=None),
        memory=MemoryPlan(utilization=None, because="", reason=""),
        build=build_of(sis.spec.engine.accelerator.value, None),  # of no effect: nothing is rendered for a guest
    )


def _rollout(sis: Sis, guest: Guest, state: State, now: float) -> RolloutView:
    rollout = view_rollout(
        state.wanted or "",
        guest.deployment,
        guest.pods,
        since=state.wanted_since,
        now=now,
        deadline=sis.spec.rollout.deadline,
    )
    if sis.spec.speculation is not None or rollout.progress is not Progress.COMPLETE:
        return rollout
    return replace(rollout, reason=NOTHING_TO_GUARD, message=_nothing(guest))


def _nothing(guest: Guest) -> str:
    """The message about a guest that does not speculate."""
    kind = guest.ref.kind is GuestKind.INFERENCE_SERVICE
    place = (
        "spec.predictor (model or container)" if kind else f"container {guest.engine.container}" if guest.engine else ""
    )
    lines = f"to speculate, add to the args of {place} of {guest.ref}: {_EXAMPLE}"
    return f"the flags of {guest.ref} do not request speculation, so there is nothing to guard; {lines}"
