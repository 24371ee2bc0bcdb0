"""containerd's command-line client, for the few things that the cluster asks of it, and the sandbox image."""

import hashlib
import io
import json
import pathlib
import platform
import tarfile
from collections.abc import Sequence

from hack.cluster import binaries, shell
from hack.cluster.paths import ClusterLayout

_IMPORT_SECONDS = 900
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def client(layout: ClusterLayout, *words: str) -> list[str]:
    """Prefix a `ctr` command with the cluster's socket and the namespace that kubelet uses."""
    return [str(binaries.ensure("ctr")["ctr"]), f"--address={layout.socket}", "--namespace=k8s.io", *words]


def answers(layout: ClusterLayout) -> bool:
    """Return whether containerd serves."""
    return shell.ask(client(layout, "version"), timeout=5).code == 0


def image_names(layout: ClusterLayout) -> list[str]:
    """List the images on the node."""
    return shell.run(client(layout, "images", "ls", "-q")).split()


def forget(layout: ClusterLayout, registry: str) -> None:
    """Remove every image of a registry; its layers go with the last name that has them."""
    rows = shell.run(client(layout, "images", "ls")).splitlines()[1:]
    if gone := images_of(registry, rows):
        shell.run(client(layout, "images", "rm", "--sync", *gone))


def images_of(registry: str, rows: Sequence[str]) -> list[str]:
    """Return the names of a registry's images in the rows of `ctr images ls`: name, type, digest, ...

    The kubelet's part of containerd names the content of each image by its ID too, which would keep the layers.
    """
    listed = [row.split()[:3] for row in rows]
    ours = {digest for name, _, digest in listed if name.startswith(f"{registry}/")}
    return [name for name, _, digest in listed if digest in ours and name.startswith((f"{registry}/", "sha256:"))]


def purge(layout: ClusterLayout) -> int:
    """Forget every container and pod, and return how many there were; images stay."""
    found = _listed(layout, "containers", "ls", "-q")
    if found:
        shell.ask(client(layout, "tasks", "rm", "--force", *found), timeout=30)
        shell.ask(client(layout, "containers", "rm", *found), timeout=30)
    # A pod's lease has the pod's name, and keeps the snapshots of its image volumes.
    pods = _listed(layout, "leases", "ls", "-q")
    if pods:
        shell.ask(client(layout, "sandboxes", "rm", "--force", *pods), timeout=30)
        shell.ask(client(layout, "leases", "rm", "--sync", *pods), timeout=30)
    return len(found) + len(pods)


def _listed(layout: ClusterLayout, *words: str) -> list[str]:
    answer = shell.ask(client(layout, *words), timeout=10)
    return answer.out.splitlines() if answer.code == 0 else []


def load(layout: ClusterLayout, archive: pathlib.Path) -> None:
    """Import an image archive and unpack it, so that the first pod does not wait for that."""
    shell.run(client(layout, "images", "import", str(archive)), timeout=_IMPORT_SECONDS)


def load_from(layout: ClusterLayout, export: Sequence[str]) -> None:
    """Import what a command writes to its standard output."""
    shell.pipe(export, client(layout, "images", "import", "-"), timeout=_IMPORT_SECONDS)


def pause_archive(program: pathlib.Path, reference: str, target: pathlib.Path) -> pathlib.Path:
    """Write the archive of the sandbox image: one static program, as its entry point."""
    layer = _tar({"pause": program.read_bytes()}, mode=0o755)
    config = json.dumps(_pause_config(hashlib.sha256(layer).hexdigest())).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": [reference], "Layers": ["layer.tar"]}]).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(_tar({name: config, "layer.tar": layer, "manifest.json": manifest}, mode=0o644))
    return target


def _pause_config(layer: str) -> dict[str, object]:
    return {
        "architecture": _MACHINES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
    }


def _tar(files: dict[str, bytes], *, mode: int) -> bytes:
    """Pack files with no owner and no time, so that the same program gives the same image."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            packed.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
