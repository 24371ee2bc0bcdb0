"""Decides which runtime serves an InferenceService, and which image tag KServe makes of it.

It never looks anything up: the caller hands it the runtimes that exist.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.kserve_standin.model import (
    SERVER_CONTAINER,
    SERVER_TYPE,
    Manifest,
    RefusalKind,
    Refused,
    Runtime,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_TAG = re.compile(r":[\w.\-_]*$")
_SERVER_TYPE_BY_RUNTIME = {"kserve-huggingfaceserver": "huggingfaceserver", "kserve-vllmserver": "vllmserver"}
# KServe looks at the limits, for NVIDIA's resources only: any other accelerator counts as no GPU at all.
_GPU = re.compile(r"nvidia\.com/(gpu$|mig-)")


def runtime_of(manifest: Manifest) -> Runtime:
    """Read a ServingRuntime or ClusterServingRuntime."""
    meta = manifest["metadata"]
    return Runtime(
        name=meta["name"],
        cluster_scoped=manifest["kind"] == "ClusterServingRuntime",
        annotations=dict(meta.get("annotations") or {}),
        spec=manifest["spec"],
    )


def resolve(model: Manifest, runtimes: Iterable[Runtime]) -> Runtime:
    """Return the runtime that model.runtime names; a ServingRuntime wins over a ClusterServingRuntime."""
    named = [runtime for runtime in runtimes if runtime.name == model["runtime"]]
    if not named:
        raise _refused("RuntimeNotRecognized", "Waiting for runtime to become available")
    runtime = min(named, key=lambda candidate: candidate.cluster_scoped)
    if runtime.spec.get("disabled"):
        raise _refused("RuntimeDisabled", "Specified runtime is disabled")
    if not _supports_protocol(model, runtime.spec):
        message = "Specified runtime does not support specified protocol version"
        raise _refused("NoSupportingRuntime", message)
    if not _supports_format(model["modelFormat"], runtime.spec):
        message = "Specified runtime does not support specified framework/version"
        raise _refused("NoSupportingRuntime", message)
    return runtime


def server_container(runtime: Runtime) -> Manifest:
    """Return the container of the runtime into which KServe merges the InferenceService's."""
    for container in runtime.spec.get("containers") or []:
        if container["name"] == SERVER_CONTAINER:
            return dict(container)
    empty = not runtime.spec.get("containers")
    message = (
        "no container configuration found in selected serving runtime"
        if empty
        else f"failed to find {SERVER_CONTAINER} in ServingRuntime containers"
    )
    raise _refused("InvalidPredictorSpec", message)


def retagged(container: Manifest, model: Manifest, runtime: Runtime) -> Manifest:
    """Return the container with the image that KServe derives from runtimeVersion, or from a missing GPU."""
    image: str = container.get("image", "")
    if "@sha256:" in image:
        return container
    version = model.get("runtimeVersion")
    if version is not None:
        return {**container, "image": f"{_TAG.sub('', image)}:{version}"}
    return {**container, "image": _image_for_hardware(image, container, runtime)}


def _image_for_hardware(image: str, container: Manifest, runtime: Runtime) -> str:
    server = runtime.annotations.get(SERVER_TYPE) or _SERVER_TYPE_BY_RUNTIME.get(runtime.name, "")
    tag = _TAG.search(image)
    if not server or tag is None:
        return image
    repository = image[: tag.start()]
    if _has_gpu(container):
        wants_suffix = server == "huggingfaceserver" and not image.endswith("-gpu")
        return f"{image}-gpu" if wants_suffix else image
    # vLLM publishes its CPU build beside the GPU one, so a pod without a GPU silently gets another image.
    wants_cpu = server == "vllmserver" and not repository.endswith("-cpu")
    return f"{repository}-cpu{tag.group()}" if wants_cpu else image


def _has_gpu(container: Manifest) -> bool:
    limits = (container.get("resources") or {}).get("limits") or {}
    return any(_GPU.match(resource) for resource in limits)


def _supports_protocol(model: Manifest, spec: Manifest) -> bool:
    offered = spec.get("protocolVersions") or []
    wanted = model.get("protocolVersion")
    return wanted is None or not offered or wanted in offered


def _supports_format(wanted: Manifest, spec: Manifest) -> bool:
    offered = [item for item in spec.get("supportedModelFormats") or [] if item["name"] == wanted["name"]]
    version = wanted.get("version")
    return bool(offered) if version is None else any(item.get("version") == version for item in offered)


def _refused(reason: str, message: str) -> Refused:
    return Refused(kind=RefusalKind.INVALID_SPEC, reason=reason, message=message)
