"""A ratio of two sums and a mean of windows, with errors that allow for correlated neighbours, and confidence bounds of
a proportion.

Tokens of one answer, and answers of one minute, are correlated. The scatter of blocks of time shows by how much. An
error that counts each token or draft as independent would be too small.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Final

_Z95: Final = 1.959963984540054
_SUMS: Final = ("total", "of", "total_total", "total_of", "of_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioSums:
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

    def plus(self, total: float, of: float) -> "RatioSums":
        """With one more block."""
        squares = {"total_total": total * total, "total_of": total * of, "of_of": of * of}
        return self.merged(RatioSums(blocks=1, total=total, of=of, **squares))

    def merged(self, other: "RatioSums") -> "RatioSums":
        """With the blocks of another."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        return RatioSums(blocks=self.blocks + other.blocks, **sums)

    def faded(self, blocks: int) -> "RatioSums":
        """As if it had been fewer blocks of the same kind."""
        share = blocks / self.blocks
        return RatioSums(blocks=blocks, **{name: getattr(self, name) * share for name in _SUMS})

    @property
    def mean(self) -> float | None:
        """total / of; None where there is nothing to divide by."""
        return self.total / self.of if self.of > 0 else None

    @property
    def even(self) -> float:
        """Number of equal blocks with as much information: of unequal ones the large ones decide (L. Kish, 1965)."""
        return max(1.0, self.of * self.of / self.of_of) if self.of_of > 0 else 1.0

    @property
    def error(self) -> float | None:
        """Standard error of the mean; None from fewer than two blocks, or where one of them is all there is."""
        if self.blocks < 2 or self.of <= 0 or self.even <= 1:
            return None
        return sqrt(self.scatter * self.even / (self.even - 1)) / self.of

    @property
    def scatter(self) -> float:
        """Sum of the squares by which the blocks' numerators miss mean times denominator."""
        ratio = self.mean or 0.0
        return max(0.0, self.total_total - 2 * ratio * self.total_of + ratio * ratio * self.of_of)

    def half_width(self, alike: float = 1.0) -> float | None:
        """Half the width of the 95 % interval about the mean; None if there is no error.

        `alike`: variance of the mean / the variance that independent blocks would have.
        """
        return None if self.error is None else student95(max(1.0, self.even - 1)) * self.error * sqrt(alike)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean, its standard error, and the degrees of freedom of that error."""

    mean: float
    error: float
    degrees: float

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval about the mean."""
        return student95(self.degrees) * self.error


def variance_of_means(variance: float, windows: Iterable[int], correlation: float) -> float:
    """Variance of a mean of windows, or of the difference of two such means. variance: of one window.

    windows: the number of windows in each mean. correlation: of neighbouring windows. A machine whose speed
    changes makes them similar, so they hold less information than as many independent ones.
    """
    return variance * sum(1 / each for each in windows) * (1 + correlation) / (1 - correlation)


def student95(degrees: float) -> float:
    """The two-sided 95 % quantile of Student's t.

    By the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5): within 1 % from three degrees of freedom on;
    exact values for one and two, and on the line between them.
    """
    if degrees < 1:
        return float("inf")
    if degrees < 3:
        low, high = ((12.706204736432095, 4.302652729911275), (4.302652729911275, 3.182446305284263))[int(degrees) - 1]
        return low + (degrees - int(degrees)) * (high - low)
    z = _Z95
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def wilson_upper(share: float, samples: float) -> float:
    """Upper end of the 95 % Wilson score interval of a proportion `share` seen in `samples` trials.

    Source: E. B. Wilson, JASA 22 (1927) 209-212. 1.0 where there are no samples.
    """
    if samples <= 0:
        return 1.0
    z2 = _Z95 * _Z95
    centre = share + z2 / (2 * samples)
    spread = _Z95 * sqrt(share * (1 - share) / samples + z2 / (4 * samples * samples))
    return min(1.0, (centre + spread) / (1 + z2 / samples))


def wilson_lower(share: float, samples: float) -> float:
    """Lower end of the same interval."""
    return 1 - wilson_upper(1 - share, samples)
