"""The pods of one service under watch: readings go in, a judged window comes out now and then."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Judged, Row, judge
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.guard.window import Window, opened

_BLOCKS: Final = 8
"""Blocks of time that a window is cut into at most; none is shorter than an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often pods are read, and how long a window is; in seconds."""

    interval: float
    window: float

    @property
    def block(self) -> float:
        """Length of a block of time, in seconds."""
        return max(self.interval, self.window / _BLOCKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is remembered from one reading to the next. row: of the failing windows in a row."""

    window: Window
    due: float
    row: Row = field(default_factory=Row)

    def is_due(self, now: float) -> bool:
        """Whether the pods are to be read now. A clock that went back asks for a reading at once."""
        return now >= self.due or now < self.window.opened

    def closes(self, rhythm: Rhythm, now: float) -> bool:
        """Whether a reading now is the one nearest to the window's end, which closes it."""
        return now - self.window.opened >= rhythm.window - rhythm.interval / 2


def watch(now: float, rhythm: Rhythm) -> Watched:
    """Nothing seen yet."""
    return Watched(window=opened(now, rhythm.block), due=now)


def take(
    watched: Watched, readings: Mapping[str, Counters | None], limits: Thresholds, rhythm: Rhythm, now: float
) -> tuple[Watched, Judged | None]:
    """One round of readings, and the judged window where this round closed one."""
    if now < watched.window.opened:
        watched = watch(now, rhythm)
    due = max(watched.due + rhythm.interval, now)
    window = watched.window.with_readings(readings, now)
    if not watched.closes(rhythm, now):
        return replace(watched, window=window, due=due), None
    judged = judge(window, limits, now, watched.row)
    following = window.next(now, frozenset(readings))
    return Watched(window=following, due=due, row=judged.row), judged
