"""The accelerator that something runs on, by its devices, its image and its variables."""

from collections.abc import Iterator
from typing import Any, Final

from specdec_engine.accelerators import Accelerator
from specdec_operator.importing.inference_service import Parts

_DEVICES: Final = (("huawei.com/", Accelerator.ASCEND), ("nvidia.com/", Accelerator.NVIDIA))
_OTHERS: Final = ("amd.com/", "gpu.intel.com/", "google.com/tpu", "habana.ai/", "aws.amazon.com/neuron")
"""Devices that no runtime of the operator's is for."""
_CPU: Final = "VLLM_CPU_KVCACHE_SPACE"


def accelerator_of(parts: Parts) -> tuple[Accelerator, str]:
    """The accelerator, and why none of the operator's runtimes serves there; empty where one does."""
    asked = list(_asked(parts.spec.get("resources") or {}))
    for prefix, accelerator in _DEVICES:
        if any(each.startswith(prefix) for each in asked):
            return accelerator, ""
    if other := next((each for each in asked if each.startswith(_OTHERS)), None):
        way_out = f"guard it where it is: `specdec guard isvc/{parts.name}`"
        return Accelerator.NVIDIA, f"resources: {other}: there are runtimes for NVIDIA, Ascend and CPUs: {way_out}"
    env = [each.get("name") for each in parts.spec.get("engine", {}).get("env", ()) if isinstance(each, dict)]
    if _CPU in env or "cpu" in parts.image:
        return Accelerator.CPU, ""
    return (Accelerator.ASCEND if "ascend" in parts.image else Accelerator.NVIDIA), ""


def _asked(resources: dict[str, Any]) -> Iterator[str]:
    for each in ("limits", "requests"):
        amounts = resources.get(each)
        yield from (str(name) for name in (amounts if isinstance(amounts, dict) else ()))
