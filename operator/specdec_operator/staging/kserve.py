"""What is known of the KServe that makes the pods, and of the Kubernetes under it; what each version cannot bring."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from specdec_engine.version import MajorMinor, major_minor
from specdec_operator import __version__
from specdec_operator.staging.compatibility import KSERVE

OPERATOR_IMAGE: Final = f"specdec-operator:{__version__}"
"""The image if no operator is asked, as by `specdec render`: the name without a registry, as in manifests/."""
Version: TypeAlias = MajorMinor
"""What changed, changed with a minor version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KServe:
    """One cluster's KServe. Nothing is refused for what is not known.

    version, kubernetes: such as (0, 20) and (1, 34). seen: where the version was read, as text.
    multi_download: whether the download container of its ClusterStorageContainer takes several URIs.
    oci_mode: how oci:// is served: `modelcar`, `native`, `fetch`, or empty where its ConfigMap switches it off.
    initializer: image of its storage-initializer.
    runtimes: accelerators, and the names of the runtimes that are installed for them, from the operator's settings.
    images: accelerators, and the images that replace those of this release's runtimes, from the operator's settings.
    operator_image: the operator's own, which has what is injected into pods; empty: the settings do not have it.
    """

    version: Version | None = None
    kubernetes: Version | None = None
    seen: str = ""
    multi_download: bool | None = None
    oci_mode: str | None = None
    initializer: str | None = None
    runtimes: tuple[tuple[str, str], ...] = ()
    images: tuple[tuple[str, str], ...] = ()
    operator_image: str = OPERATOR_IMAGE

    def runtime(self, accelerator: str) -> str:
        """The runtime of a service that names none."""
        return dict(self.runtimes).get(accelerator, f"specdec-{accelerator}")

    def image(self, accelerator: str) -> str:
        """The image that replaces that of this release's runtime; empty: none is known to."""
        return dict(self.images).get(accelerator, "")

    @property
    def names(self) -> tuple[str, ...]:
        """The runtimes that are installed for services that name none."""
        return tuple(name for _, name in self.runtimes)


class KServeNeed(StrEnum):
    """What an artifact requires of KServe. PVCs require nothing: they are ordinary volumes."""

    DOWNLOAD = "downloads into each pod (storageUris)"
    MODELCAR = "oci:// in storageUris"
    MIXED = "oci:// together with another artifact in storageUris"
    FETCHED = "downloads together with an oci:// that is fetched (ociModelMode fetch)"
    IMAGE_VOLUME = "image volumes (oci+native://)"
    GIT = "git repositories (https://….git)"
    PATTERNS = "staging.include and staging.exclude"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Versions that cannot bring something. since, until: inclusive; None: the first, or every later one.

    `says`: what they do instead, after "KServe 0.16". has: what to change about KServe.
    """

    need: KServeNeed
    since: Version | None
    until: Version | None
    says: str
    has: str


NEWEST: Final[Version] = KSERVE.newest or KSERVE.oldest
"""The newest KServe that this table was written for."""
IMAGE_VOLUMES_SINCE: Final[Version] = (1, 33)
"""The first Kubernetes that mounts a folder of an image; earlier ones mount nothing or all of it."""
IMAGE_VOLUMES_ON_SINCE: Final[Version] = (1, 35)
"""The first Kubernetes that does so without the feature gate ImageVolume."""

_NO_FIELD: Final = "has no storageUris: the field is dropped without an error"
GAPS: Final = (
    Gap(need=KServeNeed.DOWNLOAD, since=None, until=(0, 15), says=_NO_FIELD, has="KServe 0.18 has the field"),
    Gap(
        need=KServeNeed.DOWNLOAD,
        since=(0, 16),
        until=(0, 16),
        says="ships a ClusterStorageContainer that rejects storageUris, and with supportsMultiModelDownload it creates "
        "a Deployment whose download has no volume, which the API server rejects (KServe issue 4819)",
        has="KServe 0.18 works",
    ),
    Gap(
        need=KServeNeed.MODELCAR,
        since=None,
        until=(0, 15),
        says=_NO_FIELD,
        has="KServe 0.19 supports one image, 0.20 several",
    ),
    Gap(
        need=KServeNeed.MODELCAR,
        since=(0, 16),
        until=(0, 18),
        says="supports no images in storageUris: the pods start without the model, or try to download it as a file",
        has="KServe 0.19 supports one image, 0.20 several",
    ),
    Gap(
        need=KServeNeed.MIXED,
        since=(0, 19),
        until=(0, 19),
        says="mounts the first image and drops the other artifacts of storageUris without an error",
        has="KServe 0.20 mounts them all",
    ),
    Gap(
        need=KServeNeed.FETCHED,
        since=(0, 21),
        until=None,
        says="fetches the image and drops the other downloads without an error",
        has="set ociModelMode to modelcar in the ConfigMap inferenceservice-config",
    ),
    Gap(
        need=KServeNeed.IMAGE_VOLUME,
        since=None,
        until=(0, 14),
        says="has no image volumes in its CRD: the volume is dropped without an error",
        has="KServe 0.15 has image volumes",
    ),
    Gap(
        need=KServeNeed.GIT,
        since=None,
        until=(0, 16),
        says="treats a git repository as a file to download",
        has="the storage-initializer of KServe 0.17 clones it",
    ),
    Gap(
        need=KServeNeed.PATTERNS,
        since=None,
        until=(0, 16),
        says="has a storage-initializer without patterns: it would download every file",
        has="the storage-initializer of KServe 0.17 has patterns",
    ),
)
"""Read from KServe's releases: CRD, storage_initializer_injector.go and the package kserve-storage of each tag. The
real 0.16, 0.17, 0.19 and 0.20 are asked by `python -m lab.staging.matrix`.
"""

WAYS_OUT: Final[Mapping[KServeNeed, str]] = MappingProxyType(
    {
        KServeNeed.DOWNLOAD: "or use spec.staging.mode PersistentVolumeClaim, which does not depend on KServe",
        KServeNeed.MODELCAR: "or put the model in a PVC (pvc://), which does not depend on KServe",
        KServeNeed.MIXED: "or put one of them in a PVC (pvc://), or both in one image: set only the path of the draft",
        KServeNeed.FETCHED: "or put one of them in a PVC (pvc://)",
        KServeNeed.IMAGE_VOLUME: "or put the model in a PVC (pvc://), which does not depend on KServe",
        KServeNeed.GIT: "or put the model in an archive or in a PVC (pvc://)",
        KServeNeed.PATTERNS: "or remove the patterns and download all files",
    }
)
"""What to change about the spec instead."""


def gap(need: KServeNeed, version: Version | None) -> Gap | None:
    """Why this version cannot; None where it can, or nothing is known of it."""
    if version is None:
        return None
    gaps = (each for each in GAPS if each.need is need)
    return next((each for each in gaps if (each.since or version) <= version <= (each.until or version)), None)


def shown(version: Version) -> str:
    """Such as 0.20."""
    return f"{version[0]}.{version[1]}"


def assumed_kserve(version: str | None) -> KServe | None:
    """A KServe of which nothing but the version is known. Raises ValueError for a text that is not a version."""
    if version is None:
        return None
    parsed = major_minor(version)
    if parsed is None:
        raise ValueError(f"--kserve {version}: not a version; write one such as 0.20")
    return KServe(version=parsed, seen=f"--kserve {version}")
