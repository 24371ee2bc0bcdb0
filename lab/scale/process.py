"""What a process takes, as the kernel counts it."""

import os
import pathlib
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """CPU seconds so far, and resident memory in MiB, of one process."""

    cpu: float
    rss: float


def taken(pid: int) -> Taken:
    """As of now."""
    folder = pathlib.Path("/proc") / str(pid)
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / _TICKS
    (line,) = [each for each in (folder / "status").read_text().splitlines() if each.startswith("VmRSS:")]
    return Taken(cpu=cpu, rss=int(line.split()[1]) / 1024)
