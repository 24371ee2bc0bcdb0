"""The Events of a turn: a transition, a new warning, what newly keeps artifacts away. Pure; kopf sends them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator.control.conditions import STAGED, WARNED
from specdec_operator.control.report import Findings, warning_of, why
from specdec_operator.guard.state import Phase, State
from specdec_operator.serving.arrival import AT_WORK


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A Kubernetes Event to be sent once the status that it tells of is written."""

    warning: bool
    reason: str
    message: str


def events_of(before: State | None, after: State, found: Findings, written: Mapping[str, Any]) -> tuple[Event, ...]:
    """What a turn has to say: its transition, new warnings, and what newly keeps artifacts away."""
    return (*_of_transition(before, after, found), *_of_warnings(found, written), *_of_artifacts(found, written))


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


def _of_transition(before: State | None, after: State, found: Findings) -> tuple[Event, ...]:
    """The Events of a transition; none where the phase stayed and nothing would have been done."""
    would = after.would_roll_back
    if would is not None and (before is None or before.would_roll_back != would):
        return (Event(warning=True, reason="WouldRollBack", message=f"Observe: {would.reason}: {would.message}"),)
    if before is not None and before.phase is after.phase:
        return ()
    reason, message = why(found, {})
    match after.phase:
        case Phase.RESPONDING:
            return (Event(warning=True, reason="RollingBack", message=f"{reason}: {message}"),)
        case Phase.ROLLED_BACK:
            return (Event(warning=False, reason="RolledBack", message=f"serving without speculation: {message}"),)
        case Phase.STALLED:
            return (Event(warning=True, reason="Stalled", message=f"{reason}: {message}"),)
        case Phase.ROLLING_OUT | Phase.WARMING_UP | Phase.WATCHING | Phase.SERVING:
            return (Event(warning=False, reason=after.phase.value, message=message),)
