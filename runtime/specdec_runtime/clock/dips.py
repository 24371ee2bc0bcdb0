"""Dips: now and then an engine drafts nothing, or another number of tokens, for a few steps. What these take, and what
the steps around them take, is of the same requests in the same second. Pure: steps and chance are passed in.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Final

from specdec_runtime.clock.sums import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from specdec_runtime.clock.sums import TimedStep

STEPS: Final = 13
"""Steps of a dip. The first is not counted: it verifies what was drafted before."""
AROUND: Final = 12
"""Steps of one batch size before a dip, and as many after it, that it is compared with."""
REACH: Final = 48
"""Steps before a dip, and after it, among which these are: requests come and go."""
SHARE: Final = 0.02
LATER: Final = 0.01
"""Share of the time that is in dips: until ENOUGH have begun, and later."""
ENOUGH: Final = 400
"""First the engine learns whether its draft pays: until so many dips have begun, all draft nothing. Then every second
one drafts some tokens, to learn how many pay most.
"""
AT_LOAD: Final = 40
"""So many begin as the first ones do at each load, because a draft may pay at one and not at another."""
MOST_PROMPTS: Final = 8
"""Steps that take a prompt in, in the midst of a dip. More end it: its neighbours would be of another time."""
_FEWEST: Final = 4
"""Steps of one batch size that a dip needs to have, before, within and after it."""
_LATELY: Final = 16
"""Ratios of the last dips, by which dips become as rare as their share of the time allows. With fewer than a quarter of
them a dip counts as steps of the usual length: those without a draft are shorter.
"""
SHORTEST: Final = 0.25
"""Share of a step's seconds that one in a dip counts as, at least: dips stay as far apart as their neighbours need."""
_KEPT: Final = 0.75
"""Share of the steps of a mean: the slowest are left out on both sides, because a machine's hiccup is of none."""


@dataclass(frozen=True, order=True, slots=True)
class DipKind:
    """tokens: that the steps around drafted, a request; dip: that those in the dip did. batch: as in StepKind."""

    tokens: int
    batch: int
    dip: int


@dataclass(slots=True)
class DipSums:
    """Of one kind. ratios: seconds of a step in the dip / of one around it, summed up. squares: of their squares."""

    dips: int = 0
    ratios: float = 0.0
    squares: float = 0.0


@dataclass(slots=True)
class Dips:
    """When an engine dips, and what came of it. draw: a random number from 0 to 1. share: of the time, instead of
    those above, and without a beginning in which all draft nothing; 0: it never dips.

    Chance decides when, so that no pattern of the traffic meets it, and that the pods of a service do not dip together.
    """

    draw: Callable[[], float]
    share: float | None = None
    sums: dict[DipKind, DipSums] = field(default_factory=dict)
    _begun: int = 0
    _at_load: dict[tuple[int, int], int] = field(default_factory=dict)
    _new: bool = True
    _wait: int = 0
    _left: int = 0
    _dip: int = 0
    _prompts: int = 0
    _queue: int = 0
    _lately: deque[float] = field(default_factory=lambda: deque(maxlen=_LATELY))
    _before: deque[TimedStep] = field(default_factory=lambda: deque(maxlen=REACH))
    _within: list[TimedStep] = field(default_factory=list)
    _after: list[TimedStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        """The first dip is as random as the others."""
        self._wait = self._pause()

    def begins(self, home: int, waiting: int, *, by_load: bool = False) -> int | None:
        """Return how many tokens the step that is scheduled next drafts in a dip; None if it is of none. home: tokens
        that it drafts otherwise, a request. waiting: requests in the queue: nothing is tried while it grows. by_load:
        whether `home` is only the most, and each load has its own number; then some dips draft the most.
        """
        if self._left:
            self._left -= 1
            return self._dip if self._dip <= home else None
        if not home:
            return None
        self._wait -= 1
        if self._wait == AROUND:
            self._queue = waiting
        if self._wait > 0 or self._within:
            return None
        if len(self._before) < AROUND or waiting > self._queue:
            self._wait = 2 * AROUND
            return None
        usual = min(home, self._before[-1].asked)
        load = usual, batch_of(self._before[-1].requests)
        self._at_load[load] = here = self._at_load.get(load, 0) + 1
        self._begun += 1
        self._new = here <= AT_LOAD
        self._wait, self._left, self._prompts = self._pause(), STEPS - 1, 0
        self._dip = self._drafts(usual, home if by_load else usual)
        return self._dip

    def cut(self) -> None:
        """End a dip early: vLLM's own schedule asks for as few tokens."""
        self._left = 0

    def put_off(self) -> None:
        """Go on with a dip after the step that was scheduled: it takes a prompt in, and the draft has to read that too.
        The next step is not counted, as the first of a dip is not; so it is one more, and the next dip comes later.
        """
        self._prompts += 1
        if self._prompts > MOST_PROMPTS:
            self.cut()
            return
        self._left = min(STEPS, self._left + 2)
        self._wait += self._pause() // STEPS

    def note(self, step: TimedStep, *, dipped: bool) -> None:
        """Take in a step that ended, except the first one after a change. dipped: whether it was of a dip."""
        if dipped:
            if self._before:  # else it ended after a pause, and its neighbours are forgotten
                self._within.append(step)
            return
        if self._before and self._before[-1].asked != step.asked:
            self.interrupt()
        if self._left:  # it takes a prompt in, in the midst of a dip
            return
        if not self._within:
            self._before.append(step)
            return
        self._after.append(step)
        if len(self._after) == REACH or (not len(self._after) % AROUND and self._has_all()):
            self._compare()
            self._before.extend(self._after)
            self._within, self._after = [], []

    def interrupt(self) -> None:
        """Forget the steps that were not compared yet: the engine paused for long, or it drafts another number."""
        self._before.clear()
        self._within, self._after, self._left = [], [], 0

    def _has_all(self) -> bool:
        """Whether each batch size of the dip has its steps after it. Until then a change would forget the dip."""
        within, after = _by_batch(self._within), _by_batch(self._after)
        return all(len(after.get(batch, ())) == AROUND for batch, each in within.items() if len(each) >= _FEWEST)

    def _compare(self) -> None:
        before, within, after = (_by_batch(each) for each in (reversed(self._before), self._within, self._after))
        home, dip = self._before[-1].asked, self._within[-1].asked
        if dip == home:  # vLLM's own schedule drafts as few at this batch size
            return
        for batch, seconds in within.items():
            sides = before.get(batch, []), after.get(batch, [])
            if min(len(seconds), *map(len, sides)) < _FEWEST:
                continue
            sums = self.sums.setdefault(DipKind(home, batch, dip), DipSums())
            ratio = _mean(seconds) / fmean(map(_mean, sides))
            sums.dips += 1
            sums.ratios += ratio
            sums.squares += ratio * ratio
            self._lately.append(ratio)

    def _drafts(self, home: int, most: int) -> int:
        """Tokens of the dip that begins: 0, or in turn 1, half of `home`, one less than it, and the most."""
        if not home:
            return most
        turn, rest = divmod(self._begun, 2)
        others = [each for each in sorted({1, home // 2, home - 1}) if 0 < each < home]
        others += [most] if most > home else []
        learnt = (self._begun > ENOUGH and not self._new) or self.share is not None
        return others[turn % len(others)] if others and learnt and rest else 0

    def _pause(self) -> int:
        share = (SHARE if self._begun < ENOUGH or self._new else LATER) if self.share is None else self.share
        takes = max(SHORTEST, fmean(self._lately)) if len(self._lately) * 4 >= _LATELY else 1.0
        return round(STEPS * takes * (1 / share - 1) * (0.5 + self.draw())) if share else sys.maxsize


def _by_batch(steps: Iterable[TimedStep]) -> dict[int, list[float]]:
    """The seconds of the first steps of each batch size that took no prompt in."""
    found: dict[int, list[float]] = {}
    for each in steps:
        if not each.prompt:
            found.setdefault(batch_of(each.requests), []).append(each.seconds)
    return {batch: seconds[:AROUND] for batch, seconds in found.items()}


def _mean(seconds: Sequence[float]) -> float:
    return fmean(sorted(seconds)[: max(1, round(_KEPT * len(seconds)))])
