"""Draft tokens by load: rows of the running requests up to which so many are drafted. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from specdec_operator.api.kept import means

LARGEST: Final = 1024
"""Running requests that the step clock still counts apart; more of them are a load of this size."""
SIZES: Final = tuple(1 << power for power in range(LARGEST.bit_length()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensUpTo:
    """A row of spec.speculation.tokensByBatchSize. up_to: running requests; None in the last row."""

    up_to: int | None = field(default=None, metadata=means("Largest number of running requests for this row."))
    tokens: int = field(metadata=means("Tokens per step; 0: nothing is drafted."))


Rows = tuple[TokensUpTo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRows:
    """What the newest evidence asks for. rows: empty for one number at all loads. message: why, with numbers."""

    rows: Rows
    message: str


def tokens_at(rows: Rows, batch: int, usual: int) -> int:
    """What is drafted with so many running requests. usual: without rows."""
    return next((each.tokens for each in rows if each.up_to is None or batch <= each.up_to), usual)


def rows_by_size(tokens: Mapping[int, int]) -> Rows:
    """The rows of numbers of tokens by load, smallest load first. The last one holds for all larger loads too."""
    found = [[*group][-1] for _, group in groupby(tokens.items(), key=lambda size: size[1])]
    return (*(TokensUpTo(up_to=size, tokens=each) for size, each in found[:-1]), TokensUpTo(tokens=found[-1][1]))


def rows_text(rows: Rows) -> str:
    """The rows as text: "3 up to 2 running requests, then 1 up to 8, then none"."""
    first, *others = (_text(each, number) for number, each in enumerate(rows))
    return ", then ".join((first, *others))


def _text(row: TokensUpTo, number: int) -> str:
    requests = "" if number else " running requests"
    return f"{row.tokens or 'none'}{'' if row.up_to is None else f' up to {row.up_to}{requests}'}"


def as_setting(rows: Rows) -> list[dict[str, int]]:
    """The rows as a pod's setting has them (specdec_runtime/dial/schedule.py)."""
    return [({} if each.up_to is None else {"upTo": each.up_to}) | {"tokens": each.tokens} for each in rows]
