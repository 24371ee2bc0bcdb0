"""What somebody who looks at a service would do next, and the command for it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from specdec_operator.display.describe import ago, not_observed
from specdec_operator.display.facts import conditions, held
from specdec_operator.display.untrusted import Untrusted

_UNMEASURED: Final = {
    "NoTraffic": "Send requests to it: nothing was generated in the last window.",
    "FewTokens": "Wait for more traffic, or lower spec.guard.minDraftTokens: the window held too few drafted tokens.",
    "ScrapeFailed": "Let the operator reach the pods' /metrics on port 8080: look for a NetworkPolicy, or name a "
    "Prometheus server in spec.guard.source.",
    "NotMeasured": "Set spec.guard.baseline to MeasureFirst: the baseline's speed at this load is unknown.",
    "RarelyDrafts": "Set spec.guard.baseline to MeasureFirst: with so few drafts only the speed is evidence.",
}
"""The way out of a window that says nothing, by the verdict's reason."""
_ROOM: Final = "or stop old pods first: spec.rollout.whenNoRoom: Replace."
_NOT_LET_IN: Final = {
    "QuotaExceeded": f"Raise the ResourceQuota for one pod more, {_ROOM}",
    "Unschedulable": f"Make room on a node for the new pod, {_ROOM}",
    "SchedulingGated": f"Find the owner of the scheduling gate on the pod, {_ROOM}",
    "PodRefused": "Change the policy or the webhook that refuses the pod, or the pod: condition Reconciling "
    "quotes its message, and old pods keep serving.",
}
"""The way out for pods that the cluster does not let in, by the reason of condition Reconciling."""
_ACTIONS: Final = {"RestartPod": "restart a pod", "ReduceTokens": "guess fewer tokens", "RollBack": "roll back"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do. command: for a terminal; empty where there is none."""

    words: str
    command: str = ""


def steps(service: Untrusted, now: datetime) -> tuple[Step, ...]:
    """What to do next, the most urgent first; one that says that there is nothing where that is so."""
    name, namespace = (service.of("metadata", each).text for each in ("name", "namespace"))
    others = {"": "", "events": f"kubectl get events -n {namespace} --field-selector involvedObject.name={name}"}
    found = (
        Step(words=words, command=others.get(verb, f"specdec {verb} {name} -n {namespace}"))
        for words, verb in _steps(service, now)
    )
    return tuple(found) or (Step(words="Nothing: it runs as requested."),)


def _steps(service: Untrusted, now: datetime) -> Iterator[tuple[str, str]]:
    """What to do, and the verb of the command for it."""
    status, guard = service.of("status"), service.of("status", "guard")
    phase, verdict = status.of("phase").text, guard.of("verdict").text
    if reason := not_observed(service):
        yield f"Wait: {reason}.", ""
    if phase == "Stalled" or _is_stalled(status):
        yield "Fix what its message names, in the spec or in the cluster.", "events"
    moving = (each.reason for each in conditions(status) if each.type == "Reconciling")
    if words := next((_NOT_LET_IN[each] for each in moving if each in _NOT_LET_IN), ""):
        yield words, "events"
    if guard.of("rollback").there:
        following = guard.of("nextRetry")
        again = f"Wait: it is tried again by itself {ago(following, now)}, or now:"
        anew = "Change spec.speculation, for example its draft. Or try the same again:"
        yield again if following.time else anew, "retry"
    better, why = guard.of("recommendation", "tokens").whole, guard.of("recommendation", "message").text
    if better and better > 0 and better != service.of("spec", "speculation", "tokens").whole:
        yield f"Set spec.speculation.tokens to {better}: {why}.", ""
    if guard.of("would").there:
        action = _ACTIONS.get(guard.of("would", "action").text, "act")
        yield f"Decide: the guard would {action}, and is not free to.", "rollback"
    if guard.of("failures").whole and phase == "Watching":
        yield "Watch it: the guard acts by itself when the limit is reached.", "watch"
    if verdict == "Inconclusive" and (remedy := _UNMEASURED.get(guard.of("reason").text)):
        yield remedy, ""
    if held(service, now):
        yield "Let the guard act again when you are done.", "release"


def _is_stalled(status: Untrusted) -> bool:
    return any(
        each.type == "Stalled" and each.status == "True" and each.reason != "RolledBack" for each in conditions(status)
    )
