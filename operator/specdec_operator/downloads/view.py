"""What a staging Job and its pods show: how far the download is, why it failed, and when it is due again."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from specdec_operator.names import ATTEMPT_ANNOTATION, MADE_OF_ANNOTATION
from specdec_operator.serving.arrival import trouble_of
from specdec_operator.serving.pods import PodView, pod_view

Json = Mapping[str, Any]

_FIRST_WAIT: Final = 60.0
_LONGEST_WAIT: Final = 3600.0
_MOST_WORDS: Final = 400
WELL: Final = frozenset({"Waiting", "Starting", "Downloading"})
"""Reasons of a download that needs nothing but time."""


class Stand(StrEnum):
    """Where a download stands."""

    MISSING = "Missing"
    RUNNING = "Running"
    FAILED = "Failed"
    DONE = "Done"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """One staging Job.

    attempt: how often it has been made. made_of: digest of its spec. started, finished: seconds since 1970.
    reason, message: why it failed, what keeps it from running, or that it is well.
    """

    stand: Stand
    attempt: int = 0
    made_of: str = ""
    started: float | None = None
    finished: float | None = None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Bytes that are there, after so many seconds."""

    bytes: int
    seconds: float


def job_view(body: Json | None, pods: Iterable[Json] = ()) -> JobView:
    """A Job as the API server gives it, None for one that is not there, with the pods of its sis."""
    if body is None:
        return JobView(stand=Stand.MISSING, reason="Waiting", message="its turn has not come")
    meta, status = body["metadata"], body.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ()) if each.get("status") == "True"}
    own = [pod_view(each) for each in pods if _owned(each, meta.get("uid"))]
    stand, reason, message = _stand(conditions, own, deleting="deletionTimestamp" in meta)
    notes = meta.get("annotations", {})
    return JobView(
        stand=stand,
        attempt=_number(notes.get(ATTEMPT_ANNOTATION, "")),
        made_of=notes.get(MADE_OF_ANNOTATION, ""),
        started=_seconds(status.get("startTime")),
        finished=_seconds(status.get("completionTime") or conditions.get("Failed", {}).get("lastTransitionTime")),
        reason=reason,
        message=message,
    )


def due(view: JobView, now: float, *, made_of: str) -> bool:
    """Whether it is time to make the Job (anew). made_of: digest of the spec that it would have now.

    A download that is done or well under way is left alone; one in trouble is made anew at once when its spec changed.
    """
    if view.stand is Stand.MISSING:
        return True
    changed = view.made_of != made_of
    if view.stand is Stand.FAILED:
        return changed or now >= (view.finished or 0.0) + wait(view.attempt)
    return view.stand is Stand.RUNNING and changed and view.reason not in WELL


def next_attempt(view: JobView, made_of: str) -> int:
    """The number of the Job to make: a changed spec begins at 1 again."""
    return view.attempt + 1 if view.made_of == made_of else 1


def wait(attempt: int) -> float:
    """Seconds from the failure of an attempt to the next: a minute, doubled with each, an hour at most."""
    return min(_FIRST_WAIT * 2.0 ** min(attempt - 1, 10), _LONGEST_WAIT)


def progress(log: str) -> Progress | None:
    """The newest line of progress at the end of the pod's log; None where there is none."""
    for line in reversed(log.splitlines()):
        try:
            told = json.loads(line)
            return Progress(bytes=int(told["bytes"]), seconds=float(told["seconds"]))
        except (ValueError, KeyError, TypeError):
            continue
    return None


def _owned(pod: Json, uid: str | None) -> bool:
    return any(each.get("uid") == uid for each in pod["metadata"].get("ownerReferences", ()))


def _stand(conditions: Mapping[str, Json], pods: list[PodView], *, deleting: bool) -> tuple[Stand, str, str]:
    if deleting:
        return Stand.RUNNING, "Starting", "the Job before is being removed"
    if "Complete" in conditions:
        return Stand.DONE, "Downloaded", "the artifact is in the claim"
    if "Failed" in conditions:
        words = conditions["Failed"].get("message") or conditions["Failed"].get("reason", "")
        return Stand.FAILED, *(_failure(pods) or ("DownloadFailed", f"the Job failed: {words[:_MOST_WORDS]}"))
    return Stand.RUNNING, *_course(pods)


def _failure(pods: list[PodView]) -> tuple[str, str] | None:
    """What the program itself said, else what the pod shows."""
    for pod in pods:
        for container in pod.helpers:
            try:
                said = json.loads(container.message)
                return str(said["reason"]), str(said["message"])[:_MOST_WORDS]
            except (ValueError, KeyError, TypeError):
                continue
        if trouble := trouble_of(pod):
            return trouble
    return None


def _course(pods: list[PodView]) -> tuple[str, str]:
    if failed := _failure(pods):  # a moment before the Job itself says so
        return failed
    for pod in pods:
        if pod.pending:
            return "Unschedulable", f"pod {pod.name} is not scheduled: {pod.pending[:_MOST_WORDS]}"
        if any(each.running for each in pod.helpers):
            return "Downloading", f"pod {pod.name} is at work"
    return "Starting", "the Job's pod does not run yet"


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 1


def _seconds(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None
