"""Which container engine works here, and how a built image is taken out of its store."""

import pathlib
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


def export(ref: str, target: pathlib.Path) -> list[str]:
    """Return the command that writes an image into an archive, by the first tool that has the image."""
    for tool in ("buildah", *_ENGINES):
        if shutil.which(tool) and shell.ask([tool, "inspect", "--type=image", ref], timeout=30).code == 0:
            return export_command(tool, ref, target)
    raise ClusterError(f"no image {ref} is known to buildah, podman or docker, and there is no such file either")


def export_command(tool: str, ref: str, target: pathlib.Path) -> list[str]:
    """Return the command for one tool. Nothing is compressed: the archive is read once, on this machine."""
    if tool == "docker":
        return ["docker", "save", f"--output={target}", ref]
    return [tool, "push", "--quiet", "--disable-compression", ref, f"docker-archive:{target}:{ref}"]
