"""Quantities and durations as Kubernetes writes them, such as 80Gi and 1m30s: the one parser of them, and the CRD's
patterns.
"""

import re
from collections.abc import Mapping
from typing import Final

_UNITS: Final[Mapping[str, int]] = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", start=1)},
}
_WRITTEN: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|[kMGTPE]|[KMGTPE]i|[eE][0-9]+)?")
_MEMORY: Final = re.compile(r"(\d{1,18})(?:\.(\d{1,9}))?([KMGTPE]i|[kMGTPE])?")
NUMBER: Final = r"[0-9]+(\.[0-9]+)?"
MEMORY: Final = NUMBER + "(Ki|Mi|Gi|Ti|k|M|G|T)?"
"""Bytes, as a regular expression of the CRD."""
_UNIT_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"


def quantity(text: str) -> float | None:
    """Its number: cores, bytes or pieces. None for text that is not a quantity."""
    if not (match := _WRITTEN.fullmatch(text)):
        return None
    number, unit = float(match[1]), match[2] or ""
    if unit == "m":
        return number / 1000
    return number * (_UNITS[unit] if unit in _UNITS else 10.0 ** int(unit[1:]))


def parse_quantity(text: str) -> int:
    """Bytes of memory: `80Gi`, `1.5G`, `500M`, `1024`; fractions of a byte are rounded up.

    Raises ValueError for anything else, and for nothing (0).
    """
    if not (match := _MEMORY.fullmatch(text)):
        raise ValueError(f"{text!r} is not an amount of memory; write bytes with a unit, such as 80Gi, 512Mi or 2G")
    whole, fraction, unit = match.groups()
    scale: int = 10 ** len(fraction or "")
    amount = -(-int(whole + (fraction or "")) * _UNITS[unit or ""] // scale)
    if amount == 0:
        raise ValueError(f"{text!r} is 0 bytes; write more than 0")
    return amount


def parse_duration(text: object) -> float:
    """Seconds in a duration such as `90s`, `1m30s` or `250ms`.

    Raises ValueError for anything else, numbers without a unit included.
    """
    if isinstance(text, float):
        return text  # a default that was parsed already
    if not isinstance(text, str) or not re.fullmatch(DURATION_PATTERN, text):
        raise ValueError(f"{text!r} is not a duration; write a number with its unit, such as 15s, 2m or 1h30m")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _PART.findall(text))


def format_duration(seconds: float) -> str:
    """The shortest duration text for whole seconds: 90 -> `1m30s`."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (left, "s"))
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"
