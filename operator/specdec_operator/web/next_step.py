"""What somebody who looks at a service would do next, and the command for it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from specdec_operator.cli import status_words as words
from specdec_operator.cli.found import Found

_UNMEASURED: Final = {
    "NoTraffic": "Send requests to it: nothing was generated in the last window, so nothing can be said.",
    "FewTokens": "Wait for more traffic, or lower spec.guard.minDraftTokens: the window held too few drafted tokens.",
    "ScrapeFailed": "Let the operator reach the pods' /metrics on port 8080: look for a NetworkPolicy, or name a "
    "Prometheus server in spec.guard.source.",
    "NotMeasured": "Set spec.guard.baseline to MeasureFirst: the plain service's speed at this load is not known.",
    "RarelyDrafts": "Set spec.guard.baseline to MeasureFirst: with so few drafts only the speed can tell.",
}
"""The way out of a window that says nothing, by the verdict's reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do. command: for a terminal; empty where there is none."""

    words: str
    command: str = ""


def steps(sis: Found, now: datetime) -> tuple[Step, ...]:
    """What to do next, the most urgent first; one that says that there is nothing where that is so."""
    found = tuple(_steps(sis, now))
    return found or (Step(words="Nothing: it runs as it is asked to."),)


def _steps(sis: Found, now: datetime) -> Iterator[Step]:
    status, guard = sis.of("status"), sis.of("status", "guard")
    if unseen := words.unseen(sis):
        yield Step(words=f"Wait: {unseen}.")
    if status.of("phase").text == "Stalled" or _is_stalled(status):
        yield Step(words="Mend what its message names, in the spec or in the cluster.", command=_kubectl(sis))
    if guard.of("rollback").there:
        yield from _after_rollback(sis, guard, now)
    yield from _tokens(sis, guard)
    if guard.of("would").there:
        action = guard.of("would", "action").text
        yield Step(
            words=f"Decide: the guard would {_plain(action)}, and is not free to.", command=_act("rollback", sis)
        )
    if guard.of("failures").whole and status.of("phase").text == "Watching":
        yield Step(words="Watch it: the guard acts by itself when the limit is reached.", command=_act("watch", sis))
    if guard.of("verdict").text == "Inconclusive" and (said := _UNMEASURED.get(guard.of("reason").text)):
        yield Step(words=said)
    if words.held(sis, now) or guard.of("held").flag:
        yield Step(words="Let the guard act again when you are done.", command=_act("release", sis))


def _after_rollback(sis: Found, guard: Found, now: datetime) -> Iterator[Step]:
    following = guard.of("nextRetry")
    if following.time:
        yield Step(words=f"Wait: it is tried again by itself {words.ago(following, now)}, or now:", command=_retry(sis))
    else:
        said = "Change spec.speculation, such as its draft: that begins anew. Or try the same again:"
        yield Step(words=said, command=_retry(sis))


def _tokens(sis: Found, guard: Found) -> Iterator[Step]:
    """The number of tokens that the numbers speak for, where it is another one than is asked for."""
    better, asked = guard.of("recommendation", "tokens").whole, sis.of("spec", "speculation", "tokens").whole
    if better is not None and better > 0 and better != asked:
        yield Step(words=f"Set spec.speculation.tokens to {better}: {guard.of('recommendation', 'message').text}.")


def _plain(action: str) -> str:
    return {"RestartPod": "restart a pod", "ReduceTokens": "guess fewer tokens", "RollBack": "roll back"}.get(
        action, "act"
    )


def _is_stalled(status: Found) -> bool:
    return any(
        each.of("type").text == "Stalled"
        and each.of("status").text == "True"
        and each.of("reason").text != "RolledBack"
        for each in status.of("conditions").items
    )


def _retry(sis: Found) -> str:
    return _act("retry", sis)


def _act(verb: str, sis: Found) -> str:
    return f"specdec {verb} {sis.of('metadata', 'name').text} -n {sis.of('metadata', 'namespace').text}"


def _kubectl(sis: Found) -> str:
    name, namespace = sis.of("metadata", "name").text, sis.of("metadata", "namespace").text
    return f"kubectl get events -n {namespace} --field-selector involvedObject.name={name}"
