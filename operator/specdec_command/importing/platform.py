"""The accelerator that something runs on, by its devices, its image and its variables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from specdec_command.importing.inference_service import InferenceServiceParts
from specdec_command.importing.manifest import Lost
from specdec_engine import command_line
from specdec_engine.accelerators import Accelerator
from specdec_engine.command_line import CommandLine
from specdec_operator.engine.build import build_of

_DEVICES: Final = (("huawei.com/", Accelerator.ASCEND), ("nvidia.com/", Accelerator.NVIDIA))
_PATH: Final = "PYTHONPATH"
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    """What shows that an engine runs on a platform: words in the name of its image, and beginnings of the names of its
    variables, its devices and its attention backends.
    """

    images: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()


_ASCEND: Final = _Signs(
    images=("ascend", "npu", "cann"),
    env=("ASCEND_", "HCCL_", "VLLM_ASCEND_", "PYTORCH_NPU_ALLOC_CONF"),
)
_CPU: Final = _Signs(images=("cpu",), env=("VLLM_CPU_",))
_OTHERS: Final = MappingProxyType(
    {
        "ROCm": _Signs(
            images=("rocm",),
            env=("VLLM_ROCM_", "HIP_", "HSA_", "ROCM_", "ROCR_", "PYTORCH_ROCM_", "PYTORCH_HIP_"),
            devices=("amd.com/",),
            backends=("ROCM_", "AITER"),
        ),
        "Intel GPUs": _Signs(
            images=("xpu", "ipex"), env=("ZE_", "ONEAPI_", "SYCL_", "VLLM_XPU_"), devices=("gpu.intel.com/",)
        ),
        "Gaudi": _Signs(
            images=("gaudi", "hpu", "habana"), env=("HABANA_", "PT_HPU_", "VLLM_HPU_"), devices=("habana.ai/",)
        ),
        "TPUs": _Signs(images=("tpu",), env=("TPU_", "VLLM_TPU_", "PJRT_DEVICE"), devices=("google.com/tpu",)),
        "Neuron": _Signs(images=("neuron",), env=("NEURON_",), devices=("aws.amazon.com/neuron",)),
    }
)
"""Platforms that no runtime of the operator's is for."""
_DEVICE_FLAGS: Final = MappingProxyType(
    {"rocm": "ROCm", "xpu": "Intel GPUs", "hpu": "Gaudi", "tpu": "TPUs", "neuron": "Neuron"}
)
"""Values of the old flag --device."""


def accelerator_of(parts: InferenceServiceParts) -> tuple[Accelerator, str]:
    """The accelerator, and why none of the operator's runtimes serves there; empty where one does."""
    asked = list(_asked(parts.spec.get("resources") or {}))
    for prefix, accelerator in _DEVICES:
        if any(each.startswith(prefix) for each in asked):
            return accelerator, ""
    env = [str(each.get("name")) for each in _env(parts)]
    args = command_line.read(parts.command.words, build_of(Accelerator.NVIDIA.value, None))
    if sign := _foreign(asked, env, parts, args):
        why = f"{sign}: the operator has runtimes for NVIDIA, Ascend and CPUs only"
        return Accelerator.NVIDIA, f"{why}: {parts.source.way_out}"
    image = _words(parts.image)
    npu = args.args.get("quantization") == "ascend" or args.args.get("device") == "npu"
    if npu or image & set(_ASCEND.images) or any(each.startswith(_ASCEND.env) for each in env):
        return Accelerator.ASCEND, ""
    cpu = args.args.get("device") == "cpu" or image & set(_CPU.images)
    if cpu or any(each.startswith(_CPU.env) for each in env):
        return Accelerator.CPU, ""
    return Accelerator.NVIDIA, ""


def _foreign(asked: list[str], env: list[str], parts: InferenceServiceParts, line: CommandLine) -> str:
    """What shows another platform, with its place; empty: nothing does."""
    backends = _backends(line, parts)
    named = str(line.args.get("device"))
    for platform, signs in _OTHERS.items():
        if found := next((each for each in asked if each.startswith(signs.devices)), None):
            return f"resources: {found}"
        if _words(parts.image) & set(signs.images):
            return f"image {parts.image} is for {platform}"
        if found := next((each for each in env if each.startswith(signs.env)), None):
            return f"env {found} is for {platform}"
        if found := next((each for each in backends if signs.backends and each.startswith(signs.backends)), None):
            return f"attention backend {found} is for {platform}"
        if _DEVICE_FLAGS.get(named) == platform:
            return f"--device={named} is for {platform}"
    return ""


def _backends(line: CommandLine, parts: InferenceServiceParts) -> list[str]:
    """The attention backends that flags, the configuration of speculation and a variable name."""
    named = [line.args.get("attention_backend"), (line.speculation or {}).get("attention_backend")]
    config = line.args.get("attention_config")
    named += [config.get("backend")] if isinstance(config, dict) else []
    named += [each.get("value") for each in _env(parts) if each.get("name") == "VLLM_ATTENTION_BACKEND"]
    return [str(each).upper() for each in named if each]


def _env(parts: InferenceServiceParts) -> list[dict[str, Any]]:
    return [each for each in parts.spec.get("engine", {}).get("env", ()) if isinstance(each, dict)]


def _words(image: str) -> frozenset[str]:
    """The words of an image's name and tag, without the registry: vllm-openai-rocm has `rocm`."""
    host, slash, rest = image.lower().partition("/")
    own = rest if slash and ("." in host or ":" in host) else image.lower()
    parts = _BETWEEN.split(own.partition("@")[0])
    return frozenset((*parts, *(part.rstrip("0123456789") for part in parts)))  # rocm7 is rocm


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
