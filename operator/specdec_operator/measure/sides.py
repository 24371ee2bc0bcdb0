"""The two things that are compared, and the order in which they are asked."""

from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """Which of the two services is asked."""

    SPECULATING = "speculating"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All prompts once, by one side. concurrency: requests at once. repeat: from 1.

    first: whether the side begins with this number of requests at once, so that it is warmed up before.
    """

    concurrency: int
    repeat: int
    side: Side

    @property
    def first(self) -> bool:
        """See above."""
        return self.repeat == 1


def interleaved(concurrencies: tuple[int, ...], repeats: int) -> tuple[Turn, ...]:
    """Both sides by turns, and which is first by turns as well: a noisy minute hits both, a drift favours neither."""
    sides = (Side.SPECULATING, Side.PLAIN)
    return tuple(
        Turn(concurrency=concurrency, repeat=repeat, side=side)
        for concurrency in concurrencies
        for repeat in range(1, repeats + 1)
        for side in (sides if repeat % 2 else sides[::-1])
    )


def one_side(side: Side, concurrencies: tuple[int, ...], repeats: int) -> tuple[Turn, ...]:
    """One side alone, for a cluster that has no room for both at once."""
    return tuple(
        Turn(concurrency=concurrency, repeat=repeat, side=side)
        for concurrency in concurrencies
        for repeat in range(1, repeats + 1)
    )
