"""What a release builds and where, and what it leaves out and why: out of the variables of the repository.

REGISTRY: where images and chart go. Empty: GitHub's registry, below the owner of the repository.
LEFT_OUT: what is not built, as in `nvidia ascend/arm64`. The operator's image for amd64 is always built.
ASCEND_INDEX: the index with the Ascend compiler. Empty: no image for NPUs.
RUNNER_AMD64, RUNNER_ARM64: runners with more disk, for the targets `nvidia` and `ascend`.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from hack.release import dockerfile
from hack.release.pushed import ReleaseRefused

ARCHITECTURES: Final = ("amd64", "arm64")
RUNNERS: Final = {"amd64": "ubuntu-24.04", "arm64": "ubuntu-24.04-arm"}
GIGABYTES: Final = {"operator": 4, "cpu": 12, "nvidia": 40, "ascend": 40}
"""Free disk that the build of a target is refused without (docs/images.md)."""
_NEEDED: Final = ("operator", "amd64")
_NO_COMPILER: Final = "no variable ASCEND_INDEX"
_ASKED: Final = "variable LEFT_OUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseImage:
    """One image to build. runner: the label of the machine."""

    target: str
    arch: str
    runner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """One release. left_out: the reason for each `TARGET/ARCH` that is not built."""

    registry: str
    images: tuple[ReleaseImage, ...]
    left_out: Mapping[str, str]

    def architectures(self, target: str) -> tuple[str, ...]:
        """Return the processors that a target is built for; none where it is left out."""
        return tuple(each.arch for each in self.images if each.target == target)

    @property
    def without(self) -> frozenset[str]:
        """The targets that are built for no processor."""
        return frozenset(target for target in dockerfile.FILES if not self.architectures(target))

    def outputs(self) -> str:
        """Return the outputs of a workflow's step: `registry`, and `images`, a matrix in JSON."""
        images = json.dumps([asdict(each) for each in self.images])
        return f"registry={self.registry}\nimages={images}"

    def notes(self) -> str:
        """Return the section of the release's page: where images and chart are, and which are left out."""
        chart = f"`oci://{self.registry}/charts/specdec-operator`"
        rows = [f"| `{target}` | {', '.join(self.architectures(target)) or '-'} |" for target in dockerfile.FILES]
        missing = [f"- `{name}` is left out: {reason}." for name, reason in self.left_out.items()]
        table = ["| image | processors |", "|---|---|", *rows]
        return "\n".join(
            [f"Chart: {chart}. Images, in `{self.registry}`:", "", *table, *([""] * bool(missing)), *missing]
        )


def of(environment: Mapping[str, str]) -> ReleasePlan:
    """Read the variables. Raises Refused for a value that has no meaning."""
    words = environment.get("LEFT_OUT", "").replace(",", " ").split()
    left_out = dict.fromkeys(_named(words), _ASKED)
    if not environment.get("ASCEND_INDEX"):
        left_out |= {f"ascend/{arch}": _NO_COMPILER for arch in ARCHITECTURES}
    images = tuple(
        ReleaseImage(target=target, arch=arch, runner=_runner(target, arch, environment))
        for target in dockerfile.FILES
        for arch in ARCHITECTURES
        if f"{target}/{arch}" not in left_out
    )
    return ReleasePlan(registry=_registry(environment), images=images, left_out=left_out)


def refuse_without_room(target: str, folder: str = "/") -> str:
    """Return how much disk is free. Raises Refused where the build of a target needs more."""
    free = shutil.disk_usage(folder).free / 1e9
    told = f"{folder} has {free:.0f} GB of free disk, and the build of {target} needs {GIGABYTES[target]} GB"
    if free < GIGABYTES[target]:
        raise ReleaseRefused(
            f"{told}: name a runner with more in the variable RUNNER_AMD64 or RUNNER_ARM64, or leave the image out: "
            f"LEFT_OUT={target}"
        )
    return told


def _registry(environment: Mapping[str, str]) -> str:
    """A name in a registry has no capital letters; the owner of a repository may have."""
    if given := environment.get("REGISTRY", "").strip().rstrip("/"):
        return given
    if owner := environment.get("GITHUB_REPOSITORY_OWNER", ""):
        return f"ghcr.io/{owner.lower()}"
    raise ReleaseRefused(
        "environment: no REGISTRY and no GITHUB_REPOSITORY_OWNER: set REGISTRY, as in registry.example/team"
    )


def _named(words: list[str]) -> list[str]:
    """Each `TARGET/ARCH` that these words name."""
    known = {f"{target}/{arch}": (target, arch) for target in dockerfile.FILES for arch in ARCHITECTURES}
    found = []
    for word in words:
        named = [name for name, (target, _) in known.items() if word in (name, target)]
        if not named:
            raise ReleaseRefused(f"LEFT_OUT: {word!r} is no image: write TARGET or TARGET/ARCH, of {', '.join(known)}")
        found += named
    if "/".join(_NEEDED) in found:
        raise ReleaseRefused(f"LEFT_OUT: {'/'.join(_NEEDED)} cannot be left out: the chart installs this image")
    return found


def _runner(target: str, arch: str, environment: Mapping[str, str]) -> str:
    large = environment.get(f"RUNNER_{arch.upper()}", "") if target in ("nvidia", "ascend") else ""
    return large or RUNNERS[arch]
