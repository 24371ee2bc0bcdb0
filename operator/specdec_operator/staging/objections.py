"""What a cluster's KServe and Kubernetes cannot do with a layout, and what its user should know. Unknown: no word."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from specdec_operator.engine.rule import Finding, Rule, Severity
from specdec_operator.staging.artifacts import Artifact, Way
from specdec_operator.staging.kserve import (
    IMAGE_VOLUMES_ON_SINCE,
    IMAGE_VOLUMES_SINCE,
    NEWEST,
    WAYS_OUT,
    KServe,
    Need,
    Version,
    gap,
    shown,
)
from specdec_operator.staging.remarks import RULES as REMARKS
from specdec_operator.staging.remarks import remarks

Json = Mapping[str, Any]
_INJECTOR: Final = "KServe, pkg/webhook/admission/pod/storage_initializer_injector.go"

LACKS: Final = Rule(
    id="KSERVE-LACKS",
    severity=Severity.REFUSED,
    says="Nothing is rendered that the cluster's version of KServe leaves out, most of it without a word.",
    source=_INJECTOR,
)
ONE_DOWNLOAD: Final = Rule(
    id="KSERVE-MULTI-DOWNLOAD",
    severity=Severity.REFUSED,
    says="storageUris need a ClusterStorageContainer with supportsMultiModelDownload; KServe 0.17 ships one without.",
    source=_INJECTOR,
)
MAYBE_ONE: Final = Rule(
    id="KSERVE-MULTI-DOWNLOAD-UNKNOWN",
    severity=Severity.WARNED,
    says="KServe 0.17 ships a ClusterStorageContainer that refuses storageUris, and this one could not be read.",
    source=_INJECTOR,
)
OCI_OFF: Final = Rule(
    id="KSERVE-OCI-OFF",
    severity=Severity.REFUSED,
    says="oci:// needs KServe's ConfigMap to switch it on.",
    source="KServe, pkg/types/config.go",
)
NEWER: Final = Rule(
    id="KSERVE-NEWER",
    severity=Severity.WARNED,
    says="A KServe newer than this release knows may bring artifacts otherwise.",
    source="KServe's releases may break with a minor version",
)
NO_IMAGES: Final = Rule(
    id="KUBERNETES-IMAGE-VOLUME",
    severity=Severity.REFUSED,
    says="A folder of an image is mounted by Kubernetes 1.33 and newer.",
    source="Kubernetes, KEP-4639",
)
MAYBE_IMAGES: Final = Rule(
    id="KUBERNETES-IMAGE-GATE",
    severity=Severity.WARNED,
    says="Kubernetes 1.33 and 1.34 mount images only with the feature gate ImageVolume.",
    source="Kubernetes, KEP-4639",
)

RULES: Final = (LACKS, ONE_DOWNLOAD, MAYBE_ONE, OCI_OFF, NEWER, NO_IMAGES, MAYBE_IMAGES, *REMARKS)


def objections(spec: Json, served: tuple[Artifact, ...], kserve: KServe) -> tuple[Finding, ...]:
    """Everything to be said about these artifacts, the refusals first."""
    distinct = tuple(each for each in served if not each.inside)
    found = [*_lacking(distinct, kserve), *_patterns(spec, distinct, kserve)]
    found += [*_configured(distinct, kserve), *_images(distinct, kserve), *_newer(kserve), *remarks(spec, distinct)]
    return tuple(sorted(found, key=lambda each: each.rule.severity is not Severity.REFUSED))


def _lacking(found: tuple[Artifact, ...], kserve: KServe) -> Iterator[Finding]:
    """The first thing that this version lacks for each artifact."""
    for each in found:
        for need in _needs(each, found, kserve):
            lack = _lack(need, f"{each.source.field}.uri", each.source.uri, kserve, found)
            if lack is not None:
                yield lack
                break


def _patterns(spec: Json, found: tuple[Artifact, ...], kserve: KServe) -> Iterator[Finding]:
    staging: Json = spec.get("staging") or {}
    for name in ("include", "exclude"):
        if staging.get(name) and any(each.way is Way.JOB for each in found):
            lack = _lack(Need.PATTERNS, f"spec.staging.{name}", staging[name], kserve, found)
            yield from [lack] if lack is not None else ()


def _lack(need: Need, field: str, value: object, kserve: KServe, found: tuple[Artifact, ...]) -> Finding | None:
    lack = gap(need, kserve.version)
    if kserve.version is None or lack is None:
        return None
    message = f"KServe {shown(kserve.version)} {lack.says}; {lack.has}, {_way_out(need, found)}"
    return LACKS.broken(field, value, message)


def _way_out(need: Need, found: tuple[Artifact, ...]) -> str:
    """What to change about the spec; a Job downloads nothing beside an image."""
    images = any(each.way in (Way.MODELCAR, Way.IMAGE_VOLUME) for each in found)
    return WAYS_OUT[Need.MODELCAR if need is Need.DOWNLOAD and images else need]


def _needs(artifact: Artifact, found: tuple[Artifact, ...], kserve: KServe) -> Iterator[Need]:
    """What one artifact asks of KServe; what two ask together is said once, of the draft."""
    ways = [each.way for each in found]
    if artifact.way in (Way.DOWNLOAD, Way.JOB) and artifact.source.uri.endswith(".git"):
        yield Need.GIT
    if artifact.way is Way.DOWNLOAD:
        yield Need.DOWNLOAD
    if artifact.way is Way.MODELCAR:
        yield Need.MODELCAR
    if artifact.way is Way.IMAGE_VOLUME:
        yield Need.IMAGE_VOLUME
    if artifact.role == "draft" and Way.MODELCAR in ways and set(ways) <= {Way.MODELCAR, Way.DOWNLOAD}:
        yield Need.MIXED
        if Way.DOWNLOAD in ways and kserve.oci_mode == "fetch":
            yield Need.FETCHED


def _configured(found: tuple[Artifact, ...], kserve: KServe) -> Iterator[Finding]:
    """What the cluster's own settings of KServe rule out."""
    for each in found:
        field, uri = f"{each.source.field}.uri", each.source.uri
        if each.way is Way.DOWNLOAD and kserve.multi_download is False:
            message = (
                "the cluster's ClusterStorageContainer takes one download only: set supportsMultiModelDownload: true "
                f"in it, as KServe 0.18 ships it, {_way_out(Need.DOWNLOAD, found)}"
            )
            yield ONE_DOWNLOAD.broken(field, uri, message)
        if each.way is Way.DOWNLOAD and kserve.multi_download is None and kserve.version == (0, 17):
            message = (
                "KServe 0.17 ships a ClusterStorageContainer that refuses storageUris: set supportsMultiModelDownload: "
                f"true in it, {_way_out(Need.DOWNLOAD, found)}"
            )
            yield MAYBE_ONE.broken(field, uri, message)
        if each.way is Way.MODELCAR and kserve.oci_mode == "":
            message = (
                "KServe's ConfigMap inferenceservice-config switches oci:// off: set enableModelcar: true in its "
                f"storageInitializer, {WAYS_OUT[Need.MODELCAR]}"
            )
            yield OCI_OFF.broken(field, uri, message)


def _images(found: Iterable[Artifact], kserve: KServe) -> Iterator[Finding]:
    version = kserve.kubernetes
    if version is None or version >= IMAGE_VOLUMES_ON_SINCE:
        return
    for each in found:
        if each.way is Way.IMAGE_VOLUME or (each.way is Way.MODELCAR and kserve.oci_mode == "native"):
            yield _image(each, version)


def _image(artifact: Artifact, version: Version) -> Finding:
    field, uri = f"{artifact.source.field}.uri", artifact.source.uri
    if version < IMAGE_VOLUMES_SINCE:
        needed = f"Kubernetes {shown(version)} mounts no folder of an image, {shown(IMAGE_VOLUMES_SINCE)} does"
        message = f"{needed}; upgrade it, {WAYS_OUT[Need.IMAGE_VOLUME]}"
        return NO_IMAGES.broken(field, uri, message)
    message = f"Kubernetes {shown(version)} drops this volume unless its feature gate ImageVolume is on, as from 1.35"
    return MAYBE_IMAGES.broken(field, uri, message)


def _newer(kserve: KServe) -> Iterator[Finding]:
    if kserve.version is not None and kserve.version > NEWEST:
        message = (
            f"KServe {shown(kserve.version)} is newer than {shown(NEWEST)}, the newest that this release knows: "
            "see in ArtifactsStaged whether everything was mounted"
        )
        yield NEWER.broken("spec.model.uri", shown(kserve.version), message)
