"""How many devices a pod requests from its node, if its resources show it."""

from math import prod
from typing import Any, Final

from specdec_engine.case import Case, Json
from specdec_engine.version import Flavor

_WHOLE: Final = ("nvidia.com/gpu", "huawei.com/Ascend910")
"""The names of a device in the vendors' own device plugins. Slices and other plugins' resources do not give a number.
"""


SIZES: Final = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
"""Flags whose product is the number of devices."""
_BY_HAND: Final = ("nnodes", "data_parallel_size_local", "data_parallel_external_lb", "data_parallel_hybrid_lb")
MOST: Final = 16
USUAL: Final = 8
"""Devices that no node has more of, and that most nodes have."""


def over_several_pods(case: Case) -> bool:
    """Whether the user spreads the engine over several pods, by Ray or with flags of their own."""
    ray = "ray" in (case.args.get("distributed_executor_backend"), case.args.get("data_parallel_backend"))
    return ray or any(case.args.get(name) for name in _BY_HAND)


def devices_wanted(case: Case) -> int:
    """How many the engine is spread over."""
    return prod(case.size(flag) for flag in SIZES)


def asked_in_full(wanted: int, flavor: Flavor) -> dict[str, Any]:
    """spec.resources for more GPUs than most nodes have; empty where none has to be named."""
    if flavor is not Flavor.VLLM or not USUAL < wanted <= MOST:
        return {}
    return {"limits": {_WHOLE[0]: str(wanted)}}


def other_devices(resources: Json) -> bool:
    """Whether spec.resources names devices without a number: slices, or another plugin's."""
    named = {name for amounts in resources.values() if isinstance(amounts, dict) for name in amounts}
    return any("/" in name and name not in _WHOLE for name in named)


def devices_asked(resources: Json) -> int | None:
    """The number in spec.resources; None where it names none."""
    for amounts in (resources.get("limits"), resources.get("requests")):
        for name in _WHOLE:
            text = str(amounts.get(name, "")) if isinstance(amounts, dict) else ""
            if text.isascii() and text.isdigit():
                return int(text)
    return None
