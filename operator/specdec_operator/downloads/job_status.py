"""What a staging Job and its pods show: how far the download is, why it failed, when it is due again; and what that
means for the service.

A draft without hope is what a rollout is rolled back for; a target without hope is the user's to mend. While a service
waits for its downloads, its old pods go on, and its new ones are not asked for yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_operator.names import ATTEMPT_ANNOTATION, MADE_OF_ANNOTATION
from specdec_operator.observe.artifacts import ArtifactsStatus, trouble_of
from specdec_operator.observe.pods import MOST_WORDS, PodView, epoch, pod_view, serving_pods, spoken
from specdec_operator.observe.rollout import Progress, RolloutView
from specdec_operator.staging.layout import Download

Json = Mapping[str, Any]

_FIRST_WAIT: Final = 60.0
_LONGEST_WAIT: Final = 3600.0
WELL: Final = frozenset({"Waiting", "Starting", "Downloading"})
"""Reasons of a download that needs nothing but time."""


class JobState(StrEnum):
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

    stand: JobState
    attempt: int = 0
    made_of: str = ""
    started: float | None = None
    finished: float | None = None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadProgress:
    """Bytes that are there, after so many seconds."""

    bytes: int
    seconds: float


def job_view(body: Json | None, pods: Iterable[Json] = ()) -> JobView:
    """A Job as the API server gives it, None for one that is not there, with the pods of its service."""
    if body is None:
        return JobView(stand=JobState.MISSING, reason="Waiting", message="waiting for its turn")
    meta, status = body["metadata"], body.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ()) if each.get("status") == "True"}
    uid = meta.get("uid")
    owners = ((pod, pod["metadata"].get("ownerReferences", ())) for pod in pods)
    own = [pod_view(pod) for pod, of in owners if any(each.get("uid") == uid for each in of)]
    stand, reason, message = _stand(conditions, own, deleting="deletionTimestamp" in meta)
    notes = meta.get("annotations", {})
    attempt = notes.get(ATTEMPT_ANNOTATION, "")
    return JobView(
        stand=stand,
        attempt=int(attempt) if attempt.isdecimal() else 1,
        made_of=notes.get(MADE_OF_ANNOTATION, ""),
        started=epoch(status.get("startTime")),
        finished=epoch(status.get("completionTime") or conditions.get("Failed", {}).get("lastTransitionTime")),
        reason=reason,
        message=message,
    )


def due(view: JobView, now: float, *, made_of: str) -> bool:
    """Whether it is time to make the Job, or to make it again. made_of: digest of the spec that it would have now.

    A download that is done or well under way is left alone; one in trouble is made again at once when its spec changed.
    """
    if view.stand is JobState.MISSING:
        return True
    changed = view.made_of != made_of
    if view.stand is JobState.FAILED:
        return changed or now >= (view.finished or 0.0) + wait(view.attempt)
    return view.stand is JobState.RUNNING and changed and view.reason not in WELL


def next_attempt(view: JobView, made_of: str) -> int:
    """The number of the Job to make: a changed spec begins at 1 again."""
    return view.attempt + 1 if view.made_of == made_of else 1


def wait(attempt: int) -> float:
    """Seconds from the failure of an attempt to the next: a minute, doubled with each, an hour at most."""
    return min(_FIRST_WAIT * 2.0 ** min(attempt - 1, 10), _LONGEST_WAIT)


def progress(log: str) -> DownloadProgress | None:
    """The newest line of progress at the end of the pod's log; None where there is none."""
    for line in reversed(log.splitlines()):
        said = spoken(line)
        try:
            return DownloadProgress(bytes=int(said["bytes"]), seconds=float(said["seconds"]))
        except (ValueError, KeyError, TypeError):
            continue
    return None


def _stand(conditions: Mapping[str, Json], pods: list[PodView], *, deleting: bool) -> tuple[JobState, str, str]:
    if deleting:
        return JobState.RUNNING, "Starting", "the previous Job is being removed"
    if "Complete" in conditions:
        return JobState.DONE, "Downloaded", "the artifact is in the PVC"
    if "Failed" in conditions:
        words = conditions["Failed"].get("message") or conditions["Failed"].get("reason", "")
        return JobState.FAILED, *(_failure(pods) or ("DownloadFailed", f"the Job failed: {words[:MOST_WORDS]}"))
    return JobState.RUNNING, *_course(pods)


def _failure(pods: list[PodView]) -> tuple[str, str] | None:
    """The program's own message, else what the pod shows."""
    for pod in pods:
        for said in (spoken(each.message) for each in pod.helpers):
            if said.keys() >= {"reason", "message"}:
                return str(said["reason"]), str(said["message"])[:MOST_WORDS]
        if trouble := trouble_of(pod):
            return trouble
    return None


def _course(pods: list[PodView]) -> tuple[str, str]:
    if failed := _failure(pods):  # a moment before the Job itself shows it
        return failed
    for pod in pods:
        if pod.pending:
            return "Unschedulable", f"pod {pod.name} is not scheduled: {pod.pending[:MOST_WORDS]}"
        if any(each.running for each in pod.helpers):
            return "Downloading", f"pod {pod.name} is downloading"
    return "Starting", "the Job's pod is not running yet"


_ATTEMPTS: Final = 3
"""Failures in a row after which a download is taken to fail for good: over three minutes, by the back-off."""
_FINAL: Final = frozenset({"NotFound", "Unauthorized", "UnknownScheme", "Incomplete"})
"""Reasons that no second attempt mends by itself."""
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadStatus:
    """One download and its Job. failed: why the attempt before this one failed; empty where there was none."""

    download: Download
    view: JobView
    failed: str = ""
    progress: DownloadProgress | None = None

    @property
    def done(self) -> bool:
        """Whether the artifact is in the PVC."""
        return self.view.stand is JobState.DONE

    @property
    def hopeless(self) -> bool:
        """Whether it has failed for good. It is tried again all the same, less and less often."""
        over = self.view.attempt - (0 if self.view.stand is JobState.FAILED else 1)
        why = self.view.reason if self.view.stand is JobState.FAILED else self.failed
        return not self.done and (over >= _ATTEMPTS or (over >= 1 and why in _FINAL))

    @property
    def words(self) -> str:
        """One sentence about it."""
        words = f"{self.download.name} {self.download.uri}: {self.view.message}"
        if self.progress is not None and self.view.stand is JobState.RUNNING:
            words += f", {self.progress.bytes / _MIB:.0f} MiB after {self.progress.seconds:.0f} s"
        return words + (f" (attempt {self.view.attempt})" if self.view.attempt > 1 else "")


def staged_at(fetches: Iterable[DownloadStatus]) -> float | None:
    """When the last of them was done, in seconds since 1970; None while one is not."""
    moments = [each.view.finished or 0.0 if each.done else None for each in fetches]
    return None if None in moments else max((each for each in moments if each is not None), default=0.0)


def pending_rollout(fetches: Sequence[DownloadStatus], pods: Sequence[PodView]) -> RolloutView:
    """The rollout while downloads are not done. No deadline: weights take the time that they take."""
    lost = [each for each in fetches if each.hopeless]
    waiting = next(each for each in (*lost, *fetches) if not each.done)
    # A target or an adapter that cannot come shows nothing about speculation.
    target_lost = any(each.download.name != "draft" for each in lost)
    progress = Progress.BLOCKED if target_lost else Progress.FAILED if lost else Progress.PROGRESSING
    denied = waiting.view.stand is JobState.MISSING and waiting.view.reason not in WELL
    reason = waiting.view.reason if lost or denied else "Downloading"
    return RolloutView(progress=progress, reason=reason, message=waiting.words, serving=serving_pods(pods))


def pending_artifacts(fetches: Sequence[DownloadStatus]) -> ArtifactsStatus:
    """The condition ArtifactsStaged while downloads are not done: the first that is in trouble, else the first."""
    waiting = [each for each in fetches if not each.done]
    troubled = [each for each in waiting if each.view.stand is JobState.FAILED or each.view.reason not in WELL]
    first = (troubled or waiting)[0]
    reason = first.view.reason if troubled else "Downloading"
    return ArtifactsStatus(status="False", reason=reason, message="; ".join(each.words for each in waiting))
