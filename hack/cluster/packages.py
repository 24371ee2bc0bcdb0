"""The distribution's share: programs that are not built here. Installs what Debian lacks, or names it."""

import os
import shutil
from collections.abc import Callable

from hack.cluster import node, shell
from hack.cluster.errors import ClusterError

# program -> Debian package
PROGRAMS = {
    "runc": "runc",
    "iptables": "iptables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "openssl": "openssl",
    "sysctl": "procps",
}
_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
_PLUGIN_PACKAGE = "containernetworking-plugins"


def missing() -> list[str]:
    """Return the Debian packages that this machine lacks."""
    wanted = {package for program, package in PROGRAMS.items() if shutil.which(program, path=search_path()) is None}
    if not all((node.CNI_PLUGINS / plugin).exists() for plugin in _PLUGINS):
        wanted.add(_PLUGIN_PACKAGE)
    return sorted(wanted)


def search_path() -> str:
    """PATH with the system folders, which a plain `su` leaves out."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def ensure(say: Callable[[str], None]) -> None:
    """Install what is missing."""
    wanted = missing()
    if not wanted:
        return
    if shutil.which("apt-get") is None:
        raise ClusterError(f"the local node needs {', '.join(wanted)} (names of Debian packages): install them first")
    say(f"installing {', '.join(wanted)}")
    install(*wanted)
    if left := missing():
        raise ClusterError(f"apt-get installed {', '.join(wanted)}, yet {', '.join(left)} still cannot be found")


def install(*wanted: str) -> None:
    """Have apt-get install packages."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *wanted]
    if shell.ask(command, timeout=600, env=environment).code != 0:
        # There is no list, or one that is a few weeks old and names versions that the mirror no longer has.
        shell.run(["apt-get", "update", "-qq"], timeout=300, env=environment)
        shell.run(command, timeout=600, env=environment)
