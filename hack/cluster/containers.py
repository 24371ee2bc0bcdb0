"""containerd's command-line client, for the few things that the cluster asks of it."""

import pathlib
from collections.abc import Sequence

from hack.cluster import binaries, shell
from hack.cluster.paths import Layout

_IMPORT_SECONDS = 900


def client(layout: Layout, *words: str) -> list[str]:
    """Prefix a `ctr` command with the cluster's socket and the namespace that kubelet uses."""
    return [str(binaries.ensure("ctr")["ctr"]), f"--address={layout.socket}", "--namespace=k8s.io", *words]


def answers(layout: Layout) -> bool:
    """Tell whether containerd serves."""
    return shell.ask(client(layout, "version"), timeout=5).code == 0


def image_names(layout: Layout) -> list[str]:
    """List the images on the node."""
    return shell.run(client(layout, "images", "ls", "-q")).split()


def purge(layout: Layout) -> int:
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


def _listed(layout: Layout, *words: str) -> list[str]:
    answer = shell.ask(client(layout, *words), timeout=10)
    return answer.out.splitlines() if answer.code == 0 else []


def load(layout: Layout, archive: pathlib.Path) -> None:
    """Import an image archive and unpack it, so that the first pod does not wait for that."""
    shell.run(client(layout, "images", "import", str(archive)), timeout=_IMPORT_SECONDS)


def load_from(layout: Layout, export: Sequence[str]) -> None:
    """Import what a command writes to its standard output."""
    shell.pipe(export, client(layout, "images", "import", "-"), timeout=_IMPORT_SECONDS)
