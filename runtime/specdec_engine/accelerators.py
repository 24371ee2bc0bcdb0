"""What an engine computes on."""

from __future__ import annotations

from enum import StrEnum


class Accelerator(StrEnum):
    """What the engine runs on; each has its ClusterServingRuntime."""

    NVIDIA = "nvidia"
    ASCEND = "ascend"
    CPU = "cpu"
