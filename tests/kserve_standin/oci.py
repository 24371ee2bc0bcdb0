"""Brings oci:// artifacts into the pod: as Modelcars (a sidecar that lends its files) or as image volumes.

It never pulls an image and never checks that one holds a model.
"""

from __future__ import annotations

import posixpath
import shlex
from copy import deepcopy
from typing import TYPE_CHECKING

from tests.kserve_standin.model import SERVER_CONTAINER, Config, Manifest, RefusalKind, Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

_OCI = "oci://"
_MOST_SOURCES = 10
_RESOURCES = {"cpu": "10m", "memory": "15Mi"}
_DEFAULT_PATH = "/mnt/models"


def is_oci(uri: str) -> bool:
    """Say whether a URI names an image, in whatever mode: oci://, oci+native://, oci+modelcar://."""
    return uri.startswith((_OCI, "oci+"))


def add_oci_sources(pod: Manifest, uris: Sequence[Manifest], config: Config) -> Manifest:
    """Return a copy of the pod with every image of the list mounted, or raise KServe's refusal."""
    pod = deepcopy(pod)
    _check([item["mountPath"] for item in uris if item["uri"].startswith(_OCI)], config.oci_mode)
    images = [item for item in uris if is_oci(item["uri"])]
    for index, item in enumerate(images):
        scheme, _, image = item["uri"].partition("://")
        mode = scheme.removeprefix("oci").removeprefix("+") or config.oci_mode
        if mode == "native":
            _add_image_volume(pod, image, item["mountPath"])
        else:
            _add_modelcar(pod, image, item["mountPath"], f"-{index}" if index else "")
    return pod


def _check(paths: Sequence[str], mode: str) -> None:
    if len(paths) > _MOST_SOURCES:
        raise _refused(f"too many OCI sources ({len(paths)}); maximum is {_MOST_SOURCES} per pod")
    seen: dict[str, str] = {}
    for path in paths:
        place = path if mode == "native" else posixpath.dirname(path)
        if place in seen:
            raise _refused(_collision(seen[place], path, place, mode))
        seen[place] = path


def _collision(first: str, second: str, place: str, mode: str) -> str:
    if mode == "native":
        return (
            f'OCI mount path "{second}" is specified more than once; '
            "each native ImageVolume must have a unique mount path"
        )
    return (
        f'OCI mount paths "{first}" and "{second}" share parent directory "{place}", which would cause '
        "volume mount shadowing; use mount paths with distinct parent directories"
    )


def _add_image_volume(pod: Manifest, image: str, path: str) -> None:
    name = path.strip("/").replace("/", "-")
    mounts = _server(pod).setdefault("volumeMounts", [])
    mounts.append({"mountPath": path, "name": name, "readOnly": True, "subPath": "models"})
    volume = {"name": name, "image": {"reference": image, "pullPolicy": "IfNotPresent"}}
    pod.setdefault("volumes", []).append(volume)


def _add_modelcar(pod: Manifest, image: str, path: str, suffix: str) -> None:
    volume = f"kserve-provision-location{suffix}"
    mount = {"mountPath": posixpath.dirname(path), "name": volume}
    server = _server(pod)
    env = [item for item in server.get("env", []) if item["name"] != "MODEL_INIT_MODE"]
    server["env"] = [*env, {"name": "MODEL_INIT_MODE", "value": "async"}]
    server.setdefault("volumeMounts", []).append(mount)
    pod.setdefault("volumes", []).append({"name": volume, "emptyDir": {}})
    pod["containers"].append({**_car(f"modelcar{suffix}", image, _lend(path)), "volumeMounts": [dict(mount)]})
    pod.setdefault("initContainers", []).append(_car(f"modelcar-init{suffix}", image, _check_image(image)))
    # The server reads the sidecar's files through /proc, which needs one process namespace for the pod.
    pod["shareProcessNamespace"] = True


def _car(name: str, image: str, script: str) -> Manifest:
    return {
        "name": name,
        "image": image,
        "args": ["sh", "-c", script],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": {"limits": dict(_RESOURCES), "requests": dict(_RESOURCES)},
    }


def _lend(path: str) -> str:
    # Kubernetes unescapes $$ in args, so four of them leave the shell's own $$: its process id.
    link = f"ln -sf /proc/$$$$/root/models {shlex.quote(path)} && sleep infinity"
    if path == _DEFAULT_PATH:
        return link
    return f"mkdir -p {shlex.quote(posixpath.dirname(path))} && {link}"


def _check_image(image: str) -> str:
    return (
        f"echo 'Pre-fetching modelcar {image}: ' && [ -d /models ] && [ \"$$(ls -A /models)\" ] "
        "&& echo 'OK ... Prefetched and valid (/models exists)' "
        "|| (echo 'NOK ... Prefetched but modelcar is invalid (/models does not exist or is empty)' "
        "&& exit 1)"
    )


def _server(pod: Manifest) -> Manifest:
    found: Manifest = next(item for item in pod["containers"] if item["name"] == SERVER_CONTAINER)
    return found


def _refused(message: str) -> Refused:
    prefix = "fails to create NewRawKubeReconciler for predictor: "
    return Refused(kind=RefusalKind.RECONCILE_FAILED, message=prefix + message)
