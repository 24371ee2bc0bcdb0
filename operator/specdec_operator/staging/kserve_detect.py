"""Which KServe a cluster has, read from what it installed: controller image, CRD, ConfigMap, storage containers.

Sources of the marks in the CRD: facts of KServe's own CRDs by release; of the ConfigMap's keys: KServe's
storageInitializer configuration, where `ociModelMode` (0.20) goes before `enableModelcar`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_engine.version import major_minor
from specdec_operator.staging.kserve import KServe, Version, shown
from specdec_operator.staging.schemes import REMOTE

Json = Mapping[str, Any]

_NEWEST: Final[Version] = (99, 0)
_MARKS: Final[tuple[tuple[tuple[str, ...], Version, Version], ...]] = (
    (("tracing",), (0, 21), _NEWEST),
    (("predictor", "storageContainerName"), (0, 20), (0, 20)),
    (("predictor", "storageUris"), (0, 16), (0, 19)),
    (("predictor",), (0, 0), (0, 15)),
)
"""Field of an InferenceService's spec, and the releases whose CRD has it and none of those above."""
_DOWNLOADED: Final = tuple(f"{name}://" for name in REMOTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KServeEvidence:
    """What the API server gave. None: it is not there, or may not be read.

    crd: of InferenceServices. controller: KServe's Deployment. config: its ConfigMap inferenceservice-config.
    containers: ClusterStorageContainers. kubernetes: /version.
    `told`, initializer: the version and the image that downloads, from the operator's settings; else empty.
    """

    crd: Json | None = None
    controller: Json | None = None
    config: Json | None = None
    containers: Json | None = None
    kubernetes: Json | None = None
    told: str = ""
    initializer: str = ""


def kserve_of(evidence: KServeEvidence) -> KServe:
    """What is known of the KServe. The CRD bounds the version: Helm upgrades a controller and leaves CRDs behind."""
    version, seen = _version(evidence)
    storage = _storage(evidence.config)
    containers = [each.get("spec", {}) for each in (evidence.containers or {}).get("items", ())]
    downloading = [each for each in containers if _downloads(each)]
    multi = all(each.get("supportsMultiModelDownload") is True for each in downloading)
    image = next((each["container"].get("image") for each in downloading if each.get("container")), None)
    return KServe(
        version=version,
        seen=seen,
        kubernetes=_kubernetes(evidence.kubernetes),
        multi_download=multi if evidence.containers is not None else None,
        oci_mode=_oci_mode(storage),
        initializer=evidence.initializer or image or (storage or {}).get("image"),
    )


def _version(sighted: KServeEvidence) -> tuple[Version | None, str]:
    if (configured := major_minor(sighted.told)) is not None:
        return configured, f"the operator's settings set it to {sighted.told}"
    image, tag = _image(sighted.controller)
    running, span = major_minor(tag), _span(sighted.crd)
    if running is None:
        return (span[1] if span and span[1] != _NEWEST else span[0]) if span else None, _by_crd(span)
    if span is not None and span[1] < running:
        older = f"but its CRD is of {shown(span[1])} or older: apply the newer CRD"
        return span[1], f"the controller is {image}, {older}"
    return running, f"the controller is {image}"


def _by_crd(span: tuple[Version, Version] | None) -> str:
    if span is None:
        return "the version is unknown: the controller's image and the CRD do not have it"
    first, last = span
    if last == _NEWEST:
        return f"the CRD is of {shown(first)} or newer"
    return f"the CRD is of {shown(last)}" + (" or older" if first < last else "")


def _image(controller: Json | None) -> tuple[str, str]:
    pod = (controller or {}).get("spec", {}).get("template", {}).get("spec", {})
    images = [each.get("image", "") for each in pod.get("containers", ()) if each.get("name") == "manager"]
    image = images[0] if images else ""
    name, _, tag = image.partition("@")[0].rpartition(":")
    return image, tag if name else ""


def _span(crd: Json | None) -> tuple[Version, Version] | None:
    """The first and the last release whose CRD this may be; None for one without structure."""
    for version in (crd or {}).get("spec", {}).get("versions", ()):
        schema = version.get("schema", {}).get("openAPIV3Schema", {}).get("properties", {}).get("spec", {})
        for path, first, last in _MARKS:
            if _has(schema, path):
                return first, last
    return None


def _has(schema: Json, path: tuple[str, ...]) -> bool:
    for name in path:
        schema = schema.get("properties", {}).get(name, {})
    return any(schema.get(each) for each in ("properties", "type", "items"))


def _storage(config: Json | None) -> Json | None:
    """The storageInitializer part; empty where the ConfigMap has none, None where it cannot be read."""
    text = (config or {}).get("data", {}).get("storageInitializer")
    if config is None or text is None:
        return None if config is None else {}
    try:
        read = json.loads(text)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _oci_mode(storage: Json | None) -> str | None:
    if storage is None:
        return None
    if storage.get("ociModelMode"):
        return str(storage["ociModelMode"])
    return "modelcar" if storage.get("enableModelcar") or storage.get("enableOciModelSupport") else ""


def _downloads(container: Json) -> bool:
    """Whether a storage container is an init container for a scheme that is downloaded."""
    if container.get("workloadType", "initContainer") != "initContainer":
        return False
    formats = container.get("supportedUriFormats", ())
    return any(
        str(each.get("prefix", "")).startswith(_DOWNLOADED) or "https" in str(each.get("regex", "")) for each in formats
    )


def _kubernetes(version: Json | None) -> Version | None:
    return major_minor(f"{version.get('major', '')}.{version.get('minor', '')}") if version is not None else None
