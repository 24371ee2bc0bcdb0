"""Brings oci:// artifacts into the pod: as Modelcars (a sidecar that lends its files) or as image volumes.

It never pulls an image and never checks that one holds a model.
"""

from __future__ import annotations

import posixpath
import shlex
from copy import deepcopy
from typing import TYPE_CHECKING

from tests.kserve_standin.model import SERVER_CONTAINER, Config, Manifest, reconcile_failed

if TYPE_CHECKING:
    from collections.abc import Sequence

_OCI = "oci://"
_MOST_SOURCES = 10
_DEFAULT_PATH = "/mnt/models"


def is_oci(uri: str) -> bool:
    """Say whether a URI names an image, in whatever mode: oci://, oci+native://, oci+modelcar://."""
    return uri.startswith((_OCI, "oci+"))


def add_oci_sources(pod: Manifest, uris: Sequence[Manifest], config: Config) -> Manifest:
    """Return a copy of the pod with every image of the list mounted, or raise KServe's refusal.

    Where the ConfigMap switches oci:// off, such a source is left out without a word.
    """
    pod = deepcopy(pod)
    modes = [(item, _mode(item["uri"], config)) for item in uris if is_oci(item["uri"])]
    images = [(item, mode) for item, mode in modes if mode]
    if images:
        _check([item["mountPath"] for item, _ in modes if item["uri"].startswith(_OCI)], config.oci_mode)
    for index, (item, mode) in enumerate(images):
        image, path = item["uri"].partition("://")[2], item["mountPath"]
        if mode == "native":
            _add_image_volume(pod, image, path)
        else:
            _add_modelcar(pod, (image, path), f"-{index}" if index else "", config)
    return pod


def _mode(uri: str, config: Config) -> str:
    """Return what a URI itself says, or the ConfigMap's mode; empty where that is switched off."""
    return uri.partition("://")[0].removeprefix("oci").removeprefix("+") or config.oci_mode


def _check(paths: Sequence[str], mode: str) -> None:
    if len(paths) > _MOST_SOURCES:
        raise reconcile_failed(f"too many OCI sources ({len(paths)}); maximum is {_MOST_SOURCES} per pod")
    seen: dict[str, str] = {}
    for path in paths:
        place = path if mode == "native" else posixpath.dirname(path)
        if place in seen:
            raise reconcile_failed(_collision(seen[place], path, place, mode))
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


def _add_modelcar(pod: Manifest, source: tuple[str, str], suffix: str, config: Config) -> None:
    image, path = source
    volume = f"kserve-provision-location{suffix}"
    mount = {"mountPath": posixpath.dirname(path), "name": volume}
    server = _server(pod)
    env = [item for item in server.get("env", []) if item["name"] != "MODEL_INIT_MODE"]
    server["env"] = [*env, {"name": "MODEL_INIT_MODE", "value": "async"}]
    server.setdefault("volumeMounts", []).append(mount)
    pod.setdefault("volumes", []).append({"name": volume, "emptyDir": {}})
    car = _car(f"modelcar{suffix}", image, _lend(path), config) | {"volumeMounts": [dict(mount)]}
    if config.modelcar_user is not None:
        # The kernel lets only the sidecar's own user follow its link. The image's user goes for the check before it.
        car["securityContext"] = {"runAsUser": config.modelcar_user}
        server["securityContext"] = server.get("securityContext", {}) | {"runAsUser": config.modelcar_user}
    pod["containers"].append(car)
    pod.setdefault("initContainers", []).append(_car(f"modelcar-init{suffix}", image, _check_image(image), config))
    # The server reads the sidecar's files through /proc, which needs one process namespace for the pod.
    pod["shareProcessNamespace"] = True


def _car(name: str, image: str, script: str, config: Config) -> Manifest:
    return {
        "name": name,
        "image": image,
        "args": ["sh", "-c", script],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": deepcopy(config.modelcar_resources),
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
