"""ArtifactsStaged: what pods, the Deployment and Events show about artifacts, and no more than that."""

from typing import Any

import pytest

from specdec_operator.observe.artifacts import artifacts_status, is_idle
from specdec_operator.observe.pods import ContainerView, DeploymentView, PodView, deployment_view, pod_view
from specdec_operator.observe.rollout import Progress, view_rollout
from specdec_operator.staging.failure_reasons import meaning
from specdec_operator.staging.layout import Layout

Body = dict[str, Any]
TARGET, DRAFT = "/mnt/target/model", "/mnt/draft/model"
LAYOUT = Layout(target=TARGET, draft=DRAFT, mounts=({"mountPath": TARGET},), storage_uris=({"mountPath": DRAFT},))
BUSY = ContainerView(name="kserve-container", waiting="PodInitializing")


def deployment(*mounted: str) -> DeploymentView:
    """A Deployment whose engine has volumes at these folders."""
    engine = {"name": "kserve-container", "volumeMounts": [{"mountPath": each} for each in mounted]}
    other = {"name": "queue", "volumeMounts": [{"mountPath": DRAFT}]}
    return deployment_view({"spec": {"template": {"spec": {"containers": [other, engine]}}}})


def pod(*helpers: ContainerView, **more: Any) -> PodView:
    """A pod that is not ready."""
    return PodView(
        **{"name": "p", "revision": "r1", "ip": None, "ready": False, "deleting": False, "helpers": helpers} | more
    )


def failed(message: str, **more: Any) -> ContainerView:
    """The download container after it ended."""
    return ContainerView(
        **{"name": "storage-initializer", "exit_code": 1, "ended": "Error", "ends": 1, "message": message} | more
    )


S3_FORBIDDEN = (
    "Traceback\nbotocore.exceptions.ClientError: An error occurred (403) when calling ListObjects: Forbidden\n"
)
S3_MISSING = "RuntimeError: Failed to fetch model. No model found in s3://models/nope.\n"


@pytest.mark.parametrize(
    ("seen", "reason", "words"),
    [
        (pod(pending='0/1 nodes: persistentvolumeclaim "nope" not found.'), "ClaimNotFound", "PVC nope"),
        (pod(pending="0/1 nodes: pod has unbound immediate PersistentVolumeClaims."), "ClaimNotBound", "no volume"),
        (pod(failed(S3_FORBIDDEN)), "Unauthorized", "(403)"),
        (pod(failed(S3_MISSING)), "NotFound", "s3://models/nope"),
        (pod(failed("OSError: [Errno 28] No space left on device")), "DiskFull", "Errno 28"),
        (pod(failed("", ended="OOMKilled", exit_code=137)), "OutOfMemory", "memory limit"),
        (pod(failed("")), "DownloadFailed", "without a log line"),
        (pod(ContainerView(name="modelcar-init", waiting="ErrImagePull", waiting_words="no x:1")), "ImagePull", "x:1"),
        (pod(evicted="Usage of EmptyDir volume exceeds the limit; ephemeral-storage"), "DiskFull", "evicted"),
        (
            pod(
                engine=ContainerView(
                    name="kserve-container",
                    waiting="CreateContainerConfigError",
                    waiting_words="failed to create subPath directory for volumeMount models",
                )
            ),
            "FolderNotFound",
            "subPath",
        ),
        (
            pod(
                engine=ContainerView(
                    name="kserve-container",
                    waiting="CreateContainerError",
                    waiting_words="failed to mount image volume: ImageVolumeMountFailed: ensure image subpath exists",
                )
            ),
            "FolderNotFound",
            "image volume",
        ),
    ],
)
def test_the_message_names_what_keeps_artifacts_away(seen: PodView, reason: str, words: str) -> None:
    """The message of an init container, the scheduler or the kubelet."""
    said = artifacts_status(LAYOUT, None, [seen])
    assert (said.status, said.reason) == ("False", reason)
    assert words in said.message


@pytest.mark.parametrize(
    ("seen", "status", "reason"),
    [
        (pod(engine=BUSY), "Unknown", "NotStarted"),
        (pod(pending="0/1 nodes are available: 1 Insufficient nvidia.com/gpu."), "Unknown", "NotStarted"),
        (pod(ContainerView(name="storage-initializer", running=True), engine=BUSY), "False", "Staging"),
        (pod(failed(S3_MISSING, running=True, ends=1), engine=BUSY), "False", "Staging"),
        (pod(ContainerView(name="storage-initializer", exit_code=0), engine=BUSY), "Unknown", "NotStarted"),
        (pod(engine=ContainerView(name="kserve-container", running=True)), "True", "Staged"),
        (pod(engine=ContainerView(name="kserve-container", ends=1, exit_code=1)), "True", "Staged"),
    ],
)
def test_nothing_is_reported_that_no_container_shows(seen: PodView, status: str, reason: str) -> None:
    """An engine that started had its mounts. A missing GPU shows nothing about artifacts."""
    said = artifacts_status(LAYOUT, None, [seen])
    assert (said.status, said.reason) == (status, reason)


def test_the_image_of_a_volume_differs_from_the_engines_own() -> None:
    """The engine's container waits for either image; only one of them is an artifact."""
    volume = {"name": "specdec-target", "image": {"reference": "registry/llama:1"}}
    layout = Layout(target=TARGET, draft=None, volumes=(volume,), mounts=({"mountPath": TARGET},))

    def waits_for(image: str) -> tuple[str, str]:
        words = f'Back-off pulling image "{image}"'
        engine = ContainerView(name="kserve-container", waiting="ImagePullBackOff", waiting_words=words)
        said = artifacts_status(layout, None, [pod(engine=engine)])
        return said.status, said.reason

    assert waits_for("registry/llama:1") == ("False", "ImagePull")
    assert waits_for("specdec-runtime:cpu") == ("Unknown", "NotStarted")


@pytest.mark.parametrize(
    ("numbers", "status"),
    [
        ({"updatedReplicas": 1, "availableReplicas": 1, "replicas": 1}, "True"),
        ({"updatedReplicas": 1, "availableReplicas": 1, "replicas": 2}, "Unknown"),
        ({"updatedReplicas": 1, "replicas": 1}, "Unknown"),
    ],
)
def test_a_deployment_that_serves_has_its_artifacts_whichever_event_came_first(numbers: Body, status: str) -> None:
    """Its event may come before those of its pods. While old pods serve, it proves nothing."""
    mounts = [{"mountPath": TARGET}, {"mountPath": DRAFT}]
    engine = {"name": "kserve-container", "volumeMounts": mounts}
    body = {"spec": {"template": {"spec": {"containers": [engine]}}}, "status": numbers}
    assert artifacts_status(LAYOUT, deployment_view(body), []).status == status


def test_events_speak_where_nothing_else_does() -> None:
    """The newest failed mount; other warnings are about something else."""
    events = [
        {"reason": "FailedMount", "message": "new", "lastTimestamp": "2026-11-21T10:00:05Z"},
        {"reason": "FailedMount", "message": "old", "lastTimestamp": "2026-11-21T10:00:00Z"},
        {"reason": "BackOff", "message": "other", "lastTimestamp": "2026-11-21T10:00:09Z"},
    ]
    said = artifacts_status(LAYOUT, None, [pod(engine=BUSY)], events)
    assert (said.status, said.reason, said.message) == ("False", "MountFailed", "new")
    assert artifacts_status(LAYOUT, None, [pod(engine=BUSY)], events[2:]).status == "Unknown"


@pytest.mark.parametrize(
    ("mounted", "missing"),
    [
        ((TARGET, DRAFT), None),
        (("/mnt",), None),
        (("/mnt/target", "/mnt/draft", "/dev/shm"), None),  # noqa: S108
        ((TARGET,), DRAFT),
        ((), f"{DRAFT}, {TARGET}"),
        ((TARGET, "/mnt/draft/mod"), DRAFT),
    ],
)
def test_a_mount_that_was_left_out_is_seen_in_the_deployment(mounted: tuple[str, ...], missing: str | None) -> None:
    """KServe 0.19 skips downloads beside an image, an API server without the gate drops image volumes: silently."""
    running = pod(engine=ContainerView(name="kserve-container", running=True))
    said = artifacts_status(LAYOUT, deployment(*mounted), [running])
    if missing is None:
        assert said.reason == "Staged"
    else:
        assert (said.status, said.reason) == ("False", "Dropped")
        assert f"no mount for {missing}:" in said.message


def test_a_download_that_ends_thrice_ends_the_rollout() -> None:
    """As the engine's own crashes do; before that it may be a network that comes back."""
    args: Body = {"deployment": deployment(TARGET, DRAFT), "since": 0.0, "now": 1.0, "deadline": 60.0}
    twice = view_rollout("r1", pods=(pod(failed(S3_MISSING, ends=2)),), **args)
    thrice = view_rollout("r1", pods=(pod(failed(S3_MISSING, ends=3)),), **args)
    assert (twice.progress, twice.reason) == (Progress.PROGRESSING, "NotFound")
    assert (thrice.progress, thrice.reason) == (Progress.FAILED, "NotFound")
    assert "s3://models/nope" in thrice.message


@pytest.mark.parametrize(
    ("seen", "idle"),
    [
        (pod(engine=BUSY), True),
        (pod(ContainerView(name="modelcar-init", waiting="PodInitializing"), engine=BUSY), True),
        (pod(ContainerView(name="storage-initializer", running=True), engine=BUSY), False),
        (pod(failed(S3_MISSING), engine=BUSY), False),
        (pod(pending="unbound"), False),
        (pod(engine=ContainerView(name="kserve-container", running=True)), False),
    ],
)
def test_events_are_asked_for_only_where_containers_are_silent(seen: PodView, idle: bool) -> None:
    """They cost a request each turn."""
    assert is_idle(seen) is idle


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. Repository Not Found for url", "NotFound"),
        ("huggingface_hub.errors.GatedRepoError: 403 Client Error. Access to model is restricted", "Unauthorized"),
        ("An error occurred (InvalidAccessKeyId) when calling the ListObjects operation", "Unauthorized"),
        ("An error occurred (NoSuchBucket) when calling the ListObjects operation", "NotFound"),
        ("botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL", "Unreachable"),
        ("Exception: Cannot recognize storage type for ftp://x", "UnknownScheme"),
        ("something else", "DownloadFailed"),
        ("downloaded 140300 bytes", "DownloadFailed"),
    ],
)
def test_a_message_is_given_a_reason(said: str, reason: str) -> None:
    """By the messages that the libraries write. Numbers inside words are not codes."""
    assert meaning(said) == reason


def test_init_containers_come_before_sidecars() -> None:
    """In the pod's own order, the engine left out."""
    status = {
        "initContainerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 0}}}, {"name": "b", "state": {}}],
        "containerStatuses": [{"name": "modelcar", "state": {}}, {"name": "kserve-container", "state": {}}],
    }
    assert [each.name for each in pod_view({"metadata": {"name": "p"}, "status": status}).helpers] == [
        "a",
        "b",
        "modelcar",
    ]
