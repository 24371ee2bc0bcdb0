"""How often a pod is asked that does not answer: less and less often, up to a bounded gap. Pure.

A pod that hangs costs a read its whole timeout, at each look. What is not asked stays missing: it proves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

_LONGEST: Final = 12
"""Timeouts, which the gap grows to: a minute at 5 s, after which a pod that answers again is read at the latest."""
_FORGOTTEN: Final = 10
"""Longest gaps after which a pod that is no longer read is forgotten: it no longer exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A pod that does not answer. times: how often in a row it did not. until: when it is asked again, in seconds."""

    times: int
    until: float


Silences: TypeAlias = Mapping[str, Silence]
"""By the address that is asked."""


def waits(silences: Silences, url: str, now: float) -> Silence | None:
    """The silence for which this address is not asked now; None: it is to be asked."""
    silence = silences.get(url)
    return silence if silence is not None and now < silence.until else None


def grown(before: Silence | None, timeout: float, now: float) -> Silence:
    """The silence after one more read that took the whole timeout: each gap is twice as long as the one before."""
    times = 1 + (before.times if before else 0)
    gap = timeout * min(_LONGEST, 2 ** min(times - 1, _LONGEST))
    return Silence(times=times, until=now + gap)


def without_gone(silences: Silences, timeout: float, now: float) -> dict[str, Silence]:
    """Those that were asked lately: of pods that are gone nothing is kept."""
    oldest = now - _FORGOTTEN * _LONGEST * timeout
    return {url: each for url, each in silences.items() if each.until > oldest}
