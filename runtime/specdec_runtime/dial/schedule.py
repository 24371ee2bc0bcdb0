"""A setting by load: how many tokens are drafted with how many running requests. Pure.

[{"upTo": 2, "tokens": 3}, {"upTo": 8, "tokens": 1}, {"tokens": 0}]: the last row is for all larger loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MOST_ROWS: Final = 16
MOST_REQUESTS: Final = 1 << 16
STEADY: Final = 8
"""Steps in a row in which the load has to be of another row before that one holds. A load that moves to and fro between
two rows, one step each, changes nothing.
"""
_WAY_OUT: Final = '[{"upTo": 8, "tokens": 3}, {"tokens": 1}]'


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadRow:
    """up_to: the largest number of running requests that it is for; None: all larger ones. tokens: to draft then."""

    up_to: int | None
    tokens: int


Rows = tuple[LoadRow, ...]


def rows_of(found: object, most: int) -> Rows:
    """Return the rows of a setting. most: tokens that no row may exceed. Raises ValueError with a sentence to show."""
    if not isinstance(found, list) or not 0 < len(found) <= MOST_ROWS:
        raise ValueError(f"it must be a list of 1 to {MOST_ROWS} rows, such as {_WAY_OUT}")
    rows = tuple(_row(each, number == len(found), most) for number, each in enumerate(found, start=1))
    ends = [each.up_to or 0 for each in rows[:-1]]
    if ends != sorted(set(ends)):
        raise ValueError(f"upTo must grow from row to row, and it is {ends}")
    return rows


def _row(found: Any, last: bool, most: int) -> LoadRow:
    if not isinstance(found, dict) or not _is_whole(found.get("tokens"), 0, most):
        raise ValueError(f"tokens of each row must be a whole number from 0 to the {most} of the setting")
    if last and found.get("upTo") is not None:
        raise ValueError("the last row is for all larger loads and must have no upTo")
    if not last and not _is_whole(found.get("upTo"), 1, MOST_REQUESTS):
        raise ValueError(f"upTo of each row but the last must be a whole number from 1 to {MOST_REQUESTS}")
    return LoadRow(up_to=None if last else found["upTo"], tokens=found["tokens"])


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def shown(rows: Rows) -> list[dict[str, int]]:
    """Return the rows as a setting has them."""
    return [({} if each.up_to is None else {"upTo": each.up_to}) | {"tokens": each.tokens} for each in rows]


@dataclass(slots=True)
class RowChoice:
    """Which row holds, step by step. It begins with the row of the first step."""

    _rows: Rows = ()
    _at: int = 0
    _others: int = 0

    def tokens(self, rows: Rows, requests: int) -> int:
        """Return the tokens of the next step. rows: those that hold now, one at least. requests: in the step."""
        at = next(number for number, each in enumerate(rows) if each.up_to is None or requests <= each.up_to)
        if rows is not self._rows:
            self._rows, self._at, self._others = rows, at, 0
        elif at == self._at or not requests:
            self._others = 0 if requests else self._others
        elif (more := self._others + 1) >= STEADY:
            self._at, self._others = at, 0
        else:
            self._others = more
        return rows[self._at].tokens
