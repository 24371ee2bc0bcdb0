"""What the numbers were measured on. It reads, and never guesses: an unknown processor is called unknown."""

import os
import pathlib
import platform
import re
from dataclasses import dataclass

_CPUINFO = pathlib.Path("/proc/cpuinfo")
_MODEL = re.compile(r"^model name\s*: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Cores, main memory in GiB, and the processor's own name."""

    cores: int
    memory_gib: float
    cpu: str


def describe() -> Machine:
    """Look at this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = _CPUINFO.read_text(encoding="utf-8") if _CPUINFO.exists() else ""
    return Machine(cores=os.cpu_count() or 1, memory_gib=round(memory / 2**30, 1), cpu=cpu_model(text))


def cpu_model(cpuinfo: str) -> str:
    """The processor's name in the words of /proc/cpuinfo."""
    found = _MODEL.search(cpuinfo)
    return found[1].strip() if found else platform.processor() or "unknown"
