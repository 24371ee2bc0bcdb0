"""Which processes a process has started, and those which they started, from the kernel's own list."""

from __future__ import annotations

import os
from pathlib import Path

_PROCESSES = Path("/proc")


def descendants(root: int, processes: Path = _PROCESSES) -> list[int]:
    """Return the process ids below one, parents before their children; what ends meanwhile is left out."""
    children: dict[int, list[int]] = {}
    # Not glob: it asks whether each file is there, and raises what a process that ends in that moment answers (ESRCH).
    for name in os.listdir(processes):
        if not name.isdecimal():
            continue
        try:
            stat = (processes / name / "stat").read_text(encoding="utf-8", errors="replace")
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(name))
        except (OSError, IndexError, ValueError):
            continue
    below = sorted(children.get(root, ()))
    for each in below:
        below += sorted(children.get(each, ()))
    return below
