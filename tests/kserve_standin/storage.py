"""Brings the artifacts of predictor.storageUris into the pod: claims, one download container, OCI images.

Each rule here is one that KServe 0.20 follows, its surprises included: the folder in pvc://claim/folder is
ignored, and claims and downloads are read-only in the server but Modelcars are not.
"""

from __future__ import annotations

import posixpath
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.kserve_standin.containers import check_several, choose_container, with_container
from tests.kserve_standin.credentials import credentials
from tests.kserve_standin.model import READ_ONLY_STORAGE, SERVER_CONTAINER, Around, Config, Manifest
from tests.kserve_standin.oci import add_oci_sources, is_oci

if TYPE_CHECKING:
    from collections.abc import Sequence

_INITIALIZER = "storage-initializer"
_PVC = "pvc://"
_DEFAULT_PATH = "/mnt/models"
_HUB_SETTINGS = {
    "HF_HUB_ENABLE_HF_TRANSFER": "1",
    "HF_XET_HIGH_PERFORMANCE": "1",
    "HF_XET_NUM_CONCURRENT_RANGE_GETS": "8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What decides besides the InferenceService: KServe's configuration and what else the cluster has."""

    config: Config
    around: Around = field(default_factory=Around)


def with_storage(pod: Manifest, isvc: Manifest, annotations: dict[str, str], settings: Settings) -> Manifest:
    """Return the pod with every source of storageUris mounted, or raise what KServe refuses to mount."""
    predictor = isvc["spec"]["predictor"]
    # The CRD fills in the path, but a file that nobody has applied yet may lack it.
    uris = [{"mountPath": _DEFAULT_PATH, **item} for item in predictor["storageUris"]]
    around = settings.around
    container = choose_container(uris[0]["uri"], predictor.get("storageContainerName"), around.containers)
    pod = add_oci_sources(pod, uris, settings.config)
    check_several(container)
    read_only = annotations.get(READ_ONLY_STORAGE) != "false"
    downloads = [item for item in uris if not is_oci(item["uri"]) and not item["uri"].startswith(_PVC)]
    server = next(item for item in pod["containers"] if item["name"] == SERVER_CONTAINER)
    for item in uris:
        if item["uri"].startswith(_PVC):
            claim = item["uri"].removeprefix(_PVC).split("/")[0]
            source = {"persistentVolumeClaim": {"claimName": claim}}
            _mount(pod, server, item["mountPath"], source, read_only=read_only)
    if downloads:
        parent = common_parent([item["mountPath"] for item in downloads])
        _mount(pod, server, parent, {"emptyDir": {}}, read_only=read_only)
        env = credentials(around, annotations, settings.config)
        initializer = with_container(_initializer(downloads, parent, env, settings.config), container)
        pod.setdefault("initContainers", []).append(_with_hub_settings(initializer))
    return pod


def common_parent(paths: Sequence[str]) -> str:
    """Return the folder that holds all paths; one path is its own parent."""
    if len(paths) == 1:
        return paths[0]
    return posixpath.commonpath([posixpath.normpath(path) for path in paths])


def volume_name(path: str) -> str:
    """Return KServe's name of the volume at a path; nothing makes sure that it is a valid one."""
    return path.strip("/").replace("/", "-")


def _initializer(uris: Sequence[Manifest], parent: str, env: list[Manifest], config: Config) -> Manifest:
    return {
        "name": _INITIALIZER,
        "image": config.storage_initializer_image,
        "args": [word for item in uris for word in (item["uri"], item["mountPath"])],
        "env": env,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": deepcopy(config.storage_initializer_resources),
        # The initializer writes what the server then only reads.
        "volumeMounts": [{"mountPath": parent, "name": volume_name(parent)}],
    }


def _with_hub_settings(initializer: Manifest) -> Manifest:
    """Add KServe's settings for Hugging Face, where a storage container has not said otherwise."""
    known = {item["name"] for item in initializer["env"]}
    added = [{"name": name, "value": value} for name, value in _HUB_SETTINGS.items() if name not in known]
    return {**initializer, "env": [*initializer["env"], *added]}


def _mount(pod: Manifest, server: Manifest, path: str, source: Manifest, *, read_only: bool) -> None:
    name = volume_name(path)
    mounts = server.setdefault("volumeMounts", [])
    if any(mount["name"] == name for mount in mounts):
        return  # KServe drops a second source at the same path without a word.
    mounts.append({"mountPath": path, "name": name, **({"readOnly": True} if read_only else {})})
    volumes = pod.setdefault("volumes", [])
    if all(volume["name"] != name for volume in volumes):
        volumes.append({"name": name, **source})
