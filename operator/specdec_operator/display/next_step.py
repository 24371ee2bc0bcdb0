"""What a reader of a service's status would do next, and the command for it. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from specdec_operator.display.describe import ago, not_observed
from specdec_operator.display.facts import conditions, held
from specdec_operator.display.untrusted import Untrusted

_UNMEASURED: Final = {
    "NoTraffic": "Send requests to the service: it generated no tokens in the last window.",
    "FewTokens": "Wait for more traffic, or lower spec.guard.minDraftTokens: the window had too few drafted tokens.",
    "ScrapeFailed": "Make the pods' /metrics on port 8080 reachable for the operator: check NetworkPolicies, or set a "
    "Prometheus server in spec.guard.source.",
    "NotMeasured": "Set spec.guard.baseline to MeasureFirst: the baseline's speed at this load is unknown.",
    "RarelyDrafts": "Set spec.guard.baseline to MeasureFirst: with so few drafts, only the speed is evidence.",
}
"""The fix for a window without a result, by the verdict's reason."""
_ROOM: Final = "or stop old pods first: spec.rollout.whenNoRoom: Replace."
_NOT_LET_IN: Final = {
    "QuotaExceeded": f"Raise the ResourceQuota by one pod, {_ROOM}",
    "Unschedulable": f"Make room on a node for the new pod, {_ROOM}",
    "SchedulingGated": f"Ask the owner of the pod's scheduling gate to remove it, {_ROOM}",
    "PodRefused": "Change the policy or webhook that rejects the pod, or change the pod. Condition Reconciling has its "
    "message. Old pods keep serving.",
}
"""The fix for pods that the cluster does not admit or place, by the reason of condition Reconciling."""
_ACTIONS: Final = {"RestartPod": "restart a pod", "ReduceTokens": "guess fewer tokens", "RollBack": "roll back"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do. command: for a terminal; empty where there is none."""

    words: str
    command: str = ""


def steps(service: Untrusted, now: datetime) -> tuple[Step, ...]:
    """What to do next, the most urgent first; if there is nothing to do, one step with that message."""
    name, namespace = (service.of("metadata", each).text for each in ("name", "namespace"))
    others = {"": "", "events": f"kubectl get events -n {namespace} --field-selector involvedObject.name={name}"}
    found = (
        Step(words=words, command=others.get(verb, f"specdec {verb} {name} -n {namespace}"))
        for words, verb in _steps(service, now)
    )
    return tuple(found) or (Step(words="Nothing: the service runs as requested."),)


def _steps(service: Untrusted, now: datetime) -> Iterator[tuple[str, str]]:
    """What to do, and the verb of the command for it."""
    status, guard = service.of("status"), service.of("status", "guard")
    phase, verdict = status.of("phase").text, guard.of("verdict").text
    if reason := not_observed(service):
        yield f"Wait: {reason}.", ""
    if phase == "Stalled" or _is_stalled(status):
        yield "Fix the problem in its message, in the spec or in the cluster.", "events"
    moving = (each.reason for each in conditions(status) if each.type == "Reconciling")
    if words := next((_NOT_LET_IN[each] for each in moving if each in _NOT_LET_IN), ""):
        yield words, "events"
    if guard.of("rollback").there:
        following = guard.of("nextRetry")
        again = f"Wait: the operator retries {ago(following, now)}. Or retry now:"
        anew = "Change spec.speculation, for example its draft. Or retry the same speculation:"
        yield again if following.time else anew, "retry"
    if tokens := _tokens_to_set(service):
        yield tokens, ""
    if guard.of("would").there:
        action = _ACTIONS.get(guard.of("would", "action").text, "act")
        yield f"Decide: the guard would {action}, but mode Observe or a hold prevents it.", "rollback"
    if guard.of("failures").whole and phase == "Watching":
        yield "Watch the service: the guard acts by itself when the limit is reached.", "watch"
    if verdict == "Inconclusive" and (remedy := _UNMEASURED.get(guard.of("reason").text)):
        yield remedy, ""
    if held(service, now):
        yield "Release the guard when you are done.", "release"


def _tokens_to_set(service: Untrusted) -> str:
    """The recommended K, as a sentence; empty without one."""
    advice = service.of("status", "guard", "recommendation")
    better, why = advice.of("tokens").whole, advice.of("message").text
    rows = advice.of("tokensByBatchSize")
    if rows.items:
        if rows.value == service.of("spec", "speculation", "tokensByBatchSize").value:
            return ""
        return f"Set spec.speculation.tokensByBatchSize to {_by_load(rows.items)}: {why}."
    if better and better > 0 and better != service.of("spec", "speculation", "tokens").whole:
        return f"Set spec.speculation.tokens to {better}: {why}."
    return ""


def _by_load(rows: tuple[Untrusted, ...]) -> str:
    """Rows of tokensByBatchSize, as they are written in a spec."""
    whole = ({key: row.of(key).whole for key in ("upTo", "tokens")} for row in rows)
    return json.dumps([{key: value for key, value in row.items() if value is not None} for row in whole])


def _is_stalled(status: Untrusted) -> bool:
    return any(
        each.type == "Stalled" and each.status == "True" and each.reason != "RolledBack" for each in conditions(status)
    )
