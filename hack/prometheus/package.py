"""Where the programs come from: the machine's own, or Debian's package, unpacked into the cache."""

import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable

from hack.cluster import paths, shell
from hack.cluster.errors import ClusterError

_PACKAGE = "prometheus"
_PROGRAMS = pathlib.Path("usr/bin")


def ensure(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the server, after fetching it where it is missing. Two callers fetch it once."""
    return _ensure("prometheus", say)


def promtool(say: Callable[[str], None] = print) -> pathlib.Path:
    """Return the path of the program that checks and tests rules; it comes with the server."""
    return _ensure("promtool", say)


def _ensure(name: str, say: Callable[[str], None]) -> pathlib.Path:
    if own := shutil.which(name):
        return pathlib.Path(own)
    target = paths.cache() / "prometheus"
    program = target / _PROGRAMS / name
    if not program.exists():
        target.mkdir(parents=True, exist_ok=True)
        with (target.parent / "prometheus.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not program.exists():
                _fetch(name, target, say)
    return program


def _fetch(name: str, target: pathlib.Path, say: Callable[[str], None]) -> None:
    if any(shutil.which(each) is None for each in ("apt-get", "dpkg-deb")):
        raise ClusterError(
            f"there is no program `{name}` on PATH, and without apt-get and dpkg-deb Debian's cannot be fetched: "
            "install one (https://prometheus.io/download)"
        )
    say(f"fetching Debian's package {_PACKAGE}")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        _download(folder)
        (archive,) = pathlib.Path(folder).glob("*.deb")
        shell.run(["dpkg-deb", "-x", str(archive), f"{folder}/unpacked"], timeout=120)
        shutil.rmtree(target)
        os.rename(f"{folder}/unpacked", target)


def _download(folder: str) -> None:
    # As root apt would fetch as a user who may not write to the folder, and warn of it.
    download = ["env", f"--chdir={folder}", "apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", _PACKAGE]
    if shell.ask(download, timeout=300).code != 0:
        # There are no lists yet, or they name a version that the mirror no longer has.
        shell.run(["apt-get", "update", "-qq"], timeout=300)
        shell.run(download, timeout=300)
