"""Asks the NVIDIA driver or the kernel what the engine may have: memory, and which CUDA. It decides nothing."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NVML: Final = "libnvidia-ml.so.1"
_CGROUPS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_PEAKS: Final = (Path("/sys/fs/cgroup/memory.peak"), Path("/sys/fs/cgroup/memory/memory.max_usage_in_bytes"))
_KERNEL: Final = Path("/proc/meminfo")


@dataclass(frozen=True, kw_only=True, slots=True)
class FreeMemory:
    """What one device, or the container, has. Bytes; `where` is the words for it."""

    where: str
    total: int
    free: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NvidiaDriver:
    """The node's NVIDIA driver: its own version, and the newest CUDA that it runs, as major and minor."""

    version: str
    cuda: tuple[int, int]


class _NvmlMemory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


def nvidia(library: str = _NVML) -> FreeMemory | None:
    """Return the memory of the smallest visible NVIDIA device; None where there is no driver or no device."""
    try:
        nvml = ctypes.CDLL(library)
        return _smallest(nvml) if nvml.nvmlInit_v2() == 0 else None
    except (OSError, AttributeError):
        return None


def driver(library: str = _NVML) -> NvidiaDriver | None:
    """Return the versions that the NVIDIA driver reports; None if there is no driver, or if it does not report them."""
    try:
        nvml = ctypes.CDLL(library)
        return _driver(nvml) if nvml.nvmlInit_v2() == 0 else None
    except (OSError, AttributeError):
        return None


def _driver(nvml: ctypes.CDLL) -> NvidiaDriver | None:
    number, name = ctypes.c_int(), ctypes.create_string_buffer(80)
    told = nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)) == 0 and number.value > 0
    named = nvml.nvmlSystemGetDriverVersion(name, len(name)) == 0
    nvml.nvmlShutdown()
    if not told:
        return None
    # 13000 is CUDA 13.0, 12080 is 12.8.
    cuda = (number.value // 1000, number.value % 1000 // 10)
    return NvidiaDriver(version=name.value.decode(errors="replace") if named else "unknown", cuda=cuda)


def _smallest(nvml: ctypes.CDLL) -> FreeMemory | None:
    count = ctypes.c_uint()
    devices: list[FreeMemory] = []
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0:
        for number in range(count.value):
            device, memory = ctypes.c_void_p(), _NvmlMemory()
            if nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(device)):
                continue
            if nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0:
                devices.append(FreeMemory(where=f"NVIDIA device {number}", total=memory.total, free=memory.free))
    nvml.nvmlShutdown()
    return min(devices, key=lambda each: each.total, default=None)


def most_taken(peaks: tuple[Path, ...] = _PEAKS) -> int | None:
    """Return the most bytes that this container has taken, files that it read included; None if they are not known."""
    return next((each for each in map(_limit, peaks) if each), None)


def host(kernel: Path = _KERNEL, cgroups: tuple[Path, ...] = _CGROUPS) -> FreeMemory | None:
    """Return how much of the host's memory the container may use; None if the kernel does not report it."""
    try:
        lines = kernel.read_text(encoding="utf-8")
    except OSError:
        return None
    sizes = {name: int(size) * 1024 for name, size in re.findall(r"^(\w+): +(\d+) kB$", lines, re.MULTILINE)}
    if "MemTotal" not in sizes:
        return None
    limit = min((each for each in map(_limit, cgroups) if each), default=sizes["MemTotal"])
    total = min(limit, sizes["MemTotal"])
    free = min(total, sizes.get("MemAvailable", total))
    return FreeMemory(where="this container" if limit < sizes["MemTotal"] else "this host", total=total, free=free)


def _limit(path: Path) -> int | None:
    """Return a control group's limit in bytes, or None where it sets none."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
