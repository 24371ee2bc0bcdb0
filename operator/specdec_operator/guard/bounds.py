"""Confidence bounds of a proportion."""

from math import sqrt
from typing import Final

_Z95: Final = 1.959963984540054


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
