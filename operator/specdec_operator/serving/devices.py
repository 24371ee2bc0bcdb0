"""The devices that a pod asks its node for: as many as the engine is spread over, of what the device plugin offers."""

from collections.abc import Iterator, Mapping
from math import prod
from types import MappingProxyType
from typing import Any, Final

from specdec_operator.api.engine import Accelerator, Engine
from specdec_operator.api.spec import Spec

PLUGINS: Final = MappingProxyType(
    {Accelerator.NVIDIA: "nvidia.com/gpu", Accelerator.ASCEND: "huawei.com/Ascend910"},
)
"""What the vendor's own device plugin calls its devices; a CPU needs none."""
_LISTS: Final = ("requests", "limits")


def resources(spec: Spec) -> dict[str, Any] | None:
    """The container's resources, with the devices where the user names none; None where there are none at all.

    Whoever names an extended resource, or a claim of one, names them all: another plugin, a slice of a device, a
    number. A runtime of the user's own brings its own devices.
    """
    written = spec.resources or {}
    name = PLUGINS.get(spec.engine.accelerator)
    lists = {each: written.get(each) or {} for each in _LISTS}
    readable = all(isinstance(each, dict) for each in lists.values())
    if name is None or spec.engine.runtime or not readable or written.get("claims") or any(_extended(lists)):
        return written or None
    number = str(_devices(spec.engine))
    return {**written, **{each: {**amounts, name: number} for each, amounts in lists.items()}}


def _devices(engine: Engine) -> int:
    """Devices of one pod: each copy of the engine has as many as its layers are split over."""
    sizes = (engine.tensor_parallel_size, engine.pipeline_parallel_size, engine.data_parallel_size)
    return prod(size or 1 for size in sizes)


def _extended(lists: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Extended resources by name: theirs alone have a domain."""
    for amounts in lists.values():
        yield from (name for name in amounts if "/" in name)
