"""Brings the artifacts of predictor.storageUris into the pod: claims, one download container, OCI images.

Each rule here is one that KServe 0.20 follows, its surprises included: the folder in pvc://claim/folder is
ignored, and claims and downloads are read-only in the server but Modelcars are not.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from tests.kserve_standin.model import READ_ONLY_STORAGE, SERVER_CONTAINER, Config, Manifest
from tests.kserve_standin.oci import add_oci_sources, is_oci

if TYPE_CHECKING:
    from collections.abc import Sequence

_INITIALIZER = "storage-initializer"
_PVC = "pvc://"
_HUB_SETTINGS = {
    "HF_HUB_ENABLE_HF_TRANSFER": "1",
    "HF_XET_HIGH_PERFORMANCE": "1",
    "HF_XET_NUM_CONCURRENT_RANGE_GETS": "8",
}


def with_storage(pod: Manifest, uris: Sequence[Manifest], annotations: dict[str, str], config: Config) -> Manifest:
    """Return the pod with every source of storageUris mounted, or raise what KServe refuses to mount."""
    pod = add_oci_sources(pod, uris, config)
    server = next(item for item in pod["containers"] if item["name"] == SERVER_CONTAINER)
    read_only = annotations.get(READ_ONLY_STORAGE) != "false"
    downloads = [item for item in uris if not is_oci(item["uri"]) and not item["uri"].startswith(_PVC)]
    for item in uris:
        if item["uri"].startswith(_PVC):
            claim = item["uri"].removeprefix(_PVC).split("/")[0]
            source = {"persistentVolumeClaim": {"claimName": claim}}
            _mount(pod, server, item["mountPath"], source, read_only=read_only)
    if downloads:
        _download(pod, server, downloads, read_only=read_only, config=config)
    return pod


def common_parent(paths: Sequence[str]) -> str:
    """Return the folder that holds all paths; one path is its own parent."""
    if len(paths) == 1:
        return paths[0]
    return posixpath.commonpath([posixpath.normpath(path) for path in paths])


def volume_name(path: str) -> str:
    """Return KServe's name of the volume at a path; nothing makes sure that it is a valid one."""
    return path.strip("/").replace("/", "-")


def _download(pod: Manifest, server: Manifest, uris: Sequence[Manifest], *, read_only: bool, config: Config) -> None:
    parent = common_parent([item["mountPath"] for item in uris])
    _mount(pod, server, parent, {"emptyDir": {}}, read_only=read_only)
    initializer = {
        "name": _INITIALIZER,
        "image": config.storage_initializer_image,
        "args": [word for item in uris for word in (item["uri"], item["mountPath"])],
        "env": [{"name": name, "value": value} for name, value in _HUB_SETTINGS.items()],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "100m", "memory": "100Mi"},
        },
        # The initializer writes what the server then only reads.
        "volumeMounts": [{"mountPath": parent, "name": volume_name(parent)}],
    }
    pod.setdefault("initContainers", []).append(initializer)


def _mount(pod: Manifest, server: Manifest, path: str, source: Manifest, *, read_only: bool) -> None:
    name = volume_name(path)
    mounts = server.setdefault("volumeMounts", [])
    if any(mount["name"] == name for mount in mounts):
        return  # KServe drops a second source at the same path without a word.
    mounts.append({"mountPath": path, "name": name, **({"readOnly": True} if read_only else {})})
    volumes = pod.setdefault("volumes", [])
    if all(volume["name"] != name for volume in volumes):
        volumes.append({"name": name, **source})
