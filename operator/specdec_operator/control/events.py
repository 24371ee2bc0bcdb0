"""The Events of a turn: a transition, a new warning, what newly keeps artifacts or pods away. Pure; kopf sends them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator.control.conditions import CONTESTED, STAGED, WARNED
from specdec_operator.control.findings import Findings
from specdec_operator.control.report import warning_of, why
from specdec_operator.control.trouble import Trouble
from specdec_operator.guard.state import Phase, State
from specdec_operator.serving.arrival import AT_WORK


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A Kubernetes Event to be sent once the status that it tells of is written."""

    warning: bool
    reason: str
    message: str


def events_of(
    before: State | None, after: State, found: Findings, written: Mapping[str, Any], trouble: Trouble | None = None
) -> tuple[Event, ...]:
    """What a turn has to say: its transition, new warnings, what newly keeps artifacts away, a spec that cannot run."""
    told = trouble is None or written.get("message") == trouble.error.message
    return (
        *_of_transition(before, after, found),
        *_of_warnings(found, written),
        *_of_artifacts(found, written),
        *_of_hindrance(found, written),
        *_of_contest(found, written),
        *(() if told or trouble is None else (of_trouble(trouble),)),
    )


def of_trouble(trouble: Trouble) -> Event:
    """The Event of a spec that cannot run."""
    return Event(warning=True, reason=trouble.error.reason, message=trouble.error.message)


def _of_warnings(found: Findings, written: Mapping[str, Any]) -> tuple[Event, ...]:
    """One Event for what is warned of, when that is new."""
    told = next((c["message"] for c in written.get("conditions", ()) if c["type"] == WARNED), "")
    warning = warning_of(found)
    return (Event(warning=True, reason=WARNED, message=warning),) if warning and warning != told else ()


def _of_artifacts(found: Findings, written: Mapping[str, Any]) -> tuple[Event, ...]:
    """One Event for what keeps the artifacts away, when that is new."""
    arrival = found.arrival
    told = next((c["reason"] for c in written.get("conditions", ()) if c["type"] == STAGED), "")
    if arrival.status != "False" or arrival.reason in (told, *AT_WORK):
        return ()
    return (Event(warning=True, reason=f"Artifacts{arrival.reason}", message=arrival.message),)


def _of_hindrance(found: Findings, written: Mapping[str, Any]) -> tuple[Event, ...]:
    """One Event for what newly keeps KServe from making the Deployment."""
    told = {c["reason"] for c in written.get("conditions", ()) if c["type"] in ("Ready", "Reconciling", "Stalled")}
    rollout = found.rollout
    if not rollout.hindered or rollout.reason in told:
        return ()
    return (Event(warning=True, reason=rollout.reason, message=rollout.message),)


def _of_contest(found: Findings, written: Mapping[str, Any]) -> tuple[Event, ...]:
    """One Event when others begin to change the InferenceService again and again."""
    told = any(c["type"] == CONTESTED for c in written.get("conditions", ()))
    return (Event(warning=True, reason=CONTESTED, message=found.contested),) if found.contested and not told else ()


def _of_transition(before: State | None, after: State, found: Findings) -> tuple[Event, ...]:
    """The Events of a transition; none where the phase stayed and nothing was decided."""
    would = after.would
    if would is not None and (before is None or before.would != would):
        message = f"{would.action}, were the guard free to act: {would.reason}: {would.message}"
        return (Event(warning=True, reason=f"Would{would.action}", message=message),)
    if before is not None and after.restarts > before.restarts:
        return (_restarting(after, found),)
    if before is not None and after.replacing != before.replacing and after.replacing is not None:
        message = "no node has room for a new pod beside the old ones: these go first"
        return (Event(warning=True, reason="Replacing", message=message),)
    if before is not None and before.phase is after.phase and before.subject == after.subject:
        return ()
    return (_entered(after, found),)


def _restarting(after: State, found: Findings) -> Event:
    words = found.judged.verdict.message if found.judged else ""
    return Event(warning=True, reason="RestartingPod", message=f"{', '.join(after.restarting)}: {words}")


def _entered(after: State, found: Findings) -> Event:
    reason, message = why(found, {})
    match after.phase:
        case Phase.RESPONDING if after.reduced is not None:
            words = f"{after.reduced.tokens} tokens per step from now on: {reason}: {message}"
            return Event(warning=True, reason="ReducingTokens", message=words)
        case Phase.RESPONDING:
            to = after.rollback.to.value if after.rollback else ""
            return Event(warning=True, reason="RollingBack", message=f"to {to}: {reason}: {message}")
        case Phase.ROLLED_BACK:
            return Event(warning=False, reason="RolledBack", message=f"serving without speculation: {message}")
        case Phase.STALLED:
            return Event(warning=True, reason="Stalled", message=f"{reason}: {message}")
        case Phase.ROLLING_OUT | Phase.WARMING_UP | Phase.WATCHING | Phase.SERVING | Phase.MEASURING_BASELINE:
            return Event(warning=False, reason=after.phase.value, message=message)
