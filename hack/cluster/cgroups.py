"""The cgroup below which kubelet keeps every pod, so that `down` finds all of their processes.

Works on the unified hierarchy (v2) and on the older one, where each controller has a tree of its own."""

import pathlib

from hack.cluster.errors import ClusterError

_ROOT = pathlib.Path("/sys/fs/cgroup")
# Kubelet refuses a group that lacks any of these while the root has it.
_CONTROLLERS = ("cpuset", "cpu", "hugetlb", "io", "memory", "pids")
_WEIGHTS = {"cpu.shares": 4 * 1024, "cpu.weight": 4 * 100}
"""The share of the CPU, of v1 and of v2: four times that of one process. The usual one counts all pods together as one
process of the machine, and they starve beside a compiler or other tests.
"""


def hierarchies(mounts: str | None = None) -> list[pathlib.Path]:
    """Return the mount points of the cgroup trees in which kubelet makes its groups."""
    text = pathlib.Path("/proc/self/mounts").read_text() if mounts is None else mounts
    rows = [line.split() for line in text.splitlines()]
    older = [pathlib.Path(row[1]) for row in rows if row[2] == "cgroup"]
    # A v2 tree beside older ones carries no controllers, but the runtime makes groups in it all the same.
    return older + [pathlib.Path(row[1]) for row in rows if row[2] == "cgroup2"]


def create(name: str) -> None:
    """Make the group in every tree; kubelet refuses to start without it."""
    for tree in hierarchies():
        if (tree / "cgroup.controllers").exists():
            _delegate(tree)
        group = tree / name
        group.mkdir(exist_ok=True)
        _inherit_cpuset(tree, group)
        _weigh(group)


def pids(name: str) -> list[int]:
    """List every process in the group and below it."""
    files = [file for group in _groups(name) for file in group.rglob("cgroup.procs")]
    return sorted({int(line) for file in files for line in _read(file).split()})


def remove(name: str) -> None:
    """Remove the group and all below it, deepest first; the processes must have ended."""
    for group in _groups(name):
        folders = [folder for folder in group.rglob("*") if folder.is_dir()]
        for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
            folder.rmdir()
        group.rmdir()


def exists(name: str) -> bool:
    """Return whether any tree still has the group."""
    return bool(_groups(name))


def _groups(name: str) -> list[pathlib.Path]:
    return [tree / name for tree in hierarchies() if (tree / name).is_dir()]


def _delegate(tree: pathlib.Path) -> None:
    """Let groups below the root of a v2 tree use the controllers that it has."""
    offered = (tree / "cgroup.controllers").read_text().split()
    for controller in _CONTROLLERS:
        if controller not in offered:
            continue
        try:
            (tree / "cgroup.subtree_control").write_text(f"+{controller}")
        except OSError as refusal:
            raise ClusterError(
                f"{tree} does not hand its {controller} controller on ({refusal.strerror}): kubelet needs it. "
                "Inside a container, the cgroup of that container must be delegated to it"
            ) from refusal


def _inherit_cpuset(tree: pathlib.Path, group: pathlib.Path) -> None:
    """A v1 cpuset group starts with no CPU at all, and nothing can be put into it."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (tree / "cgroup.controllers").exists() or not (group / name).exists():
            continue
        (group / name).write_text((tree / name).read_text())


def _weigh(group: pathlib.Path) -> None:
    for name, weight in _WEIGHTS.items():
        if (group / name).exists():
            (group / name).write_text(str(weight))


def _read(file: pathlib.Path) -> str:
    try:
        return file.read_text()
    except (FileNotFoundError, OSError):
        return ""
