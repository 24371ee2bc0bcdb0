"""Quantities as Kubernetes writes them."""

import re
from typing import Final

_WRITTEN: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi|[eE][0-9]+)?")
_POWERS: Final = {"": 1.0, "m": 1e-3, **{each: 1000.0**n for n, each in enumerate("kMGTP", 1)}}
_BINARY: Final = {f"{each}i": 1024.0**n for n, each in enumerate("KMGTP", 1)}


def quantity(text: str) -> float | None:
    """Its number: cores, bytes or pieces. None for what is none."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    unit = found[2] or ""
    factor = 10.0 ** int(unit[1:]) if unit[:1] in ("e", "E") and unit[1:] else {**_POWERS, **_BINARY}[unit]
    return float(found[1]) * factor
