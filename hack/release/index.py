"""One name for the images of a target: an index of one image for each processor, of which a node takes its own.

The index is signed by digest, so its bytes are read back and must name the images that were built, and no other.
"""

import hashlib
import json
from collections.abc import Callable, Sequence

from hack.release import command
from hack.release.pushed import Pushed, ReleaseRefused

Join = Callable[[Sequence[str], Sequence[Pushed]], bytes]
"""Gives these names in the registry to an index of these images, and returns the bytes that the registry has then."""


def buildx(wanted: Sequence[str], parts: Sequence[Pushed]) -> bytes:
    """Let docker's buildx write it. Raises Refused with its output."""
    tool = ("docker", "buildx", "imagetools")
    tags = [f"--tag={name}" for name in wanted]
    command.run(*tool, "create", *tags, *(each.name for each in parts))
    return command.output(*tool, "inspect", "--raw", wanted[-1])


def joined(join: Join, registry: str, names: Sequence[str], parts: Sequence[Pushed]) -> Pushed:
    """Return the index of these images under these names. Raises Refused where it names others."""
    content = join([f"{registry}/{name}" for name in names], parts)
    repository, _, tag = names[-1].partition(":")
    found = {str(each.get("digest")) for each in json.loads(content).get("manifests", [])}
    wanted = {each.digest for each in parts}
    if found != wanted:
        raise ReleaseRefused(
            f"{registry}/{names[-1]}: the index names {', '.join(sorted(found)) or 'nothing'} instead of "
            f"{', '.join(sorted(wanted))}: somebody else has pushed this tag; run the release again"
        )
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return Pushed(registry=registry, repository=repository, tag=tag, digest=digest)
