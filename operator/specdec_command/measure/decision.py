"""Whether to keep speculation, from time to first token, time per output token and throughput together. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_command.measure.compare import Level
from specdec_command.measure.statistics import Ratio

_SAME: Final = 0.02
"""A difference of less counts for neither side: no client notices it."""


class Decision(StrEnum):
    """KEEP: something is faster and nothing slower. DROP: the reverse. MIXED: both. OPEN: neither is shown."""

    KEEP = "keep"
    DROP = "drop"
    MIXED = "mixed"
    OPEN = "not resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the three figures. ratio: above 1, speculation is faster."""

    name: str
    ratio: Ratio

    @property
    def faster(self) -> bool:
        """Whether speculation is surely faster by it."""
        return self.ratio.resolved and self.ratio.median >= 1 + _SAME

    @property
    def slower(self) -> bool:
        """Whether speculation is surely slower by it."""
        return self.ratio.resolved and self.ratio.median <= 1 - _SAME

    @property
    def text(self) -> str:
        """The ratio with its interval."""
        value = f"{self.name} {self.ratio.median:.2f}x ({self.ratio.low:.2f} to {self.ratio.high:.2f})"
        return value if self.ratio.resolved else f"{value} not resolved"


def figures(level: Level) -> tuple[Figure, ...]:
    """The three figures of a level; two if every answer had one token only."""
    named = (
        ("time to first token", level.first_token),
        ("time per output token", level.per_token),
        ("tokens/s", level.tokens_per_second),
    )
    return tuple(Figure(name=name, ratio=ratio) for name, ratio in named if ratio is not None)


def decide(level: Level) -> Decision:
    """What the three figures at one load come to."""
    every = figures(level)
    return _of(faster=any(each.faster for each in every), slower=any(each.slower for each in every))


def decide_all(levels: Sequence[Level]) -> Decision:
    """What all loads come to: a load at which nothing is shown changes nothing."""
    every = [decide(each) for each in levels]
    keep, drop = ({good, Decision.MIXED} & {*every} for good in (Decision.KEEP, Decision.DROP))
    return _of(faster=bool(keep), slower=bool(drop))


def _of(*, faster: bool, slower: bool) -> Decision:
    if faster and slower:
        return Decision.MIXED
    if faster:
        return Decision.KEEP
    return Decision.DROP if slower else Decision.OPEN


def decision_text(level: Level) -> str:
    """The decision at one load, with its figures."""
    confidence = 100 * level.tokens_per_second.confidence
    told = ", ".join(each.text for each in figures(level))
    return f"With {level.load.words}: {decide(level)}: {told} ({confidence:.0f} % sure)."


def summary(levels: Sequence[Level]) -> str:
    """The decision over all loads; of several, those that differ."""
    decision = decide_all(levels)
    if len(levels) == 1 or decision is not Decision.MIXED:
        return f"Conclusion: {decision}."
    return f"Conclusion: {decision}: {'; '.join(f'{decide(each)} with {each.load.words}' for each in levels)}."
