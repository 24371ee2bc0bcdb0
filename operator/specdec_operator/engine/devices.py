"""How much memory one device has, and the source of that number: the spec, the nodes that the pod may run on, or the
resources that it requests. Pure.

Labels are read as their owners write them: NVIDIA's GPU feature discovery, Huawei's device plugin, HAMi's register of
devices, and the names that Karpenter and GKE give to the nodes that they start.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.case import Json
from specdec_engine.memory.plan import DeviceMemory
from specdec_engine.memory.products import MIB, product_memory, slice_memory
from specdec_engine.quantity import parse_quantity
from specdec_operator.errors import Invalid

FIELD: Final = "spec.memory.device"
TOLD_BY_POD: Final = "as a pod of this service reported it"
Node = Mapping[str, str]
"""Labels and annotations of a node that describe its devices."""
_SIZES: Final = {
    Accelerator.NVIDIA: ("nvidia.com/gpu.memory", "karpenter.k8s.aws/instance-gpu-memory"),
    Accelerator.ASCEND: ("mind-cluster/npu-chip-memory",),
}
"""Labels with a device's memory: in MiB, or with a unit as Huawei's plugin has it (64G, which are 65536 MiB)."""
_REGISTERS: Final = {
    Accelerator.NVIDIA: re.compile(r"hami\.io/node-nvidia-register"),
    Accelerator.ASCEND: re.compile(r"hami\.io/node-register-Ascend.*"),
}
"""Annotations in which HAMi lists a node's devices, as JSON with `devmem` in MiB."""
_PRODUCTS: Final = {
    Accelerator.NVIDIA: (
        "nvidia.com/gpu.product",
        "cloud.google.com/gke-accelerator",
        "karpenter.k8s.aws/instance-gpu-name",
    ),
    Accelerator.ASCEND: ("node.kubernetes.io/npu.chip.name",),
}
TELLS: Final = re.compile(
    "|".join(
        (
            *(re.escape(name) for names in (*_SIZES.values(), *_PRODUCTS.values()) for name in names),
            *(each.pattern for each in _REGISTERS.values()),
            r"nvidia\.com/mig-.+\.memory",
        )
    )
)
"""Names of all that is read of a node."""
_SLICED: Final = re.compile(r"nvidia\.com/gpumem|volcano\.sh/vgpu-memory|huawei\.com/Ascend.+-memory")
"""Resources that name memory of each device that is asked for, in MiB."""
_PERCENT: Final = "nvidia.com/gpumem-percentage"
_NUMBER: Final = re.compile(r"(\d{1,7})\s?(G|GB|Gi)?")


def device_of(spec: Json, nodes: tuple[Node, ...] = (), *, unread: str = "") -> DeviceMemory:
    """The device that a service is served on. Raises Invalid if spec.memory.device is not an amount of memory.

    nodes: those that the pod may run on; the smallest counts. unread: why they are not known.
    """
    text = (spec.get("memory") or {}).get("device")
    if text is not None:
        return DeviceMemory(bytes=given_bytes(FIELD, text), source=FIELD)
    accelerator = Accelerator(spec["engine"]["accelerator"])
    if accelerator is Accelerator.CPU:
        return _container(spec)
    asked = _asked(spec)
    chosen = (spec.get("pod") or {}).get("nodeSelector") or {}
    on_nodes = [found for each in (*nodes, chosen) if (found := _on_node(each, accelerator, asked))]
    whole = min(on_nodes, key=_size, default=None)
    part = _part(asked, whole)
    found = min((each for each in (whole, part) if each is not None), key=_size, default=None)
    if found is None:
        why = unread or "no eligible node reports it"
        return DeviceMemory(source=f"unknown: {why}; set {FIELD}")
    kinds = len({_size(each) for each in on_nodes})
    return DeviceMemory(
        bytes=found[0], source=found[1] + (f", the smallest of {kinds}" if kinds > 1 and found is whole else "")
    )


def _container(spec: Json) -> DeviceMemory:
    """On a CPU: what the container may take."""
    limits = (spec.get("resources") or {}).get("limits")
    text = limits.get("memory") if isinstance(limits, dict) else None
    try:
        return DeviceMemory(bytes=parse_quantity(str(text)), source="spec.resources.limits.memory")
    except ValueError:
        return DeviceMemory(source="unknown: the container has no readable memory limit; set spec.resources.limits")


_Found = tuple[int, str]
"""Bytes, and their source."""


def _size(found: _Found) -> int:
    return found[0]


def given_bytes(field: str, text: object) -> int:
    """Bytes of a field that the user wrote. Raises Invalid for text that is not an amount of memory."""
    try:
        return parse_quantity(str(text))
    except ValueError as error:
        raise Invalid(field, text, str(error)) from error


def _asked(spec: Json) -> dict[str, str]:
    """Extended resources that the user names; limits win. Nothing of what cannot be read."""
    lists = [(spec.get("resources") or {}).get(name) for name in ("requests", "limits")]
    every = [each for each in lists if isinstance(each, dict)]
    return {str(name): str(amount) for each in every for name, amount in each.items() if "/" in str(name)}


def _part(asked: Mapping[str, str], whole: _Found | None) -> _Found | None:
    """The memory that the resources request of one device; None if they request no part of it."""
    return min(_parts(asked, whole), key=_size, default=None)


def _parts(asked: Mapping[str, str], whole: _Found | None) -> Iterator[_Found]:
    for name, amount in asked.items():
        size = _mib(amount)
        if _SLICED.fullmatch(name) and size:
            yield size, f"resource {name}"
        elif name == _PERCENT and amount.isdecimal() and 0 < int(amount) < 100 and whole is not None:
            yield whole[0] * int(amount) // 100, f"resource {name} of {whole[1]}"
        elif name.startswith("nvidia.com/mig-") and (size := slice_memory(name)):
            yield size, f"resource {name}"


def _on_node(node: Node, accelerator: Accelerator, asked: Mapping[str, str]) -> _Found | None:
    """A node's device: by a label with its size, by HAMi's register, or by its product name. None if the node has none
    of them.
    """
    slices = tuple(f"{name}.memory" for name in asked if name.startswith("nvidia.com/mig-"))
    for name in slices or _SIZES[accelerator]:
        if size := _mib(node.get(name, "")):
            return size, f"label {name}"
    if slices:
        return None
    for name, text in node.items():
        if _REGISTERS[accelerator].fullmatch(name) and (size := _registered(text)):
            return size, f"annotation {name}"
    for name in _PRODUCTS[accelerator]:
        if size := product_memory(node.get(name, "")):
            return size, f"{node[name]} (label {name}) in the table of published products"
    return None


def _mib(text: str) -> int | None:
    """`23034` as MiB, `64G` as GiB; None: neither."""
    if not (match := _NUMBER.fullmatch(text)) or not int(match[1]):
        return None
    return int(match[1]) * MIB * (1024 if match[2] else 1)


def _registered(text: str) -> int | None:
    """The smallest device of HAMi's list; None where it cannot be read."""
    try:
        listed = json.loads(text)
    except ValueError:
        return None
    sizes = [each.get("devmem") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    known = [each for each in sizes if isinstance(each, int) and not isinstance(each, bool) and each > 0]
    return min(known) * MIB if known else None
