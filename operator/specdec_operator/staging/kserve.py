"""What is known of the KServe that makes the pods, and of the Kubernetes under it. None stands for "not known"."""

from dataclasses import dataclass
from typing import TypeAlias

Version: TypeAlias = tuple[int, int]
"""Major and minor: what changed, changed with a minor version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KServe:
    """One cluster's KServe. Nothing is refused for what is not known.

    version, kubernetes: such as (0, 20) and (1, 34). seen: where the version was read, in words.
    multi_download: whether the download container of its ClusterStorageContainer takes several URIs.
    oci_mode: how oci:// is served: `modelcar`, `native`, `fetch`, or empty where its ConfigMap switches it off.
    initializer: image of its storage-initializer.
    """

    version: Version | None = None
    kubernetes: Version | None = None
    seen: str = ""
    multi_download: bool | None = None
    oci_mode: str | None = None
    initializer: str | None = None
