"""Something that was read and of which nothing is certain: older operators, newer ones, and hands that edit.

What is missing, or of another type than expected, is empty. Nothing here raises.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_MOST: Final = 1e12
"""A larger number is not a measurement, and would fill the screen."""


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A value out of JSON. Text is one line without control characters: a terminal obeys those."""

    value: object = None

    def of(self, *path: str) -> "Untrusted":
        """What lies below, key by key."""
        value = self.value
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return Untrusted(value)

    @property
    def there(self) -> bool:
        """Whether it is an object with something in it."""
        return isinstance(self.value, Mapping) and bool(self.value)

    @property
    def text(self) -> str:
        """A string, or a number as it is written; else empty."""
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            return ""
        if not isinstance(self.value, str) and self.number is None:
            return ""
        return " ".join("".join(each if each.isprintable() else " " for each in str(self.value)).split())

    @property
    def number(self) -> float | None:
        """A number of a sensible size; not infinite, not NaN."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return None
        return float(self.value) if abs(self.value) < _MOST else None

    @property
    def whole(self) -> int | None:
        """A number without its fraction."""
        number = self.number
        return None if number is None else int(number)

    @property
    def flag(self) -> bool:
        """Whether it is true."""
        return self.value is True

    @property
    def items(self) -> tuple["Untrusted", ...]:
        """The items of a list."""
        return tuple(Untrusted(each) for each in self.value) if isinstance(self.value, list | tuple) else ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of a list, empty ones left out."""
        return tuple(each.text for each in self.items if each.text)

    @property
    def strings(self) -> dict[str, str]:
        """The texts of an object by key, such as labels."""
        if not isinstance(self.value, Mapping):
            return {}
        return {str(key): Untrusted(each).text for key, each in self.value.items()}

    @property
    def time(self) -> datetime | None:
        """A time as Kubernetes writes it."""
        try:
            moment = datetime.fromisoformat(self.text)
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
