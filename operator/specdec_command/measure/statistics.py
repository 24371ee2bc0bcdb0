"""Medians, how far values lie apart, and how sure the median of ratios is. No normal distribution is assumed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

_WANTED: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """The median of some values, and their quartiles: half of the values lie between low and high."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The median of ratios and the interval low to high, which covers the true median with this confidence."""

    median: float
    low: float
    high: float
    confidence: float

    @property
    def resolved(self) -> bool:
        """Whether the interval leaves 1 out: only then one side is faster than the other by these repeats."""
        return not self.low <= 1 <= self.high


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies; between two values, by straight line.

    Raises ValueError for no values.
    """
    if not values:
        raise ValueError("a quantile needs at least one value")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median(values: Sequence[float]) -> float:
    """The value in the middle."""
    return quantile(values, 0.5)


def spread(values: Sequence[float]) -> Quartiles:
    """Median and quartiles."""
    return Quartiles(median=median(values), low=quantile(values, 0.25), high=quantile(values, 0.75))


def ratio(values: Sequence[float], wanted: float = _WANTED) -> Ratio:
    """The median of ratios with the narrowest interval of them that is so sure (95 %), or the widest that there is.

    The interval reaches from the k-th smallest to the k-th largest ratio. It misses the true median only when all but
    k - 1 ratios fall on one side of it, each with chance 1/2: all five of five do so in 6 % of cases.
    """
    ordered, count = sorted(values), len(values)
    cut = max((k for k in range(1, count // 2 + 1) if _sure(count, k) >= wanted), default=1)
    return Ratio(median=median(ordered), low=ordered[cut - 1], high=ordered[-cut], confidence=max(0, _sure(count, cut)))


def _sure(count: int, cut: int) -> float:
    missed: float = 2 * sum(comb(count, outside) for outside in range(cut)) / 2**count
    return 1 - missed
