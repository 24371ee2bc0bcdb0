"""Durations as Kubernetes writes them (Go's syntax: 15s, 2m, 1h30m). Pure."""

import re
from typing import Final

_UNIT_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"


def parse_duration(text: object) -> float:
    """Seconds in a duration such as `90s`, `1m30s` or `250ms`.

    Raises ValueError for anything else, numbers without a unit included.
    """
    if isinstance(text, float):
        return text  # a default that was parsed already
    if not isinstance(text, str) or not re.fullmatch(DURATION_PATTERN, text):
        raise ValueError(f"{text!r} is no duration; write a number with its unit, such as 15s, 2m or 1h30m")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _PART.findall(text))


def format_duration(seconds: float) -> str:
    """The shortest duration text for whole seconds: 90 -> `1m30s`."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (left, "s"))
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"
