"""What a cluster's KServe and Kubernetes cannot do with a layout, and what its user should know: it works, and may
surprise. No rule speaks of what is not known.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from specdec_engine.rule import Finding, Rule, Severity
from specdec_operator.staging.artifacts import Artifact, DeliveryMode
from specdec_operator.staging.kserve import (
    IMAGE_VOLUMES_ON_SINCE,
    IMAGE_VOLUMES_SINCE,
    NEWEST,
    WAYS_OUT,
    KServe,
    KServeNeed,
    gap,
    shown,
)
from specdec_operator.staging.schemes import BY_NAME
from specdec_operator.staging.single import BROUGHT, brought_alone

Json = Mapping[str, Any]
_INJECTOR: Final = "KServe, pkg/webhook/admission/pod/storage_initializer_injector.go"
_VOLUMES: Final = "Kubernetes, KEP-4639"
_STORAGE: Final = "kserve-storage, kserve_storage.py"


def _rule(severity: Severity, name: str, says: str, source: str) -> Rule:
    return Rule(id=name, severity=severity, says=says, source=source)


LACKS: Final = _rule(
    Severity.REFUSED,
    "KSERVE-LACKS",
    "The cluster's version of KServe must support every rendered field. KServe drops unknown fields, usually without "
    "an error.",
    _INJECTOR,
)
ONE_DOWNLOAD: Final = _rule(
    Severity.REFUSED,
    "KSERVE-MULTI-DOWNLOAD",
    "storageUris need a ClusterStorageContainer with supportsMultiModelDownload; KServe 0.16 and 0.17 ship one without "
    "it.",
    _INJECTOR,
)
MAYBE_ONE: Final = _rule(
    Severity.WARNED,
    "KSERVE-MULTI-DOWNLOAD-UNKNOWN",
    "KServe 0.17 ships a ClusterStorageContainer that rejects storageUris, and the operator could not read this one.",
    _INJECTOR,
)
OCI_OFF: Final = _rule(
    Severity.REFUSED,
    "KSERVE-OCI-OFF",
    "oci:// must be enabled in KServe's ConfigMap.",
    "KServe, pkg/types/config.go",
)
NEWER: Final = _rule(
    Severity.WARNED,
    "KSERVE-NEWER",
    "A KServe version newer than this release may provide artifacts differently.",
    "KServe's releases may break with a minor version",
)
NO_IMAGES: Final = _rule(
    Severity.REFUSED,
    "KUBERNETES-IMAGE-VOLUME",
    "Kubernetes 1.33 and newer can mount a folder of an image.",
    _VOLUMES,
)
MAYBE_IMAGES: Final = _rule(
    Severity.WARNED,
    "KUBERNETES-IMAGE-GATE",
    "Kubernetes 1.33 and 1.34 mount images only with the feature gate ImageVolume.",
    _VOLUMES,
)
ONE_ACCOUNT: Final = _rule(
    Severity.NOTED,
    "STAGING-ONE-ACCOUNT",
    "Target and draft are downloaded with the same credentials, even if two accounts own them.",
    "KServe, pkg/credentials",
)
MOVES: Final = _rule(
    Severity.NOTED,
    "STAGING-MOVES",
    "A download without a revision gets the version that is current at that time.",
    _STORAGE,
)
ONE_FILE: Final = _rule(
    Severity.WARNED,
    "STAGING-ONE-FILE",
    "https:// supports a folder only as an archive, a git repository or an Azure blob prefix.",
    _STORAGE,
)
ONE_NODE: Final = _rule(
    Severity.WARNED,
    "STAGING-ONE-NODE",
    "A ReadWriteOnce PVC can be mounted on one node at a time.",
    "Kubernetes, persistent volumes",
)

_DOWNLOADED: Final = frozenset({DeliveryMode.DOWNLOAD, DeliveryMode.JOB})
_OF_WAY: Final = {**BROUGHT, DeliveryMode.IMAGE_VOLUME: KServeNeed.IMAGE_VOLUME}
_IMAGE_WAYS: Final = frozenset({DeliveryMode.MODELCAR, DeliveryMode.IMAGE_VOLUME})
_FOLDERS: Final = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".git")
_AZURE: Final = (".core.windows.net", ".storage.azure.net")


def findings(spec: Json, served: tuple[Artifact, ...], kserve: KServe) -> tuple[Finding, ...]:
    """All findings on these artifacts, the refusals first."""
    distinct = tuple(each for each in served if not each.inside)
    single = brought_alone(served, kserve)
    every = [*_lacking(distinct, kserve, single), *_patterns(spec, distinct, kserve)]
    every += [
        *_configured(distinct, kserve, single),
        *_images(distinct, kserve),
        *_newer(kserve),
        *hints(spec, distinct),
    ]
    return tuple(sorted(every, key=lambda each: each.rule.severity is not Severity.REFUSED))


def _about(artifact: Artifact, rule: Rule, message: str) -> Finding:
    return rule.broken(f"{artifact.source.field}.uri", artifact.source.uri, message)


def _lacking(artifacts: tuple[Artifact, ...], kserve: KServe, single: Artifact | None) -> Iterator[Finding]:
    """The first thing that this version lacks for each artifact."""
    for each in artifacts:
        needs = (need for need in _needs(each, artifacts, kserve) if each is not single or need is KServeNeed.GIT)
        lacks = (_lack(need, kserve, artifacts) for need in needs)
        if message := next(filter(None, lacks), None):
            yield _about(each, LACKS, message)


def _patterns(spec: Json, artifacts: tuple[Artifact, ...], kserve: KServe) -> Iterator[Finding]:
    staging: Json = spec.get("staging") or {}
    message = _lack(KServeNeed.PATTERNS, kserve, artifacts)
    for name in ("include", "exclude"):
        if message and staging.get(name) and any(each.way is DeliveryMode.JOB for each in artifacts):
            yield LACKS.broken(f"spec.staging.{name}", staging[name], message)


def _lack(need: KServeNeed, kserve: KServe, artifacts: tuple[Artifact, ...]) -> str | None:
    """The message if this version cannot; None if it can, or nothing is known of it."""
    lack = gap(need, kserve.version)
    if kserve.version is None or lack is None:
        return None
    return f"KServe {shown(kserve.version)} {lack.says}; {lack.has}, {_way_out(need, artifacts)}"


def _way_out(need: KServeNeed, artifacts: tuple[Artifact, ...]) -> str:
    """What to change about the spec; a Job downloads nothing beside an image."""
    images = any(each.way in _IMAGE_WAYS for each in artifacts)
    return WAYS_OUT[KServeNeed.MODELCAR if need is KServeNeed.DOWNLOAD and images else need]


def _needs(artifact: Artifact, artifacts: tuple[Artifact, ...], kserve: KServe) -> Iterator[KServeNeed]:
    """What one artifact requires of KServe; what two require together is listed once, for the draft."""
    ways = [each.way for each in artifacts]
    if artifact.way in _DOWNLOADED and artifact.source.uri.endswith(".git"):
        yield KServeNeed.GIT
    if artifact.way in _OF_WAY:
        yield _OF_WAY[artifact.way]
    if artifact.role != "target" and DeliveryMode.MODELCAR in ways and set(ways) <= BROUGHT.keys():
        yield KServeNeed.MIXED
        if DeliveryMode.DOWNLOAD in ways and kserve.oci_mode == "fetch":
            yield KServeNeed.FETCHED


def _configured(artifacts: tuple[Artifact, ...], kserve: KServe, single: Artifact | None) -> Iterator[Finding]:
    """What the cluster's own settings of KServe rule out."""
    setting, way_out = "set supportsMultiModelDownload: true in it", _way_out(KServeNeed.DOWNLOAD, artifacts)
    for each in artifacts:
        if each.way is DeliveryMode.DOWNLOAD and each is not single and kserve.multi_download is False:
            only = "the cluster's ClusterStorageContainer supports only one download"
            yield _about(each, ONE_DOWNLOAD, f"{only}: {setting}, as KServe 0.18 ships it, {way_out}")
        if each.way is DeliveryMode.DOWNLOAD and kserve.multi_download is None and kserve.version == (0, 17):
            ships = "KServe 0.17 ships a ClusterStorageContainer that rejects storageUris"
            yield _about(each, MAYBE_ONE, f"{ships}: {setting}, {way_out}")
        if each.way is DeliveryMode.MODELCAR and kserve.oci_mode == "":
            message = (
                "KServe's ConfigMap inferenceservice-config disables oci://: set enableModelcar: true in its "
                f"storageInitializer, {WAYS_OUT[KServeNeed.MODELCAR]}"
            )
            yield _about(each, OCI_OFF, message)


def _images(artifacts: Iterable[Artifact], kserve: KServe) -> Iterator[Finding]:
    version = kserve.kubernetes
    if version is None or version >= IMAGE_VOLUMES_ON_SINCE:
        return
    too_old = f"Kubernetes {shown(version)} cannot mount a folder of an image, {shown(IMAGE_VOLUMES_SINCE)} can"
    gated = (
        f"Kubernetes {shown(version)} drops this volume unless its feature gate ImageVolume is on; since 1.35 the gate "
        "is on by default"
    )
    for each in artifacts:
        if each.way is DeliveryMode.IMAGE_VOLUME or (each.way is DeliveryMode.MODELCAR and kserve.oci_mode == "native"):
            if version < IMAGE_VOLUMES_SINCE:
                yield _about(each, NO_IMAGES, f"{too_old}; upgrade it, {WAYS_OUT[KServeNeed.IMAGE_VOLUME]}")
            else:
                yield _about(each, MAYBE_IMAGES, gated)


def _newer(kserve: KServe) -> Iterator[Finding]:
    if kserve.version is not None and kserve.version > NEWEST:
        message = (
            f"KServe {shown(kserve.version)} is newer than {shown(NEWEST)}, the newest that this release was tested "
            "with: check condition ArtifactsStaged for missing mounts"
        )
        yield NEWER.broken("spec.model.uri", shown(kserve.version), message)


def hints(spec: Json, artifacts: tuple[Artifact, ...]) -> Iterator[Finding]:
    """The findings on these artifacts, each of which is brought by itself."""
    downloaded = [each for each in artifacts if each.way in _DOWNLOADED]
    yield from _accounts(downloaded)
    for each in downloaded:
        if each.source.scheme == "hf" and ":" not in each.source.uri.removeprefix("hf://"):
            way = "once" if each.way is DeliveryMode.JOB else "at each start of a pod"
            yield _about(each, MOVES, f"has no revision, so the newest is downloaded {way}; add :REVISION")
        if each.source.scheme == "https" and not _is_folder(each):
            yield _about(each, ONE_FILE, f"{ONE_FILE.says} This URI is one file, and one file is usually not a model")
    if any(each.way is DeliveryMode.JOB for each in artifacts):
        yield from _one_node(spec)


def _accounts(artifacts: list[Artifact]) -> Iterator[Finding]:
    for each in artifacts[1:]:
        first, other = artifacts[0].source, each.source
        if first.scheme == other.scheme and first.place != other.place and (account := BY_NAME[other.scheme].account):
            message = f"{first.scheme}://{first.place} and {other.scheme}://{other.place} are both read with {account}"
            yield _about(each, ONE_ACCOUNT, message)


def _is_folder(artifact: Artifact) -> bool:
    host = artifact.source.place.partition(":")[0]
    return artifact.source.uri.endswith(_FOLDERS) or host.endswith(_AZURE)


def _one_node(spec: Json) -> Iterator[Finding]:
    claim: Json = (spec.get("staging") or {}).get("claim") or {}
    modes = claim.get("accessModes") or ["ReadWriteOnce"]
    if spec.get("replicas", 1) > 1 and modes == ["ReadWriteOnce"]:
        message = f"{spec['replicas']} pods must run on one node; with ReadWriteMany several nodes can mount the PVC"
        yield ONE_NODE.broken("spec.staging.claim.accessModes", modes, message)
