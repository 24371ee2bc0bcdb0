"""What a pod holds of target and draft, as the recording of the matrix reads it."""

from typing import Any

import pytest

from lab.staging.matrix_pod import brought, content, nested

Object = dict[str, Any]


def pod(volumes: list[Object], mounts: list[Object], **more: Any) -> Object:
    """A pod with an engine."""
    engine = {"name": "kserve-container", "args": [], "volumeMounts": mounts}
    return {"spec": {"containers": [engine, *more.pop("beside", [])], "volumes": volumes, **more}}


def loaded(*words: str, at: str = "/mnt", volume: str = "v") -> Object:
    """KServe's download container."""
    mount = {"name": volume, "mountPath": at}
    return {"name": "storage-initializer", "args": list(words), "volumeMounts": [mount]}


EMPTY = {"name": "v", "emptyDir": {}}


@pytest.mark.parametrize(
    ("init", "there"),
    [
        (loaded("s3://b/t/", "/mnt/target/model"), "s3://b/t"),
        (loaded("s3://b/t/", "/mnt/target/model", volume="another"), None),
        (loaded("oci://i:1", "/mnt/target/model"), None),
        (loaded("s3://b/t/", "/mnt/other/model"), None),
        (loaded("s3://b/t/", "/mnt/target/model", at="/mnt/target"), None),
    ],
)
def test_a_download_is_there_if_the_engine_has_its_volume_at_its_place(init: Object, there: str | None) -> None:
    """An image that is downloaded as a file is not a model."""
    mounts = [{"name": "v", "mountPath": "/mnt", "readOnly": True}]
    assert content(pod([EMPTY], mounts, initContainers=[init]), "/mnt/target/model") == there


def test_a_pvc_and_a_folder_below_it_are_there() -> None:
    """The result includes the folder of the PVC that is mounted."""
    volumes = [{"name": "c", "persistentVolumeClaim": {"claimName": "models"}}]
    made = pod(volumes, [{"name": "c", "mountPath": "/mnt/target/model", "subPath": "a/b"}])
    assert content(made, "/mnt/target/model/draft") == "pvc://models/a/b/draft"
    assert content(made, "/mnt/target/models") is None


@pytest.mark.parametrize(("shared", "there"), [(True, "oci://i:1"), (False, None)])
def test_a_modelcar_needs_its_processes_seen(shared: bool, there: str | None) -> None:
    """Its link leads through /proc."""
    link = ["sh", "-c", "mkdir -p /mnt/t && ln -sf /proc/$$$$/root/models /mnt/t/model && sleep infinity"]
    car = {"name": "modelcar", "image": "i:1", "args": link, "volumeMounts": [{"name": "v", "mountPath": "/mnt/t"}]}
    made = pod([EMPTY], [{"name": "v", "mountPath": "/mnt/t"}], beside=[car], shareProcessNamespace=shared)
    assert content(made, "/mnt/t/model") == there


def test_a_mount_within_a_read_only_one_is_found() -> None:
    """A container runtime cannot make its folder; in a writable one it can."""
    inner = {"name": "c", "mountPath": "/mnt/draft/model"}
    for fixed in (True, False):
        made = pod(
            [EMPTY, {"name": "c", "emptyDir": {}}], [{"name": "v", "mountPath": "/mnt", "readOnly": fixed}, inner]
        )
        assert nested(made) == (["/mnt/draft/model"] if fixed else [])
        assert brought(made) == {}
