"""Programs of Debian's packages, unpacked into the cache: nothing is installed, so root is not needed."""

import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from hack.cluster import shell
from hack.cluster.errors import ClusterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be unpacked, and the message if it cannot be.

    packages: Debian's names. file: a path in the unpacked tree; if it exists, the tree is complete. needs: whether the
    dependencies that the machine lacks are unpacked too. absent: what the machine itself lacks, as the first half of a
    sentence. way_out: what the reader can do, such as "install one". size: for the reader, such as "100 MB".
    """

    packages: tuple[str, ...]
    file: pathlib.Path
    absent: str
    way_out: str
    needs: bool = False
    size: str = ""


def unpack(
    target: pathlib.Path,
    wanted: Wanted,
    *,
    say: Callable[[str], None] = print,
    finish: Callable[[pathlib.Path], None] = lambda tree: None,
) -> pathlib.Path:
    """Fetches and unpacks into a folder of the cache unless it is done; returns the path of the wanted file there.

    Two callers fetch once; one that is stopped half-way leaves nothing behind. finish: adds files of one's own to the
    tree before it is moved to its place. Raises ClusterError where the packages cannot be had.
    """
    file = target / wanted.file
    if not file.exists():
        target.mkdir(parents=True, exist_ok=True)
        with (target.parent / f"{target.name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not file.exists():
                _fetch(target, wanted, say, finish)
    return file


def _fetch(
    target: pathlib.Path, wanted: Wanted, say: Callable[[str], None], finish: Callable[[pathlib.Path], None]
) -> None:
    if any(shutil.which(each) is None for each in ("apt-get", "dpkg-deb")):
        raise ClusterError(
            f"{wanted.absent}, and without apt-get and dpkg-deb Debian's cannot be fetched: {wanted.way_out}"
        )
    say(f"fetching Debian's package {wanted.packages[0]}{wanted.size and f' (about {wanted.size})'}")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        _download(folder, wanted)
        unpacked = pathlib.Path(folder) / "unpacked"
        for archive in sorted(pathlib.Path(folder).glob("*.deb")):
            shell.run(["dpkg-deb", "-x", str(archive), str(unpacked)], timeout=120)
        finish(unpacked)
        shutil.rmtree(target)
        os.rename(unpacked, target)


def _download(folder: str, wanted: Wanted) -> None:
    if not _downloading(folder, wanted):
        return
    # There are no lists yet, or they name a version that the mirror no longer has.
    shell.ask(["apt-get", "update", "-qq"], timeout=300)
    if said := _downloading(folder, wanted):
        raise ClusterError(f"apt-get cannot download {' and '.join(wanted.packages)} here: {wanted.way_out} ({said})")


def _downloading(folder: str, wanted: Wanted) -> str:
    """Downloads into the folder; returns why not, in the words of apt-get, empty where it did."""
    packages = list(wanted.packages)
    if wanted.needs:
        planned = shell.ask(["apt-get", "-s", "-y", "--no-install-recommends", "install", *packages], timeout=120)
        if planned.code != 0:
            return planned.err.strip()[-300:] or "nothing said"
        lines = (line.split() for line in planned.out.splitlines())
        packages = [words[1] for words in lines if words and words[0] == "Inst"]
    if not packages:
        return "they are installed, but not on PATH"
    # As root apt would fetch as a user who may not write to the folder, and warn of it.
    download = ["env", f"--chdir={folder}", "apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages]
    answer = shell.ask(download, timeout=600)
    return "" if answer.code == 0 else answer.err.strip()[-300:] or "nothing said"
