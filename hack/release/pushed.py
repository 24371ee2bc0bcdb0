"""The images of a release as a registry has them, with NAME:TAG@DIGEST in a file each.

TARGET.ARCH.txt is the image for one processor, TARGET.txt the index of all of them.
"""

import pathlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hack.release import dockerfile

_NAME: Final = re.compile(
    r"(?P<registry>\S+)/(?P<repository>[^/:@\s]+):(?P<tag>[\w.-]+)@(?P<digest>sha256:[0-9a-f]{64})"
)


class ReleaseRefused(Exception):
    """A release that would not be what its name promises; the message has the problem, its place and the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """One artifact in a registry."""

    registry: str
    repository: str
    tag: str
    digest: str

    @property
    def name(self) -> str:
        """By which it is signed, verified and pulled: the digest alone counts."""
        return f"{self.registry}/{self.repository}@{self.digest}"

    @property
    def tagged(self) -> str:
        """Its name with the tag; a user with write access to the registry can move the tag to another image."""
        return f"{self.registry}/{self.repository}:{self.tag}"

    @property
    def purl(self) -> str:
        """Its package URL."""
        place = f"repository_url={self.registry}/{self.repository}&tag={self.tag}"
        return f"pkg:oci/{self.repository}@{self.digest.replace(':', '%3A')}?{place}"

    @property
    def dependency(self) -> dict[str, Any]:
        """As provenance names what something was made of."""
        return {"uri": self.purl, "digest": {"sha256": self.digest.removeprefix("sha256:")}}


def parse(text: str, where: str) -> Pushed:
    """Read NAME:TAG@DIGEST. Raises Refused."""
    found = _NAME.fullmatch(text.strip())
    if found is None:
        raise ReleaseRefused(
            f"{where}: {text.strip()!r} is not REGISTRY/NAME:TAG@sha256:HEX: push the image, and write that there"
        )
    return Pushed(**found.groupdict())


def read_one(folder: pathlib.Path, target: str) -> Pushed:
    """Return the image of one target. Raises Refused where its file is absent, or no name with a digest."""
    file = folder / f"{target}.txt"
    try:
        return parse(file.read_text(encoding="utf-8"), str(file))
    except FileNotFoundError as error:
        raise ReleaseRefused(f"{file} is absent: push the image, and write NAME:TAG@DIGEST there") from error


def read(folder: pathlib.Path, without: Collection[str] = ()) -> dict[str, Pushed]:
    """Return what was pushed, by target. without: the targets that this release leaves out.

    Raises Refused where an image is missing, or two registries are named.
    """
    wanted = [target for target in dockerfile.FILES if target not in without]
    found = {target: read_one(folder, target) for target in wanted if (folder / f"{target}.txt").exists()}
    missing = [target for target in wanted if target not in found]
    if missing:
        raise ReleaseRefused(
            f"{folder}: no {'.txt, no '.join(missing)}.txt: the chart names these images; push them first"
        )
    registries = sorted({each.registry for each in found.values()})
    if len(registries) > 1:
        raise ReleaseRefused(
            f"{folder}: images in {' and in '.join(registries)}: the chart has one registry; push all to one"
        )
    return found


def registry(images: Mapping[str, Pushed]) -> str:
    """Return the registry that all of them are in."""
    return images["operator"].registry
