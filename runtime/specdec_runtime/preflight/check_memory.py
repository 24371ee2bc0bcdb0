"""The weights of both models against the memory of one device. It only speaks where the figures are certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.rule import Finding, Severity
from specdec_runtime.preflight.finding import FolderRule
from specdec_runtime.preflight.weights import BITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.case import PreflightCase

SMALL: Final = FolderRule(
    id="MemoryTooSmall",
    severity=Severity.REFUSED,
    when="inside the image, on NVIDIA (by the driver) or a CPU (by the control group); weights are not quantised "
    "during loading, not offloaded, and split only by tensor and pipeline size",
    says="The weights of target and draft, divided by the number of devices, fit. On a CPU the KV cache fits as well.",
    without=(
        "`torch.OutOfMemoryError` after minutes of loading; on a CPU the kernel kills the process without a log line."
    ),
    source="facts of the device",
)
TIGHT: Final = FolderRule(
    id="MemoryTight",
    severity=Severity.WARNED,
    when="as above",
    says="They leave a tenth of the engine's budget for the KV cache. On a CPU this memory is free now.",
    without="`No available memory for the cache blocks`, or the context is too short.",
    source="facts of the device",
)
NOT_MEASURED: Final = FolderRule(
    id="MemoryNotMeasured",
    severity=Severity.NOTED,
    when="Ascend",
    says="The memory of the device is not checked.",
    without="-",
    source="-",
)
RULES: Final = (SMALL, TIGHT, NOT_MEASURED)
_ROOM: Final = 0.1
_GIB: Final = 2**30


def memory(case: PreflightCase) -> Iterator[Finding]:
    """Both models fit."""
    if case.around.accelerator is Accelerator.ASCEND:
        yield NOT_MEASURED.found(
            "--model", "the memory of an Ascend device was not checked: no measurements exist; watch the start"
        )
    device = case.around.memory
    if device is None or not case.load_weights or case.flags.spreads or case.flags.quantization:
        return
    if case.around.accelerator is Accelerator.CPU:
        yield from _on_cpu(case)
        return
    devices = case.flags.tensor_parallel * case.flags.pipeline_parallel
    needed, budget = weights(case) / devices, device.total * case.flags.utilization
    sizes = f"the weights need {_gib(needed)} on each of {devices} devices, and {device.where} has {_gib(device.total)}"
    if needed > device.total:
        yield SMALL.found(
            "--model",
            f"{sizes}: the memory is too small; raise --tensor-parallel-size, or use a smaller or quantised model",
        )
    elif needed > budget * (1 - _ROOM):
        yield TIGHT.found(
            "--model",
            f"{sizes}, of which --gpu-memory-utilization allows {_gib(budget)}: less than a tenth is left for the KV "
            "cache; raise --tensor-parallel-size, or use a smaller draft",
        )


def _on_cpu(case: PreflightCase) -> Iterator[Finding]:
    device = case.around.memory
    if device is None:
        return
    needed = weights(case) + (case.flags.cache or case.around.cache or 0)
    sizes = f"weights and KV cache need {_gib(needed)}, and {device.where} has {_gib(device.total)}"
    if needed > device.total:
        yield SMALL.found(
            "--model",
            f"{sizes}: the memory is too small; raise the pod's memory limit, or lower VLLM_CPU_KVCACHE_SPACE",
        )
    elif needed > device.free:
        yield TIGHT.found(
            "--model",
            f"{sizes}, of which {_gib(device.free)} are free now: the start may fail; "
            "raise the pod's memory limit, or lower VLLM_CPU_KVCACHE_SPACE",
        )


def weights(case: PreflightCase) -> int:
    """Return the bytes of both models' weights as the engine holds them: what is stored in f32 it halves."""
    halves = case.flags.dtype not in {"float32", "float"}
    return sum(_bytes(each, halves=halves) for each in case.artifacts)


def _bytes(artifact: ModelFolder, *, halves: bool) -> int:
    bits = (
        each.elements * (16 if halves and each.dtype == "F32" else BITS.get(each.dtype, 8))
        for each in (artifact.tensors or {}).values()
    )
    return sum(bits) // 8


def _gib(size: float) -> str:
    return f"{size / _GIB:.2f} GiB"
