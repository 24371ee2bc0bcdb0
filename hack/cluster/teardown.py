"""Takes the single node down: processes, containers, mounts, namespaces, cgroups, files.

Every step works on what it finds: a node that was half started, or half taken down, needs no special case."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import time
from collections.abc import Callable

from hack.cluster import binaries, cgroups, containers, netns, process
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout

_DETACH = 2
_LIBC = ctypes.CDLL(None, use_errno=True)
_LAST = ("containerd", "kube-apiserver", "etcd")
_CNI_RESULTS = pathlib.Path("/var/lib/cni/results")
_CONTAINER_LOGS = pathlib.Path("/var/log/containers")


def leftovers(layout: ClusterLayout) -> bool:
    """Return whether anything of a node exists."""
    return layout.run.exists() or cgroups.exists(layout.name)


def take_down(layout: ClusterLayout) -> None:
    """Remove everything but images and logs."""
    identities = process.recall_all(layout.processes)
    process.stop((who for name, who in identities.items() if name not in _LAST), grace=3.0)
    # Nothing is built on the way down: what is not forgotten now is forgotten at the next start.
    if process.alive(identities.get("containerd")) and binaries.path("ctr").exists():
        containers.purge(layout)
    # What they keep is thrown away below: there is nothing to wait for.
    process.stop((who for name, who in identities.items() if name in _LAST), grace=1.0)
    _end_everyone(layout)
    unmount(layout.run)
    if cgroups.exists(layout.name):
        _retry(lambda: cgroups.remove(layout.name))
    forget_traces(layout)
    remove_run(layout)


def _end_everyone(layout: ClusterLayout) -> None:
    """End every process in the pods' cgroup or in the network namespace: pods, shims, and processes that no file names.

    A container that was being started when its runtime was stopped appears late. So the search is repeated."""
    found: list[int] = []
    for _ in range(100):
        found = [*cgroups.pids(layout.name), *netns.members(layout.namespace)]
        if not found:
            return
        _kill(found)
        time.sleep(0.05)
    raise ClusterError(f"processes {found} of the cluster do not end, though they were killed: they hang in the kernel")


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def forget_traces(layout: ClusterLayout) -> None:
    """Remove the files that containerd, CNI and kubelet keep in places of their own choice."""
    for note in (layout.run / "containerd").glob("io.containerd.runtime.v2.task/*/*/bootstrap.json"):
        pathlib.Path(json.loads(note.read_text())["address"].removeprefix("unix://")).unlink(missing_ok=True)
    for result in _CNI_RESULTS.glob(f"{layout.name}-*-eth0"):
        sandbox = result.name.removeprefix(f"{layout.name}-").removesuffix("-eth0")
        result.unlink(missing_ok=True)
        (_CNI_RESULTS / f"cni-loopback-{sandbox}-lo").unlink(missing_ok=True)
    for link in _CONTAINER_LOGS.glob("*.log"):
        if link.is_symlink() and layout.run in pathlib.Path(os.readlink(link)).parents:
            link.unlink(missing_ok=True)


def remove_run(layout: ClusterLayout) -> None:
    """Remove the run folder, but never through a mount: that would remove a PVC's files too."""
    if left := mounts(layout.run):
        raise ClusterError(f"{left[0]} is still mounted: unmount it by hand and run `down` again")
    if layout.run.exists():
        _retry(lambda: shutil.rmtree(layout.run))


def _retry(action: Callable[[], None]) -> None:
    """A killed process may still hold its cgroup, or write a last file, for a moment."""
    for _ in range(40):
        try:
            action()
        except OSError:
            time.sleep(0.05)
        else:
            return
    action()


def mounts(folder: pathlib.Path, mountinfo: str | None = None) -> list[pathlib.Path]:
    """List the mount points at and below a folder, last mounted first."""
    text = pathlib.Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    points = [pathlib.Path(_unescaped(line.split()[4])) for line in text.splitlines()]
    return [point for point in reversed(points) if point == folder or folder in point.parents]


def filesystem(path: pathlib.Path, mountinfo: str | None = None) -> str:
    """Return the type of the file system that a path lies on."""
    text = pathlib.Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    kinds = {}
    for line in text.splitlines():
        where, _, what = line.partition(" - ")
        kinds[pathlib.Path(_unescaped(where.split()[4]))] = what.split()[0]
    covering = [point for point in kinds if point == path or point in path.parents]
    return kinds[max(covering, key=lambda point: len(point.parts))]


def unmount(folder: pathlib.Path) -> None:
    """Unmount everything at and below a folder, also what is still in use."""
    for point in mounts(folder):
        if _LIBC.umount2(os.fsencode(point), _DETACH) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(point))


def _unescaped(field: str) -> str:
    """The kernel writes spaces and the like as octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
