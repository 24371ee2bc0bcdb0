"""Which processes a process has started, and those which they started, from the kernel's own list."""

from __future__ import annotations

from pathlib import Path

_PROCESSES = Path("/proc")


def descendants(root: int, processes: Path = _PROCESSES) -> list[int]:
    """Return the process ids below one, parents before their children; what ends meanwhile is left out."""
    children: dict[int, list[int]] = {}
    for stat in processes.glob("[0-9]*/stat"):
        try:
            columns = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            children.setdefault(int(columns[1]), []).append(int(stat.parent.name))
        except (OSError, IndexError, ValueError):
            continue
    below = sorted(children.get(root, ()))
    for each in below:
        below += sorted(children.get(each, ()))
    return below
