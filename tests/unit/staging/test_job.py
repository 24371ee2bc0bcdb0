"""The PVC and the Job as they are made, what their state means, and when a Job is due again."""

import ast
import copy
import hashlib
import json
from collections import Counter
from typing import Any

import pytest

from specdec_operator.api.spec import Owner
from specdec_operator.downloads.job import claim_manifest, job_manifest, job_name, program
from specdec_operator.downloads.job_status import (
    DownloadProgress,
    JobState,
    JobView,
    due,
    job_view,
    next_attempt,
    progress,
    wait,
)
from specdec_operator.downloads.program.failure import reason_of, words_of
from specdec_operator.staging.layout import Download
from tests import golden

Body = dict[str, Any]

OWNER = Owner(name="llama", namespace="team-a", uid="u-1")
TARGET = Download(name="target", uri="hf://me/llama:v1", key="0123456789abcdef")
IMAGE = "kserve/storage-initializer:v0.20.0"
EVERYTHING: Body = {
    "staging": {
        "env": [
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
            {"name": "HOME", "value": "/home/me"},
            {"name": "STORAGE_ALLOW_PATTERNS", "value": "*"},
        ],
        "resources": {"limits": {"memory": "8Gi", "ephemeral-storage": "1Gi"}},
        "include": ["*.safetensors", "*.json"],
        "exclude": ["original/*"],
    },
    "pod": {
        "nodeSelector": {"gpu": "h200"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "serviceAccountName": "reader",
        "imagePullSecrets": [{"name": "registry"}],
        "priorityClassName": "high",
        "runtimeClassName": "nvidia",
        "sharedMemory": "1Gi",
        "labels": {"team": "a", "serving.specdec.io/name": "mine"},
        "annotations": {"note": "x", "sidecar.istio.io/inject": "true"},
    },
}


def made(download: Download = TARGET, **changes: Any) -> Body:
    known: Body = {"image": IMAGE, "claim": "llama-models", "staging": {}, "pod": {}, "keep": (), "attempt": 1}
    return job_manifest(OWNER, download, **(known | changes))


def container(job: Body) -> Body:
    found: Body
    [found] = job["spec"]["template"]["spec"]["containers"]
    return found


def readable(job: Body) -> Body:
    """A Job without the text of the program and the digest, which changes with it."""
    shown: Body = copy.deepcopy(job)
    container(shown)["command"][2] = "the program"
    shown["metadata"]["annotations"]["specdec.io/made-of"] = "the digest"
    return shown


CASES: dict[str, Body] = {
    "staging/claim": claim_manifest(OWNER, {"storage": "40Gi"}),
    "staging/claim-everything-set": claim_manifest(
        OWNER, {"storage": "1Ti", "storageClassName": "fast", "accessModes": ["ReadWriteMany"]}
    ),
    "staging/job": readable(made()),
    "staging/job-everything-set": readable(made(keep=["fedcba9876543210", TARGET.key], attempt=3, **EVERYTHING)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_made_is_the_golden_one(name: str) -> None:
    """`SPECDEC_GOLDEN=write` rewrites the files; review the difference."""
    assert CASES[name] == golden.expected(name, CASES[name])


def test_a_pvc_of_the_empty_class_names_it() -> None:
    """An empty storageClassName means a volume that a user made by hand, and none at all the default class."""
    assert claim_manifest(OWNER, {"storage": "1Gi", "storageClassName": ""})["spec"]["storageClassName"] == ""
    assert "storageClassName" not in claim_manifest(OWNER, {"storage": "1Gi"})["spec"]


def test_equal_jobs_are_made_equally() -> None:
    """Whatever the order in which the kept keys are given."""
    assert made(keep=["b" * 16, "a" * 16]) == made(keep=("a" * 16, "b" * 16, "a" * 16))


def test_a_mesh_leaves_the_job_alone_and_an_older_versions_job_is_not_made_again() -> None:
    """Beside a proxy no Job is ever complete, whatever the engine's pods ask for; what it brings is the same."""
    job = made()
    about = job["spec"]["template"]["metadata"]
    assert about["labels"].pop("sidecar.istio.io/inject") == "false"
    assert about.pop("annotations") == {"sidecar.istio.io/inject": "false"}
    digest = hashlib.sha256(json.dumps(job["spec"], sort_keys=True).encode()).hexdigest()
    assert digest.startswith(job["metadata"]["annotations"]["specdec.io/made-of"])


def test_kubernetes_expands_nothing_in_what_the_job_is_given() -> None:
    """`$(HOME)` in a command, an argument or a value would become the value of that variable."""
    odd = made(Download(name="target", uri="https://host/$(HOME)/$a", key="k"), staging={"include": ["$(X)*"]})
    assert container(odd)["args"][1] == "https://host/$$(HOME)/$$a"
    assert {"name": "STORAGE_ALLOW_PATTERNS", "value": '["$$(X)*"]'} in container(odd)["env"]
    assert container(made())["command"][2].replace("$$", "$") == program()


def test_a_jobs_name_shows_its_service_and_fits() -> None:
    """It is a label of its pods: at most 63 characters. Two names differ also if they are cut off."""
    assert job_name("llama", TARGET) == "llama-target-0123456789abcdef"
    long = [job_name("a" * 52 + last, TARGET) for last in "ab"]
    assert {len(name) for name in long} == {63}
    assert long[0] != long[1]
    assert all(name.endswith("-target-0123456789abcdef") for name in long)


def test_the_program_is_one_text_in_which_nothing_has_two_meanings() -> None:
    """Its files are put one after another, so that a name of one would hide the same name of another."""
    names: Counter[str] = Counter()
    for node in ast.parse(program()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names[name] += 1
    assert names["main"] == 1
    assert [name for name, times in names.items() if times > 1] == []
    assert "specdec_operator" not in program()


@pytest.mark.parametrize(
    "change",
    [
        {"image": "other"},
        {"claim": "other"},
        {"staging": {"env": [{"name": "A", "value": "b"}]}},
        {"pod": {"nodeSelector": {"a": "b"}}},
    ],
    ids=str,
)
def test_another_spec_changes_the_digest_and_another_attempt_does_not(change: Body) -> None:
    """A Job that failed is made again at once if its own input has changed, but not if other pods start or stop."""
    digest = "specdec.io/made-of"
    assert made(**change)["metadata"]["annotations"][digest] != made()["metadata"]["annotations"][digest]
    again = made(attempt=2, keep=["a" * 16])
    assert again["metadata"]["annotations"][digest] == made()["metadata"]["annotations"][digest]
    assert container(again)["args"][3:] == ["a" * 16]


STARTED, ENDED = "2026-11-21T10:00:00Z", "2026-11-21T10:01:00Z"
NOON = 1_795_262_400.0  # 2026-11-21T12:00:00Z


def job(*conditions: Body, uid: str = "j-1", **meta: Any) -> Body:
    ended = {"completionTime": ENDED} if any(each["type"] == "Complete" for each in conditions) else {}
    notes = {"specdec.io/attempt": "2", "specdec.io/made-of": "m"}
    return {
        "metadata": {"name": "j", "uid": uid, "annotations": notes} | meta,
        "status": {"startTime": STARTED, "conditions": list(conditions), **ended},
    }


def condition(kind: str, status: str = "True", message: str = "") -> Body:
    return {"type": kind, "status": status, "message": message, "lastTransitionTime": ENDED}


def pod(state: Body | None = None, uid: str = "j-1", **status: Any) -> Body:
    containers = [{"name": "fetch", "state": state}] if state else []
    meta = {"name": "j-x", "ownerReferences": [{"kind": "Job", "uid": uid}]}
    return {"metadata": meta, "status": {"containerStatuses": containers} | status}


def ended(message: str, reason: str = "Error", code: int = 1) -> Body:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def waiting(reason: str, message: str = "") -> Body:
    return {"waiting": {"reason": reason, "message": message}}


def unscheduled(message: str) -> Body:
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "message": message}])


FAILED = condition("Failed", message="Job has reached the specified backoff limit")
TOLD = json.dumps({"reason": "Unauthorized", "message": "S3 error [403]: Forbidden"})


@pytest.mark.parametrize(
    ("body", "pods", "stand", "reason", "said"),
    [
        (None, [], JobState.MISSING, "Waiting", "waiting for its turn"),
        (job(), [], JobState.RUNNING, "Starting", "is not running yet"),
        (job(), [pod(waiting("ContainerCreating"))], JobState.RUNNING, "Starting", "is not running yet"),
        (job(), [pod({"running": {}})], JobState.RUNNING, "Downloading", "pod j-x is downloading"),
        (job(), [pod(waiting("ImagePullBackOff", "no such image"))], JobState.RUNNING, "ImagePull", "no such image"),
        (job(), [unscheduled("0/1 nodes: taint")], JobState.RUNNING, "Unschedulable", "0/1 nodes: taint"),
        (
            job(),
            [unscheduled("pod has unbound immediate PersistentVolumeClaims")],
            JobState.RUNNING,
            "ClaimNotBound",
            "unbound",
        ),
        (job(), [pod(ended(TOLD))], JobState.RUNNING, "Unauthorized", "S3 error [403]: Forbidden"),
        (job(condition("Suspended")), [], JobState.RUNNING, "Starting", ""),
        (job(condition("Complete")), [pod(ended("", "Completed", 0))], JobState.DONE, "Downloaded", "in the PVC"),
        (job(condition("Complete", "False")), [], JobState.RUNNING, "Starting", ""),
        (job(FAILED), [pod(ended(TOLD))], JobState.FAILED, "Unauthorized", "S3 error [403]: Forbidden"),
        (job(FAILED), [pod(ended("", "OOMKilled", 137))], JobState.FAILED, "OutOfMemory", "memory limit"),
        (job(FAILED), [pod(ended("Traceback\nKeyError: 1"))], JobState.FAILED, "DownloadFailed", "KeyError: 1"),
        (job(FAILED), [pod(ended('{"reason": 1}'))], JobState.FAILED, "DownloadFailed", "reason"),
        (job(FAILED), [], JobState.FAILED, "DownloadFailed", "backoff limit"),
        (job(FAILED), [pod(ended(TOLD), uid="j-0")], JobState.FAILED, "DownloadFailed", "backoff limit"),
        (job(FAILED, deletionTimestamp=ENDED), [], JobState.RUNNING, "Starting", "being removed"),
    ],
)
def test_a_jobs_state_is_read_with_the_words_of_its_own_pods(
    body: Body | None, pods: list[Body], stand: JobState, reason: str, said: str
) -> None:
    """The program's own message goes before the kubelet's, and both before the Job's, which never has a reason."""
    view = job_view(body, pods)
    assert (view.stand, view.reason) == (stand, reason)
    assert said in view.message


def test_a_jobs_times_and_notes_are_read() -> None:
    """Seconds since 1970; a user's value in an annotation does no harm."""
    view = job_view(job(condition("Complete")))
    assert (view.attempt, view.made_of) == (2, "m")
    assert (view.started, view.finished) == (NOON - 7200, NOON - 7140)
    assert job_view(job(FAILED)).finished == NOON - 7140
    assert job_view(job(annotations={"specdec.io/attempt": "often"})).attempt == 1


def test_every_attempt_is_waited_for_twice_as_long_up_to_an_hour() -> None:
    """A wrong URI costs the source a question an hour."""
    assert [wait(attempt) / 60 for attempt in (1, 2, 3, 4, 5, 6, 7, 8, 10_000)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def view(stand: JobState, reason: str = "", attempt: int = 2) -> JobView:
    return JobView(stand=stand, attempt=attempt, made_of="m", started=NOON - 60, finished=NOON, reason=reason)


@pytest.mark.parametrize(
    ("found", "now", "made_of", "expected"),
    [
        (JobView(stand=JobState.MISSING), NOON, "m", True),
        (view(JobState.FAILED), NOON + 119, "m", False),
        (view(JobState.FAILED), NOON + 120, "m", True),
        (view(JobState.FAILED), NOON, "another", True),
        (view(JobState.RUNNING, "Downloading"), NOON + 1e6, "another", False),
        (view(JobState.RUNNING, "Starting"), NOON + 1e6, "another", False),
        (view(JobState.RUNNING, "ImagePull"), NOON + 1e6, "m", False),
        (view(JobState.RUNNING, "ImagePull"), NOON, "another", True),
        (view(JobState.DONE, "Downloaded"), NOON + 1e6, "another", False),
    ],
)
def test_a_job_is_due_when_it_is_missing_when_its_wait_is_over_and_when_trouble_meets_a_new_spec(
    found: JobView, now: float, made_of: str, *, expected: bool
) -> None:
    """What is well under way or done is never begun again."""
    assert due(found, now, made_of=made_of) is expected


def test_attempts_are_counted_for_one_spec() -> None:
    """Who corrects a mistake does not pay for it by waiting an hour for the next try."""
    assert next_attempt(view(JobState.FAILED), "m") == 3
    assert next_attempt(view(JobState.FAILED), "another") == 1
    assert next_attempt(JobView(stand=JobState.MISSING), "m") == 1


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", None),
        ("WARNING urllib3: retrying\n", None),
        ('{"bytes": 5, "seconds": 2.0}\n{"bytes": 7, "seconds": 4.1}\n', DownloadProgress(bytes=7, seconds=4.1)),
        ('{"bytes": 5, "seconds": 2.0}\nWARNING x\n[1]\n{"bytes": 7, "sec', DownloadProgress(bytes=5, seconds=2.0)),
        ('{"bytes": 5, "seconds": 2.0}\n{"done": {"bytes": 9}}\n', DownloadProgress(bytes=5, seconds=2.0)),
    ],
)
def test_progress_is_the_newest_line_that_has_it(log: str, expected: DownloadProgress | None) -> None:
    """Libraries write into the same log, and its end may be cut."""
    assert progress(log) == expected


class Answer:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


def raised(name: str, *bases: type[Exception], words: str = "", **fields: Any) -> Exception:
    error = type(name, bases or (Exception,), {})(words)
    for field, value in fields.items():
        setattr(error, field, value)
    return error


def caused(by: Exception, words: str = "S3 error") -> Exception:
    """The RuntimeError that kserve_storage makes of a library's exception."""
    error = RuntimeError(words)
    error.__cause__ = by
    return error


REPOSITORY = type("RepositoryNotFoundError", (Exception,), {})


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (caused(raised("NoCredentialsError")), "Unauthorized"),
        (caused(raised("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 403}})), "Unauthorized"),
        (caused(raised("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 404}})), "NotFound"),
        (caused(raised("ClientError", response={})), "DownloadFailed"),
        (caused(raised("HfHubHTTPError", response=Answer(401))), "Unauthorized"),
        (caused(raised("RepositoryNotFoundError", response=Answer(401))), "NotFound"),
        (caused(raised("GatedRepoError", REPOSITORY, response=Answer(403))), "Unauthorized"),
        (caused(raised("Forbidden", code=403)), "Unauthorized"),
        (caused(raised("HttpResponseError", status_code=404)), "NotFound"),
        (raised("EndpointConnectionError", type("ConnectionError", (Exception,), {})), "Unreachable"),
        (ConnectionRefusedError(111, "Connection refused"), "Unreachable"),
        (OSError(113, "No route to host"), "Unreachable"),
        (OSError(28, "No space left on device"), "DiskFull"),
        (OSError(122, "Disk quota exceeded"), "DiskFull"),
        (raised("ProtocolError"), "Incomplete"),
        (
            RuntimeError("Failed to download 1 files: a: An error occurred (403) when calling HeadObject"),
            "Unauthorized",
        ),
        (RuntimeError("Failed to download 1 files: a: [Errno 28] No space left on device"), "DiskFull"),
        (RuntimeError("Failed to fetch model. No model found in llama."), "NotFound"),
        (RuntimeError("HTTP authentication failed for 'https://h/a'. Verify credentials."), "Unauthorized"),
        (RuntimeError("HTTP resource not found at 'https://h/a'."), "NotFound"),
        (RuntimeError("Failed to connect to HTTP endpoint 'h'."), "Unreachable"),
        (Exception("Cannot recognize storage type for ftp://h/a"), "UnknownScheme"),
        (RuntimeError("HTTP request to 'https://h/a' failed with status code 500."), "DownloadFailed"),
        (KeyError("x"), "DownloadFailed"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_why_a_download_failed_is_read_from_types_and_numbers_before_words(error: Exception, reason: str) -> None:
    """Every library has its own; kserve_storage hides them behind sentences, and with S3 passes on words only."""
    assert reason_of(error) == reason


def test_the_words_of_a_failure_are_its_own_and_those_of_its_cause() -> None:
    """In one line: kserve_storage's sentence names the fix, the cause what happened. Not the third, not twice."""
    deep = caused(caused(raised("ClientError", words="An error\noccurred (403)"), "S3 error"), "S3 error")
    assert words_of(deep) == "S3 error (ClientError: An error occurred (403))"
    assert words_of(KeyError("x")) == "KeyError: 'x'"
    assert len(words_of(RuntimeError("x" * 5000))) == 800
