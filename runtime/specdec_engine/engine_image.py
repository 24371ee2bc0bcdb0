"""Which engine an image has, by its name and tag: before a pod runs, only these two are known of an image.

vLLM and vllm-ascend tag each release with its version, and add words for the device (`v0.18.0rc1-a3-openeuler`,
`v0.22.0-cu130`). A tag that moves (`latest`), an unknown digest, or the image of another project shows nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.version import OLDEST, Version

OWN_IMAGE: Final = "specdec-runtime"
"""The repository of this project's runtime images, in whatever registry."""
_PUBLISHED: Final[Mapping[str, Accelerator | None]] = MappingProxyType(
    {
        "vllm": None,
        "vllm-openai": None,
        "vllm-ascend": Accelerator.ASCEND,
        "vllm-cpu": Accelerator.CPU,
        "vllm-openai-cpu": Accelerator.CPU,
        "vllm-cpu-release-repo": Accelerator.CPU,
        "vllm-arm64-cpu-release-repo": Accelerator.CPU,
    }
)
"""Last parts of the names under which vLLM and vllm-ascend are published, and copied to registries of companies; None:
one name for several devices.
"""
_OWNERS: Final = ("vllm/", "ascend/", "vllm-project/")
_RELEASE: Final = re.compile(r"v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)(?:\.\d{1,3})?(?:[.-]?(?:rc|post)\d{1,3})?(?=[-_]|$)")
_WITHIN: Final = re.compile(r"(?:^|[-_])vllm[-_]?v?(0\.\d{1,3}\.\d{1,3})(?=[-_.]|$)")
"""As AMD writes it: rocm6.4.1_vllm_0.10.1_20250909."""
_OURS: Final = re.compile(r"(?:cpu|nvidia|ascend|a3|310p)-(\d{1,3}\.\d{1,3}\.\d{1,3})-\d")
"""Of this project: target, engine's version, project's version."""
_DIGESTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "014a95f21c9edf6abe0aea6b07353f96baa4ec291c427bb1176dc7c93a85845c": "0.11.0",
        "8c9aaddfa6011b9651d06834d2fb90bdb9ab6ced4b420ec76925024eb12b22d0": "0.15.1",
        "7a0f0fdd2771464b6976625c2b2d5dd46f566aa00fbc53eceab86ef50883da90": "0.19.0",
        "e4f88a835143cd22aee2397a26ec6bb80b3a4a6fe0c882bcbc63822904766089": "0.25.1",
        "61fc8a896b0a4fbbbdc063bc4b0dbc25ce98e02b5050c24aeb7830ac02039b14": "0.28.0",
        "2286e8533ca8b6bc777594bae30524f1426ba46ca21797524e06df6a94b06635": "0.28.0",
    }
)
"""Digests of vllm/vllm-openai. Each stands beside the tag of this version in files of at least two public repositories:
those with `vllm/vllm-openai:vVERSION@sha256:DIGEST`. No registry was asked.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineImage:
    """What an image's name shows.

    version: of the engine inside, as in spec.engine.version; empty: not shown. certain: whether the repository is one
    whose tags are the engine's versions; if not, the tag only looks like one. accelerator: what it was built for, if
    the name shows that.
    """

    version: str = ""
    certain: bool = False
    accelerator: Accelerator | None = None


def engine_image(image: str) -> EngineImage:
    """What is known of an image such as `docker.io/vllm/vllm-openai:v0.15.1`. Never raises.

    A digest decides before a tag: the container runtime reads only the digest.
    """
    if known := _DIGESTS.get(image.strip().rpartition("@sha256:")[2] if "@sha256:" in image else ""):
        return EngineImage(version=known, certain=True)
    path, tag = _parts(image)
    name = path.rpartition("/")[2].lower()
    if name == OWN_IMAGE:
        found = _OURS.match(tag)
        return EngineImage(version=found[1] if found else "", certain=True)
    if name in _PUBLISHED:
        return _published(path.lower(), name, tag)
    if "vllm" in re.split(r"[-_.]", name):
        shown = _shown(tag)
        return EngineImage(version=shown if _plausible(shown) else "")
    return EngineImage()


def _parts(image: str) -> tuple[str, str]:
    """Repository and tag; the port of a registry is not a tag."""
    named = image.strip().partition("@")[0]
    head, slash, last = named.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{head}{slash}{name}", tag


def _published(path: str, name: str, tag: str) -> EngineImage:
    """A name that others use, too: outside vLLM's own repositories an older version than any known is another's."""
    shown = _shown(tag)
    own = any(f"/{path}".endswith(f"/{owner}{name}") for owner in _OWNERS)
    version = shown if own or _plausible(shown) else ""
    return EngineImage(version=version, certain=bool(version), accelerator=_PUBLISHED[name])


def _shown(tag: str) -> str:
    found = _RELEASE.match(tag) or _WITHIN.search(tag)
    return found[1] if found else ""


def _plausible(version: str) -> bool:
    """Whether it can be a release of vLLM that this project knows, or a later one before 1.0."""
    if not version:
        return False
    parsed = Version.parse(version)
    return parsed.major == 0 and (parsed.major, parsed.minor) >= OLDEST


# vllm-ascend's tags that are release candidates only; from its repository.
_CANDIDATES: Final = frozenset(
    ("0.12.0", "0.14.0", "0.15.0", "0.16.0", "0.17.0", "0.19.1", "0.20.2", "0.21.0", "0.22.1", "0.24.0", "0.25.1")
)
_PUBLIC: Final[Mapping[Accelerator, str]] = MappingProxyType(
    {
        Accelerator.NVIDIA: "docker.io/vllm/vllm-openai:v{}",
        Accelerator.ASCEND: "quay.io/ascend/vllm-ascend:v{}",
        Accelerator.CPU: "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v{}",
    }
)


def public_image(accelerator: Accelerator, version: str) -> str:
    """The engine's own public image of a version, which is written as in spec.engine.version.

    Of a version without its third number it is the first release, and of one that vllm-ascend has only as a candidate
    the first candidate.
    """
    bare = version.removeprefix("v")
    if bare.count(".") == 1 and bare.replace(".", "").isdigit():
        bare = f"{bare}.0"
    tag = f"{bare}rc1" if accelerator == Accelerator.ASCEND and bare in _CANDIDATES else bare
    return _PUBLIC[accelerator].format(tag)
