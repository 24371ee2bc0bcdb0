"""Which parts a run begins with, and which still fit into its time. Pure."""

from collections.abc import Sequence
from typing import Final

from hack.test.parts import SuitePart

_MARGIN: Final = 1.4
"""A part is begun where this many times its usual minutes are left: machines differ and are shared."""


def turned(parts: Sequence[SuitePart], count: int) -> tuple[SuitePart, ...]:
    """The parts in their order, begun at another one for each `count`: each is first once in `len(parts)` counts."""
    first = count % len(parts)
    return (*parts[first:], *parts[:first])


def fits(part: SuitePart, spent: float, limit: float | None) -> bool:
    """Whether a part may begin after `spent` minutes of a run that has `limit` minutes; None for no limit."""
    return limit is None or spent + _MARGIN * part.minutes <= limit
