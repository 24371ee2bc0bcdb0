"""The Events of a reconcile: a transition, a new warning, what newly keeps artifacts or pods away. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator.api.conditions import ConditionType
from specdec_operator.guard.adapt import NOT_FOLLOWED
from specdec_operator.guard.decisions import Lowering
from specdec_operator.guard.speed_checks import collateral_text
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.trial import trial_text
from specdec_operator.observe.artifacts import AT_WORK
from specdec_operator.report.conditions import NO_ROOM, Findings
from specdec_operator.report.status import SpecRefusal, warning_of, why


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A Kubernetes Event that is sent once the status that it is about is written."""

    warning: bool
    reason: str
    message: str


def events_of(
    before: State | None, after: State, found: Findings, written: Mapping[str, Any], trouble: SpecRefusal | None = None
) -> tuple[Event, ...]:
    """The Events of a reconcile: its transition, new problems, a spec that cannot run."""
    transition = _of_transition(before, after, found)
    failures = _of_pods(before, after)
    events = (
        *failures,
        *_of_rows(before, after),
        *([transition] if transition else ()),
        *_of_baseline_pods(before, after, found),
        *_news(found, written),
    )
    if trouble is None or written.get("message") == trouble.error.message:
        return events
    return (*events, refusal_event(trouble))


def refusal_event(trouble: SpecRefusal) -> Event:
    """The Event of a spec that cannot run."""
    return _warning(trouble.error.reason, trouble.error.message)


def unreadable_event(words: str) -> Event:
    """The Event of a status of which a part could not be read."""
    return _warning(ConditionType.STATE_UNREADABLE.value, words)


def _warning(reason: str, message: str) -> Event:
    return Event(warning=True, reason=reason, message=message)


def _news(found: Findings, written: Mapping[str, Any]) -> Iterator[Event]:
    """Each thing to be warned of, when that is new: by the conditions that were written last."""
    told = {each["type"]: each for each in written.get("conditions", ())}
    warning, arrival, rollout = warning_of(found), found.arrival, found.rollout
    if warning and warning != told.get(ConditionType.WARNED, {}).get("message"):
        yield _warning(ConditionType.WARNED.value, warning)
    staged = told.get(ConditionType.ARTIFACTS_STAGED, {}).get("reason")
    if arrival.status == "False" and arrival.reason not in (staged, *AT_WORK):
        yield _warning(f"Artifacts{arrival.reason}", arrival.message)
    about_rollout = (ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED)
    in_the_way = rollout.kserve_refuses or rollout.obstacle is not None
    if in_the_way and all(told.get(each, {}).get("reason") != rollout.reason for each in about_rollout):
        yield _warning(rollout.reason, rollout.message)
    if found.unreadable and found.unreadable != told.get(ConditionType.STATE_UNREADABLE, {}).get("message"):
        yield unreadable_event(found.unreadable)
    if event := _of_dial(found, written):
        yield event
    if found.contested and ConditionType.CONTESTED not in told:
        yield _warning(ConditionType.CONTESTED.value, found.contested)


def _of_dial(found: Findings, written: Mapping[str, Any]) -> Event | None:
    """A dial that is set to other tokens, is reset, cannot be set, or is not followed."""
    view, told = found.dial, written.get("dial", {})
    if view.refused or view.denied:
        words = view.refused or view.denied
        return _warning("DialRefused", words) if words not in told.get("message", "") else None
    asked = view.request.lasting if view.request else None
    if asked == told.get("tokens") or (view.request and not view.request.by_hand):  # the guard's decision has its own
        return None
    if view.request is None:
        return Event(
            warning=False, reason="DialReset", message="the dial is not set any more: each pod goes back to its flags"
        )
    return Event(warning=False, reason="Dialled", message=view.request.message)


def _of_pods(before: State | None, after: State) -> Iterator[Event]:
    """Each new failure of a pod, even if the guard does not act on it yet."""
    told = {(each.pod, each.at) for each in before.pod_failures} if before else set()
    for each in after.pod_failures:
        if (each.pod, each.at) not in told:
            yield _warning("PodFailed", f"{each.reason}: pod {each.pod}: {each.message}")


def _of_rows(before: State | None, after: State) -> Iterator[Event]:
    """Other draft tokens by load."""
    told = before.adapted if before else None
    if after.adapted is not None and after.adapted != told:
        yield Event(warning=after.adapted.reason == NOT_FOLLOWED, reason="TokensAdapted", message=after.adapted.message)
    elif after.adapted is None and told is not None and told.rows and after.phase is Phase.WATCHING:
        yield Event(
            warning=False, reason="TokensAdapted", message="each load has the same number of draft tokens again"
        )


def _of_baseline_pods(before: State | None, after: State, found: Findings) -> Iterator[Event]:
    """Baseline pods that are requested or removed, the end of a trial, and measures that newly exceed their limit."""
    if before is None:
        return
    asked, kept = before.control, after.control
    if kept is not None and (asked is None or asked.at != kept.at):
        yield Event(
            warning=False, reason="ComparingWithPlain", message=f"{kept.replicas} baseline pods: {kept.message}"
        )
    if kept is not None and kept.replaces and asked is not None and not asked.replaces:
        yield _warning("PlainPodReplaces", "there is no room for a baseline pod: it replaces a speculating pod")
    if asked is not None and kept is None and after.armless and not before.armless:
        words = found.baseline_pods.failure or "it was not ready in time, or no request ended in it"
        yield _warning("NoPlainPod", f"{words}; the baseline of another time decides for one hour")
    if after.baseline_fails is not None and after.baseline_fails != before.baseline_fails:
        yield Event(
            warning=False, reason="DraftAcquitted", message=f"speculation returns: {after.baseline_fails.message}"
        )
    if after.doubts > before.doubts:
        yield Event(warning=False, reason="DraftAcquitted", message=_acquittal(before, found))
    trial = before.rollback is not None and before.rollback.trial is not None
    if trial and after.rollback is not None and after.rollback.trial is None:
        yield _warning("RollbackSettled", after.rollback.message)
    costs = {each.measure: each for each in found.judged.findings} if found.judged else {}
    for measure in after.collateral:
        if measure not in before.collateral and measure in costs:
            yield _warning("Collateral", collateral_text(costs[measure]))


def _acquittal(before: State, found: Findings) -> str:
    """Why speculation stays, or comes back."""
    if before.rollback is not None and before.rollback.trial is not None:
        return f"speculation returns: {trial_text(before.rollback.trial)}"
    return f"speculation stays: {found.judged.verdict.message}" if found.judged else "speculation stays"


def _of_transition(before: State | None, after: State, found: Findings) -> Event | None:
    """The Event of a transition; None where the phase stayed and nothing was decided."""
    dry_run = after.dry_run
    if dry_run is not None and (before is None or before.dry_run != dry_run):
        message = f"{dry_run.action}, were the guard free to act: {dry_run.reason}: {dry_run.message}"
        return _warning(f"Would{dry_run.action}", message)
    if before is not None and after.restarts > before.restarts:
        failed = after.pod_failures != before.pod_failures
        judged = found.judged.verdict.message if found.judged else ""
        words = after.pod_failures[-1].message if failed else judged
        return _warning("RestartingPod", f"{', '.join(after.restarting)}: {words}")
    if before is not None and after.replacing != before.replacing and after.replacing is not None:
        return _warning(ConditionType.REPLACING.value, NO_ROOM)
    if before is not None and before.phase is after.phase and before.subject == after.subject:
        return None
    reduced = after.by_dial
    if reduced is not None and (before is None or before.by_dial is None):
        asked = f"{reduced.tokens} tokens per step from now on, by the dial of the running pods"
        return _warning("ReducingTokens", f"{asked}: {reduced.reason}: {reduced.message}")
    return _entered(after, found)


def _entered(after: State, found: Findings) -> Event:
    reason, message = why(found, {})
    match after.phase:
        case Phase.RESPONDING if isinstance(decision := after.decision, Lowering):
            return _warning("LoweringMemory", decision.message)
        case Phase.RESPONDING if after.reduced is not None:
            return _warning(
                "ReducingTokens", f"{after.reduced.tokens} tokens per step from now on: {reason}: {message}"
            )
        case Phase.RESPONDING:
            to = after.rollback.to.value if after.rollback else ""
            return _warning("RollingBack", f"to {to}: {reason}: {message}")
        case Phase.ROLLED_BACK:
            return Event(warning=False, reason="RolledBack", message=f"serving without speculation: {message}")
        case Phase.DIALLED | Phase.STALLED:
            asked = "the dial of the running pods is set to nothing: " if after.phase is Phase.DIALLED else ""
            return _warning(after.phase.value, f"{asked}{reason}: {message}")
        case Phase.ROLLING_OUT | Phase.WARMING_UP | Phase.WATCHING | Phase.SERVING | Phase.MEASURING_BASELINE:
            return Event(warning=False, reason=after.phase.value, message=message)
