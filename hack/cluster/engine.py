"""Which container engine works here, and how a built image is taken out of its store."""

import shutil

from hack.cluster import shell
from hack.cluster.errors import ClusterError

_ENGINES = ("docker", "podman")


def usable() -> str | None:
    """Return the first engine that answers: a client program without its service is not one."""
    for name in _ENGINES:
        if shutil.which(name) and shell.ask([name, "info"], timeout=15).code == 0:
            return name
    return None


def holder(ref: str) -> str:
    """Return the first tool in whose store the image is."""
    for name in ("buildah", *_ENGINES):
        if shutil.which(name) and shell.ask([name, "inspect", "--type=image", ref], timeout=30).code == 0:
            return name
    raise ClusterError(f"no image {ref} is known to buildah, podman or docker, and no file has that name")


def export(tool: str, ref: str) -> list[str]:
    """Return the command that writes an image to its standard output. Compressing it would only cost time."""
    if tool == "docker":
        return ["docker", "save", ref]
    return [tool, "push", "--quiet", "--disable-compression", ref, f"docker-archive:/dev/stdout:{ref}"]
