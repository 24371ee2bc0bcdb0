"""The cluster's own network: a namespace with nothing but loopback in it and no way out.

It is held open as a mounted file in the run folder: the machine's list of namespaces stays as it is."""

import os
import pathlib
from collections.abc import Sequence

from hack.cluster import shell

NODE = "198.18.0.1"
PODS = "198.18.1.0/24"
# The API server keeps its first range for ever, and a /24 would stop at 253 services.
SERVICES = "198.19.0.0/20"
API_SERVICE = "198.19.0.1"


def entered(namespace: pathlib.Path, argv: Sequence[str]) -> list[str]:
    """Prefix a command so that it runs inside; `ip netns exec` would also hide the cgroup mounts."""
    return ["nsenter", f"--net={namespace}", "--", *argv]


def create(namespace: pathlib.Path) -> None:
    """Make the namespace, with the node's address on loopback and a local route for services."""
    namespace.parent.mkdir(parents=True, exist_ok=True)
    namespace.touch()
    shell.run(["unshare", f"--net={namespace}", "true"])
    for command in setup_commands():
        shell.run(entered(namespace, command))


def setup_commands() -> list[list[str]]:
    """What to run inside a fresh namespace."""
    return [
        ["ip", "link", "set", "lo", "up"],
        # Kernels without the `dummy` device are common; loopback carries the address as well.
        ["ip", "addr", "add", f"{NODE}/32", "dev", "lo"],
        # There is no default route, and a packet needs some route before kube-proxy's rules rewrite it.
        ["ip", "route", "add", SERVICES, "dev", "lo", "src", NODE],
        ["sysctl", "-qw", "net.ipv4.ip_forward=1"],
    ]


def inode(namespace: pathlib.Path) -> int | None:
    """The number by which the kernel knows the namespace; None for the empty file that is left without one."""
    try:
        found = namespace.stat()
    except FileNotFoundError:
        return None
    return found.st_ino if found.st_dev == os.stat("/proc/self/ns/net").st_dev else None


def members(namespace: pathlib.Path) -> list[int]:
    """List the pids of all processes inside, no matter which process started them."""
    wanted = inode(namespace)
    if wanted is None:
        return []
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and _lives_in(int(entry), wanted)]


def _lives_in(pid: int, wanted: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == wanted
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
