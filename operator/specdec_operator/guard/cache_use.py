"""Whether the acceptance length falls while the KV cache fills: long requests are guessed worse, or are preempted.

Readings are compared by how full the cache was, not by time. An engine with a schedule drafts fewer tokens under load:
its length falls, and its rate does not. So both must fall.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from specdec_operator.guard.statistics import wilson_lower, wilson_upper

_RANGE: Final = 0.25
"""By how much more of the cache must be in use at one end of the readings than at the other."""
_FILLED: Final = 0.5
"""Share in use from which a cache counts as filling."""
_WORTH: Final = 0.9
"""Share of its length that is left of a length that fell."""
_LEAST: Final = 100.0
"""Drafts at each end that are enough to compare."""
WAYS_OUT: Final = (
    "use a draft that was trained on long contexts, draft fewer tokens per step, or leave the KV cache more room with "
    "fewer concurrent requests, more memory or an 8-bit cache"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReading:
    """What was drafted while so much of the KV cache was in use. used: a share. Others: as in counters."""

    used: float
    drafts: float
    draft_tokens: float
    accepted_tokens: float

    @property
    def length(self) -> float:
        """1 + accepted tokens / drafts."""
        return 1 + self.accepted_tokens / self.drafts

    @property
    def rate(self) -> float:
        """Accepted / drafted tokens."""
        return min(1.0, self.accepted_tokens / self.draft_tokens)

    def plus(self, other: "CacheReading") -> "CacheReading":
        """Both together; in use is the mean, by drafts."""
        drafts = self.drafts + other.drafts
        return CacheReading(
            used=(self.used * self.drafts + other.used * other.drafts) / drafts,
            drafts=drafts,
            draft_tokens=self.draft_tokens + other.draft_tokens,
            accepted_tokens=self.accepted_tokens + other.accepted_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthFall:
    """Readings with much free cache, and with little, that differ by more than chance explains."""

    emptier: CacheReading
    fuller: CacheReading

    @property
    def message(self) -> str:
        """Both lengths, and how full the cache was."""
        before, after = self.emptier, self.fuller
        return (
            f"the acceptance length falls from {before.length:.2f} to {after.length:.2f} tokens per step while the KV "
            f"cache fills from {100 * before.used:.0f} % to {100 * after.used:.0f} %"
        )


def length_fall(readings: Iterable[CacheReading]) -> LengthFall | None:
    """The fall between the emptiest and the fullest third of the range that was seen; None if there is none, or if too
    little was drafted.
    """
    known = [each for each in readings if each.drafts > 0 and each.draft_tokens > 0]
    if not known:
        return None
    least, most = min(each.used for each in known), max(each.used for each in known)
    if most - least < _RANGE or most < _FILLED:
        return None
    third = (most - least) / 3
    emptier = reduce(CacheReading.plus, (each for each in known if each.used <= least + third))
    fuller = reduce(CacheReading.plus, (each for each in known if each.used >= most - third))
    enough = min(emptier.drafts, fuller.drafts) >= _LEAST
    lower = wilson_upper(fuller.rate, fuller.drafts) < wilson_lower(emptier.rate, emptier.drafts)
    fell = enough and lower and fuller.length <= _WORTH * emptier.length
    return LengthFall(emptier=emptier, fuller=fuller) if fell else None
