"""Hours of pods that speculation saved or cost, over the windows whose speed was compared with the baseline."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from specdec_operator.api.kept import Time, means, rounded
from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.token_time import UNKNOWN_LOAD, TokenTime

_WIDEST: Final = 4.0
"""Upper / lower end of a speedup's interval beyond which the window proves nothing."""
_HOUR: Final = 3600.0
Hours = Annotated[float, rounded(3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A sum over windows: busy hours of pods x (speedup - 1). The ends are sums of the ends: all windows may be wrong
    in the same direction, because they share a baseline.
    """

    hours: Hours = field(
        metadata=means("Hours of one pod that the same tokens would have taken in addition; below 0: less.")
    )
    low: Hours = field(metadata=means("Lower end, by the 95 % intervals of the speedup."))
    high: Hours = field(metadata=means("Upper end."))
    compared: Hours = field(metadata=means("Hours of pods with requests whose speed was compared."))
    since: Time = field(metadata=means("Time at which the first of these windows closed."))


def with_window(saved: Saved | None, comparison: Comparison | None, busy: float, closed: float) -> Saved | None:
    """The sum with one more window. busy: seconds of its pods in which requests ran. Without a comparison nothing is
    claimed.
    """
    if comparison is None or busy <= 0 or comparison.high > _WIDEST * comparison.low:
        return saved
    hours = busy * comparison.share / _HOUR
    ends = (comparison.speedup, comparison.low, comparison.high)
    gained, low, high = (hours * (each - 1) for each in ends)
    before = saved or Saved(hours=0.0, low=0.0, high=0.0, compared=0.0, since=closed)
    return Saved(
        hours=round(before.hours + gained, 6),
        low=round(before.low + low, 6),
        high=round(before.high + high, 6),
        compared=round(before.compared + hours, 6),
        since=before.since,
    )


def busy_seconds(token_times: Mapping[int, TokenTime]) -> float:
    """Seconds of pods in which requests ran: at a load of one, what its requests took to decode; it includes an idle
    pod.
    """
    return sum(
        min(each.seconds, each.times.total) if load == 1 else each.seconds
        for load, each in token_times.items()
        if load != UNKNOWN_LOAD
    )
