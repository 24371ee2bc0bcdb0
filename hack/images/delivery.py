"""Puts a built image onto the node; of an image whose big layers are there already, only the rest travels.

The image's OCI layout is written with an empty file of the right size in the place of each layer that the node has:
buildah takes it for the layer and does not write gigabytes, and the archive leaves it out.
"""

import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

from hack.cluster import containers, paths, record, shell
from hack.cluster import images as node
from hack.cluster.errors import ClusterError
from hack.images import tool

_BLOBS = "io.containerd.content.v1.content/blobs/sha256"
_MINUTES = 15 * 60


def load(builder: tool.Tool, ref: str) -> None:
    """Make the image known to the cluster's node."""
    known = record.read(paths.layout())
    direct = builder.kind is tool.ImageTool.BUILDAH and known is not None and known.driver is record.ClusterDriver.NODE
    held = _held(_layers(ref)) if direct else {}
    if held:
        _load_rest(ref, held)
    else:
        node.load(ref)


def _layers(ref: str) -> list[str]:
    """Return the digests of an image's layers as they are when nothing is compressed."""
    described = json.loads(shell.run(["buildah", "inspect", "--type=image", ref]))
    return [str(digest).removeprefix("sha256:") for digest in described["OCIv1"]["rootfs"]["diff_ids"]]


def _held(layers: list[str]) -> dict[str, int]:
    """Return the layers that the node has, with their sizes."""
    folder = paths.layout().images / _BLOBS
    return {digest: (folder / digest).stat().st_size for digest in layers if (folder / digest).is_file()}


def _load_rest(ref: str, held: dict[str, int]) -> None:
    with paths.scratch() as folder:
        layout = Path(folder)
        prepare(layout, held)
        shell.run(["buildah", "push", "--quiet", "--disable-compression", ref, f"oci:{layout}:{ref}"], timeout=_MINUTES)
        command = containers.client(paths.layout(), "images", "import", "-")
        # Its errors go into a file: a pipe would be closed before it has written all, and then SIGPIPE would end it.
        with tempfile.TemporaryFile() as words:
            importer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=words)
            with importer, tarfile.open(fileobj=importer.stdin, mode="w|") as archive:
                pack(layout, held, archive)
            words.seek(0)
            told = words.read().decode(errors="replace").strip()
        if importer.returncode != 0:
            raise ClusterError(f"`{' '.join(command)}` ended with code {importer.returncode} for {ref}: {told}")


def prepare(layout: Path, held: dict[str, int]) -> None:
    """Lay out a file for each layer that need not travel; it has the size and takes no room."""
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    for digest, size in held.items():
        with (blobs / digest).open("wb") as file:
            file.truncate(size)


def pack(layout: Path, held: dict[str, int], archive: tarfile.TarFile) -> None:
    """Write the layout without the layers that need not travel."""
    for path in sorted(layout.rglob("*")):
        if path.is_file() and path.name not in held:
            archive.add(path, path.relative_to(layout).as_posix())
