"""How many devices a pod asks its node for, where its resources tell."""

from typing import Final

from specdec_operator.engine.case import Json

_WHOLE: Final = ("nvidia.com/gpu", "huawei.com/Ascend910")
"""What the vendors' own device plugins call a device. Slices and other plugins' resources tell no number."""


def other_devices(resources: Json) -> bool:
    """Whether spec.resources names devices that tell no number: slices, or another plugin's."""
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
