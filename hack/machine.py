"""What numbers were measured on: machine, commit, date. It reads, and never guesses: what is unknown is called so."""

import os
import pathlib
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

_CPUINFO = pathlib.Path("/proc/cpuinfo")
_ROOT: Final = pathlib.Path(__file__).parents[1]
_CODE: Final = (".", ":(exclude)docs", ":(exclude)*.md")
"""What makes a commit another one: not docs/ and README.md, where a benchmark writes what it measured."""
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


def origin(folder: pathlib.Path = _ROOT) -> dict[str, Any]:
    """What each file of measured numbers holds as `origin`: commit of the checkout, UTC date, machine, system."""
    system = {"kernel": platform.release(), "python": platform.python_version()}
    return {"commit": commit(folder), "at": datetime.now(UTC).strftime("%Y-%m-%d"), **asdict(describe()), **system}


def commit(folder: pathlib.Path = _ROOT) -> str:
    """The short commit of a checkout, with `-dirty` if its code differs from it; `unknown` outside of a checkout."""
    found = _git(folder, "rev-parse", "--short=7", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--", *_CODE)
    return f"{found}{'-dirty' if changed else ''}" if found else "unknown"


def hardware(known: Mapping[str, Any]) -> str:
    """One line about a machine, from `asdict(describe())` or an origin. device: of an accelerator, if there is one."""
    device = f"{known['device']}; " if known.get("device") else ""
    return f"{device}{known['cpu']}, {known['cores']} cores, {known['memory_gib']} GiB"


def sentence(found: Mapping[str, Any]) -> str:
    """Of a file of measured numbers: when, from which commit and on what it was measured.

    A file from before the origin was recorded may have `at`, and `machine` as text or in parts.
    """
    known = found.get("origin")
    if known is not None:
        system = f"Linux {known['kernel']}, Python {known['python']}"
        return f"Measured on {known['at']} at commit {known['commit']}: {hardware(known)}, {system}."
    old = found.get("machine", "")
    where = old if isinstance(old, str) else hardware(old)
    missing = "Date and commit were not recorded."
    when = f"Measured on {found['at']}; the commit was not recorded." if "at" in found else missing
    return f"{when} Machine: {where}." if where else when


def _git(folder: pathlib.Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=False)
    except OSError:  # no git on this machine
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
