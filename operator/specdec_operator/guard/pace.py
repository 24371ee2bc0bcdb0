"""How fast an engine writes under which load.

Load is the number of requests in the batch of one pod, to a power of two: without it a time per output token says
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from specdec_operator.guard.moments import Moments

MOST_LOAD: Final = 1024
"""Larger batches count as this one, so that the number of loads is bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What blocks of time at one load showed.

    times: time per output token of the requests that ended, in seconds. tokens: generated, in `seconds` of one pod.
    """

    times: Moments = field(default_factory=Moments)
    tokens: float = 0.0
    seconds: float = 0.0

    def merged(self, other: "Pace") -> "Pace":
        """With the blocks of another."""
        return Pace(
            times=self.times.merged(other.times),
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
        )


Paces = Mapping[int, Pace]
"""A pace by load."""


def load_of(running: float) -> int:
    """The load of a mean number of running requests: the next power of two, 1 at least."""
    load = 1
    while load < running - 1e-9 and load < MOST_LOAD:
        load *= 2
    return load


def together(*parts: Paces) -> Paces:
    """The paces of several pods, or of several windows."""
    out: dict[int, Pace] = {}
    for part in parts:
        for load, pace in part.items():
            out[load] = out[load].merged(pace) if load in out else pace
    return MappingProxyType(out)
