"""Devices that are not there: as much of them as an engine's configuration code looks at.

cuda: eight H100 of 80 GiB, and Triton taken for usable. npu: eight Ascend 910B1 of 64 GiB; torch_npu itself needs
libraries of CANN, for which `standin.py` makes some that do nothing. cpu: nothing is pretended.
"""

import importlib
import os
import sys
from typing import Any

from lab.verdicts import standin

DEVICES = 8
H100, H100_GIB, H100_UNITS = "NVIDIA H100 80GB HBM3", 80, 132
ASCEND, ASCEND_GIB, ASCEND_CODE = "Ascend910B1", 64, 220
GIB = 1 << 30
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HUMMING_DISABLE_PARALLEL_BUILD": "1",
}


def pretend(platform: str) -> None:
    """Set the device up, before vLLM is imported."""
    os.environ.update(QUIET)
    {"cpu": cpu, "cuda": cuda, "npu": npu}[platform]()


def cpu() -> None:
    """CUDA's wheels run on a CPU too if this variable is set."""
    os.environ["VLLM_TARGET_DEVICE"] = "cpu"


class Properties:
    """What torch reports of a device, as far as it is needed."""

    def __init__(self, name: str, gib: int, units: int) -> None:
        self.name, self.total_memory, self.multi_processor_count = name, gib * GIB, units
        self.major, self.minor, self.warp_size, self.uuid = 9, 0, 32, None
        self.shared_memory_per_block_optin = self.shared_memory_per_multiprocessor = 232_448
        self.regs_per_multiprocessor, self.L2_cache_size = 65_536, 50 << 20
        self.max_threads_per_multi_processor = 2048
        self.cube_core_num, self.vector_core_num = 24, 48


class Utilities:
    """Triton's look at a device: sizes that an H100 has, and nothing to call."""

    def get_device_properties(self, _: int) -> dict[str, int]:
        return {
            "max_shared_mem": 232_448,
            "max_num_regs": 65_536,
            "multiprocessor_count": H100_UNITS,
            "warpSize": 32,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 2_619_000,
            "mem_bus_width": 5120,
        }

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: 0


class TritonDriver:
    """Triton's driver, for kernels that are declared and never run."""

    def __init__(self) -> None:
        self.utils = Utilities()

    def get_current_target(self) -> Any:
        return importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        return importlib.import_module("torch").device("cuda", 0)

    def get_device_interface(self) -> Any:
        return importlib.import_module("torch").cuda

    def get_benchmarker(self) -> Any:
        return lambda *_, **__: 0.0


def cuda() -> None:
    """torch, Triton, and the platform of vLLM that asks no driver."""
    standin.load("cuda")
    torch = importlib.import_module("torch")
    told = Properties(H100, H100_GIB, H100_UNITS)
    answers: dict[str, Any] = {
        "get_device_capability": (9, 0),
        "get_device_name": H100,
        "device_count": DEVICES,
        "is_available": True,
        "get_device_properties": told,
        "current_device": 0,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, constant(answer))
    backends = importlib.import_module("triton.backends").backends
    backends["nvidia"].driver.is_active = staticmethod(lambda: True)
    importlib.import_module("triton").runtime.driver.set_active(TritonDriver())
    platforms: Any = importlib.import_module("vllm.platforms")
    platforms._current_platform = hopper(
        importlib.import_module("vllm.platforms.cuda").NonNvmlCudaPlatform,
        importlib.import_module("vllm.platforms.interface").DeviceCapability(9, 0),
    )()


def constant(answer: Any) -> Any:
    """A function that always answers the same."""
    return lambda *_, **__: answer


def hopper(base: Any, capability: Any) -> Any:
    """The platform with an H100's answers."""

    def at_least(_: Any, wanted: Any, device_id: int = 0) -> bool:
        asked = wanted if isinstance(wanted, int) else wanted[0] * 10 + wanted[1]
        return bool(asked <= 90)

    answers: dict[str, Any] = {
        "get_device_capability": capability,
        "get_device_name": H100,
        "get_device_uuid": "GPU-00000000-0000-0000-0000-000000000000",
        "get_device_total_memory": H100_GIB * GIB,
        "is_fully_connected": True,
        "device_count": DEVICES,
        "num_compute_units": H100_UNITS,
        "is_integrated_gpu": False,
        "log_warnings": None,
    }
    members: dict[str, Any] = {name: classmethod(constant(answer)) for name, answer in answers.items()}
    return type("PretendedHopper", (base,), {**members, "has_device_capability": classmethod(at_least)})


def npu() -> None:
    """The real torch_npu and the real platform of vllm-ascend, with answers of a device in place of a driver's."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    standin.load("cann")
    torch, torch_npu = importlib.import_module("torch"), importlib.import_module("torch_npu")
    told = Properties(ASCEND, ASCEND_GIB, 24)
    answers: dict[str, Any] = {
        "device_count": DEVICES,
        "is_available": True,
        "get_device_name": ASCEND,
        "current_device": 0,
        "get_soc_version": ASCEND_CODE,
        "get_device_properties": told,
    }
    for name, answer in answers.items():
        setattr(torch.npu, name, constant(answer))
    torch_npu.npu.get_soc_version = constant(ASCEND_CODE)


if __name__ == "__main__":  # PLATFORM WORDS…: the engine's own command, such as `cuda serve --help`
    pretend(sys.argv[1])
    sys.argv[:2] = ["vllm"]
    importlib.import_module("vllm.entrypoints.cli.main").main()
