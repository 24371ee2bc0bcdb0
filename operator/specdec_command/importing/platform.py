"""The accelerator that something runs on, by its devices, its image and its variables."""

from collections.abc import Iterator
from typing import Any, Final

from specdec_command.importing.inference_service import InferenceServiceParts
from specdec_command.importing.manifest import Lost
from specdec_engine.accelerators import Accelerator

_DEVICES: Final = (("huawei.com/", Accelerator.ASCEND), ("nvidia.com/", Accelerator.NVIDIA))
_OTHERS: Final = ("amd.com/", "gpu.intel.com/", "google.com/tpu", "habana.ai/", "aws.amazon.com/neuron")
"""Devices that no runtime of the operator's is for."""
_PATH: Final = "PYTHONPATH"
_CPU: Final = "VLLM_CPU_KVCACHE_SPACE"


def accelerator_of(parts: InferenceServiceParts) -> tuple[Accelerator, str]:
    """The accelerator, and why none of the operator's runtimes serves there; empty where one does."""
    asked = list(_asked(parts.spec.get("resources") or {}))
    for prefix, accelerator in _DEVICES:
        if any(each.startswith(prefix) for each in asked):
            return accelerator, ""
    if other := next((each for each in asked if each.startswith(_OTHERS)), None):
        way_out = f"guard the existing InferenceService: `specdec guard isvc/{parts.name}`"
        return Accelerator.NVIDIA, (
            f"resources: {other}: the operator has runtimes for NVIDIA, Ascend and CPUs only: {way_out}"
        )
    env = [each.get("name") for each in parts.spec.get("engine", {}).get("env", ()) if isinstance(each, dict)]
    if _CPU in env or "cpu" in parts.image:
        return Accelerator.CPU, ""
    return (Accelerator.ASCEND if "ascend" in parts.image else Accelerator.NVIDIA), ""


def without_foreign_parts(parts: InferenceServiceParts) -> Iterator[Lost]:
    """Takes out what would keep the operator's runtime from starting, and yields it."""
    engine, resources = parts.spec.get("engine", {}), parts.spec.get("resources", {})
    env = [each for each in engine.get("env", ()) if not (isinstance(each, dict) and each.get("name") == _PATH)]
    if len(env) != len(engine.get("env", ())):
        parts.spec["engine"] = {**engine, "env": env} if env else {k: v for k, v in engine.items() if k != "env"}
        why = "it would replace the runtime's own value, and KServe 0.18 and newer reject it"
        yield Lost(field=f"env {_PATH}", why=why, way_out="install your packages in the image")
    if isinstance(resources, dict) and resources.get("claims"):
        parts.spec["resources"] = {name: each for name, each in resources.items() if name != "claims"}
        way_out = "request devices with spec.resources.limits"
        yield Lost(
            field="resources.claims",
            why="a service has no field for the resourceClaims that they name",
            way_out=way_out,
        )


def _asked(resources: dict[str, Any]) -> Iterator[str]:
    for each in ("limits", "requests"):
        amounts = resources.get(each)
        yield from (str(name) for name in (amounts if isinstance(amounts, dict) else ()))
