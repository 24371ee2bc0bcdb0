"""How the engine reads a value of the wrong type: numbers in strings, whole floats and yes/no words are taken.

If the engine refuses the value, each reader raises ValueError with the expected form.
"""

import math
import re
from collections.abc import Callable
from typing import Any, Final

_WHOLE: Final = re.compile(r"([+-]?[0-9]+(?:_[0-9]+)*)(?:\.0+)?")
_MOST_DIGITS: Final = 4300
_YES: Final = frozenset(("1", "t", "true", "y", "yes", "on"))
_NO: Final = frozenset(("0", "f", "false", "n", "no", "off"))
_LARGEST_FLOAT: Final = 2.0**63


def integer(value: object) -> int:
    """A whole number; `3.0`, `"3"` and true are taken."""
    match value:
        case int():
            return int(value)
        case float() if math.isfinite(value) and value.is_integer() and abs(value) < _LARGEST_FLOAT:
            return int(value)
        case str() if len(value) <= _MOST_DIGITS and (match := _WHOLE.fullmatch(value.strip())):
            return int(match[1])
    raise ValueError("a whole number")


def boolean(value: object) -> bool:
    """Yes or no; 0, 1 and the usual words are taken."""
    match value:
        case bool():
            return value
        case int() | float() if value in (0, 1):
            return bool(value)
        case str() if value.lower() in _YES:
            return True
        case str() if value.lower() in _NO:
            return False
    raise ValueError("true or false")


def number(value: object) -> float:
    """A number; numeric strings and true are taken."""
    if isinstance(value, int | float | str):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise ValueError("a number")


def text(value: object) -> str:
    """A string; nothing else is taken."""
    if isinstance(value, str):
        return value
    raise ValueError("a string")


def numbers(value: object) -> list[float]:
    """A list of numbers."""
    if isinstance(value, list | tuple):
        return [number(each) for each in value]
    raise ValueError("a list of numbers")


def schedule(value: object) -> list[tuple[int, int, int]]:
    """A list of three whole numbers each."""
    wanted = "a list of [first batch size, last batch size, tokens], three whole numbers each"
    if not isinstance(value, list | tuple):
        raise ValueError(wanted)
    rows = []
    for row in value:
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise ValueError(wanted)
        rows.append((integer(row[0]), integer(row[1]), integer(row[2])))
    return rows


READERS: Final[dict[str, Callable[[object], Any]]] = {
    "int": integer,
    "bool": boolean,
    "float": number,
    "str": text,
    "floats": numbers,
    "schedule": schedule,
}
"""By the type's name in the tables."""
