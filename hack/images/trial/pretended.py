"""A device that is not there: answers in place of a driver's, for the engine's configuration only. No kernel runs.

Loaded before vLLM. nvidia: eight H100 of 80 GiB. ascend: eight Ascend 910B1 of 64 GiB.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

DEVICES: Final = 8
_GIB: Final = 2**30
_HOPPER: Final = {
    "name": "NVIDIA H100 80GB HBM3",
    "major": 9,
    "minor": 0,
    "total_memory": 80 * _GIB,
    "multi_processor_count": 132,
    "warp_size": 32,
    "shared_memory_per_block_optin": 232448,
    "shared_memory_per_multiprocessor": 233472,
    "max_threads_per_multi_processor": 2048,
    "regs_per_multiprocessor": 65536,
    "L2_cache_size": 50 * 2**20,
}
_NPU: Final = {
    "name": "Ascend910B1",
    "total_memory": 64 * _GIB,
    "cube_core_num": 24,
    "vector_core_num": 48,
    "uuid": None,
}
_NPU_GENERATION: Final = 220
"""What torch-npu calls an Ascend 910B1."""


def always(answer: Any) -> Callable[..., Any]:
    """A function that gives one answer, whatever it is asked."""
    return lambda *_, **__: answer


class TritonDriver:
    """As much of Triton's driver as a look at the device takes."""

    class utils:  # noqa: N801 (Triton's own name)
        """The numbers that Triton asks a driver for."""

        get_device_properties = staticmethod(always({"max_shared_mem": 232448, "multiprocessor_count": 132}))

    def __init__(self, target: Any, torch: Any) -> None:
        self.get_current_target = always(target)
        self.get_current_device = always(0)
        self.get_current_stream = always(0)
        self.get_active_torch_device = always(torch.device("cuda", 0))
        self.get_device_interface = always(torch.cuda)
        self.get_benchmarker = always(always(0.0))


def nvidia() -> None:
    """PyTorch, Triton and vLLM's platform see eight H100."""
    torch: Any = importlib.import_module("torch")
    properties = SimpleNamespace(**_HOPPER)
    known = {
        "is_available": True,
        "device_count": DEVICES,
        "current_device": 0,
        "get_device_capability": (9, 0),
        "get_device_name": _HOPPER["name"],
        "get_device_properties": properties,
    }
    for name, answer in known.items():
        setattr(torch.cuda, name, always(answer))
    _triton(torch)
    platforms: Any = importlib.import_module("vllm.platforms")
    interface: Any = importlib.import_module("vllm.platforms.interface")
    cuda: Any = importlib.import_module("vllm.platforms.cuda")
    platforms._current_platform = platform(cuda.NonNvmlCudaPlatform, interface.DeviceCapability(9, 0))()


def _triton(torch: Any) -> None:
    importlib.import_module("triton.backends").backends["nvidia"].driver.is_active = staticmethod(always(True))
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)
    importlib.import_module("triton").runtime.driver.set_active(TritonDriver(target, torch))


def platform(base: type, capability: Any) -> type:
    """vLLM's platform for CUDA without its driver's library, with answers in place of a device's."""
    answers: dict[str, Any] = {
        "get_device_capability": capability,
        "get_device_name": _HOPPER["name"],
        "get_device_uuid": "GPU-00000000-0000-0000-0000-000000000000",
        "get_device_total_memory": _HOPPER["total_memory"],
        "is_fully_connected": True,
        "device_count": DEVICES,
        "num_compute_units": _HOPPER["multi_processor_count"],
        "is_integrated_gpu": False,
        "log_warnings": None,
    }

    def at_least(_: type, wanted: Any, device_id: int = 0) -> bool:
        number = wanted if isinstance(wanted, int) else wanted[0] * 10 + wanted[1]
        return bool(number <= 90)

    body: dict[str, Any] = {name: classmethod(always(answer)) for name, answer in answers.items()}
    return type("PretendedHopper", (base,), {**body, "has_device_capability": classmethod(at_least)})


def ascend() -> None:
    """The real torch-npu, on stand-ins for CANN's libraries, sees eight Ascend 910B1."""
    torch: Any = importlib.import_module("torch")
    torch_npu: Any = importlib.import_module("torch_npu")
    known = {
        "is_available": True,
        "device_count": DEVICES,
        "current_device": 0,
        "get_device_name": _NPU["name"],
        "get_soc_version": _NPU_GENERATION,
        "get_device_properties": SimpleNamespace(**_NPU),
    }
    for name, answer in known.items():
        setattr(torch.npu, name, always(answer))
    torch_npu.npu.get_soc_version = always(_NPU_GENERATION)


DEVICE: Final = {"nvidia": nvidia, "ascend": ascend}
