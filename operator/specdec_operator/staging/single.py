"""The one artifact that an older KServe, without storageUris, can bring: by its model's storageUri."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from specdec_operator.staging.artifacts import Artifact, DeliveryMode
from specdec_operator.staging.kserve import KServe, KServeNeed, gap

BROUGHT: Final[Mapping[DeliveryMode, KServeNeed]] = MappingProxyType(
    {DeliveryMode.DOWNLOAD: KServeNeed.DOWNLOAD, DeliveryMode.MODELCAR: KServeNeed.MODELCAR}
)
"""What KServe brings, and what that asks of it."""
_SINCE: Final = (0, 14)
"""The first KServe whose storageUri was read: it knows hf:// and Modelcars."""


def brought_alone(served: Iterable[Artifact], kserve: KServe) -> Artifact | None:
    """The only artifact that KServe is to bring, where its version has no storageUris for it, but storageUri.

    KServe's webhook brings that one, into pods that KServe makes.
    """
    brought = [each for each in served if each.way in BROUGHT and not each.inside]
    if len(brought) != 1 or kserve.version is None or kserve.version < _SINCE:
        return None
    (only,) = brought
    refused = only.way is DeliveryMode.DOWNLOAD and kserve.multi_download is False
    return only if refused or gap(BROUGHT[only.way], kserve.version) else None
