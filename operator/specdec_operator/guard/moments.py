"""A ratio of two sums, with an error that knows that neighbours are alike.

Tokens of one answer, and answers of one minute, stand and fall together. Cut into blocks of time, the blocks' own
scatter shows how much; counting each token or draft as a witness of its own would not.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

_Z95: Final = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Sums over blocks of a numerator and a denominator, and of their products.

    The mean is total / of; its standard error is the linearised one of a ratio of cluster totals
    (W. G. Cochran, Sampling Techniques, 3rd ed., 1977, section 6.3).
    """

    blocks: int = 0
    total: float = 0.0
    of: float = 0.0
    total_total: float = 0.0
    total_of: float = 0.0
    of_of: float = 0.0

    def plus(self, total: float, of: float) -> "Moments":
        """With one more block."""
        return self.merged(
            Moments(blocks=1, total=total, of=of, total_total=total * total, total_of=total * of, of_of=of * of)
        )

    def merged(self, other: "Moments") -> "Moments":
        """With the blocks of another."""
        return Moments(
            blocks=self.blocks + other.blocks,
            total=self.total + other.total,
            of=self.of + other.of,
            total_total=self.total_total + other.total_total,
            total_of=self.total_of + other.total_of,
            of_of=self.of_of + other.of_of,
        )

    def faded(self, blocks: int) -> "Moments":
        """As if it had been fewer blocks of the same kind."""
        share = blocks / self.blocks
        return Moments(
            blocks=blocks,
            total=self.total * share,
            of=self.of * share,
            total_total=self.total_total * share,
            total_of=self.total_of * share,
            of_of=self.of_of * share,
        )

    @property
    def mean(self) -> float | None:
        """total / of; None where there is nothing to divide by."""
        return self.total / self.of if self.of > 0 else None

    @property
    def error(self) -> float | None:
        """Standard error of the mean; None from fewer than two blocks."""
        if self.blocks < 2 or self.of <= 0:
            return None
        return sqrt(self.scatter * self.blocks / (self.blocks - 1)) / self.of

    @property
    def scatter(self) -> float:
        """Sum of the squares by which the blocks' numerators miss mean times denominator."""
        ratio = self.mean or 0.0
        return max(0.0, self.total_total - 2 * ratio * self.total_of + ratio * ratio * self.of_of)

    def half_width(self) -> float | None:
        """Half the width of the 95 % interval about the mean; None from fewer than two blocks."""
        return None if self.error is None else student95(self.blocks - 1) * self.error


def student95(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t.

    By the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5): within 1 % from three degrees of freedom on;
    exact values for one and two.
    """
    if degrees < 1:
        return float("inf")
    if degrees < 3:
        return (12.706204736432095, 4.302652729911275)[degrees - 1]
    z = _Z95
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3
