"""Puts images onto the cluster, from an archive or from the store of the tool that built them."""

import pathlib
import shutil

from hack.cluster import containers, kind, paths, record, shell
from hack.cluster.errors import ClusterError
from hack.cluster.record import ClusterDriver

_LOAD_SECONDS = 900


def load(archive_or_ref: str | pathlib.Path) -> None:
    """Put an image onto the node: a docker or OCI archive, or a name known to buildah, podman or docker."""
    archive = pathlib.Path(archive_or_ref)
    if record.running().driver is ClusterDriver.KIND:
        _load_on_kind(archive_or_ref)
    elif archive.is_file():
        containers.load(paths.layout(), archive)
    else:
        ref = str(archive_or_ref)
        containers.load_from(paths.layout(), export(holder(ref), ref))


def has(ref: str) -> bool:
    """Return whether the node has an image of this name."""
    if record.running().driver is ClusterDriver.KIND:
        return shell.ask(kind.on_node("crictl", "inspecti", ref)).code == 0
    return ref in containers.image_names(paths.layout())


def rename(ref: str, name: str) -> None:
    """Give an image of the single node another name too. On kind the charts bring what they need by themselves."""
    if record.running().driver is ClusterDriver.NODE:
        shell.run(containers.client(paths.layout(), "images", "tag", "--force", ref, name))


def _load_on_kind(archive_or_ref: str | pathlib.Path) -> None:
    """kind reads archives only, and copies them to every node itself."""
    given = pathlib.Path(archive_or_ref)
    if given.is_file():
        shell.run(kind.load_archive(given), timeout=_LOAD_SECONDS, env=kind.environment())
        return
    ref = str(archive_or_ref)
    with paths.scratch() as folder:
        archive = pathlib.Path(folder) / "image.tar"
        written = ["dd", f"of={archive}", "bs=1M", "status=none"]
        shell.pipe(export(holder(ref), ref), written, timeout=_LOAD_SECONDS)
        shell.run(kind.load_archive(archive), timeout=_LOAD_SECONDS, env=kind.environment())


def holder(ref: str) -> str:
    """Return the first tool in whose store the image is."""
    for name in ("buildah", *shell.ENGINES):
        if shutil.which(name) and shell.ask([name, "inspect", "--type=image", ref], timeout=30).code == 0:
            return name
    raise ClusterError(f"no image {ref} is known to buildah, podman or docker, and no file has that name")


def export(tool: str, ref: str) -> list[str]:
    """Return the command that writes an image to its standard output. Compressing it would only cost time."""
    if tool == "docker":
        return ["docker", "save", ref]
    return [tool, "push", "--quiet", "--disable-compression", ref, f"docker-archive:/dev/stdout:{ref}"]
