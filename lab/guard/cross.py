"""The cross scene with Adapt: a draft that pays at night, with one request, and costs at noon, with eight.

    python -m lab.guard.cross

One pod, K = 3, windows of two minutes. The runtime's own dips and rows decide what each step drafts, and the guard's
own functions what is set. A step takes its seconds by load and tokens, with 10 % of scatter. A factor of each window
wanders by 8 %: of steps that draft, and not of others. A day has two hours of night, then two of noon. Speeds are
without scatter, and of the better of K and nothing at that load: 0.98 is the least that is wanted.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import Final

from specdec_operator.guard.adapt import PAUSE, wanted_rows
from specdec_operator.guard.dips import DipTotals, Kind, OtherDips, OtherKind
from specdec_operator.guard.gain import DipEvidence, DipSpan
from specdec_operator.guard.rows import Rows, as_setting, rows_text
from specdec_runtime.clock.dips import Dips
from specdec_runtime.clock.sums import StepKind, StepSums, TimedStep, add
from specdec_runtime.dial.schedule import RowChoice, rows_of
from specdec_runtime.dial.schedule import Rows as Followed

K: Final = 3
_PLAIN: Final = 0.02
_WINDOW: Final = 120.0
_SCATTER: Final = 0.10
_WANDERS: Final = 0.08
_LEAST: Final = 0.98
_NIGHT_GAIN: Final = 2.1
NOONS: Final = (0.54, 0.7, 0.8, 0.9, 0.96)
_HOURS: Final = ((1, 2.0), (8, 2.0))
"""Requests at once, and the hours of a day for which they are."""
_ACCEPTED: Final = {1: (0.9, 0.8, 0.7), 8: (0.5, 0.2, 0.1)}


@dataclass(kw_only=True)
class CrossEngine:
    """An engine with a step clock. noon: speed of K there, of none. at: its steady seconds."""

    noon: float
    draw: random.Random
    at: float = 0.0
    level: float = 0.0
    rows: Followed = ()
    asked: int = -1
    sums: dict[StepKind, StepSums] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Both parts as the runtime has them."""
        self.dips, self.choice = Dips(self.draw.random), RowChoice()

    def speed(self, load: int, tokens: int) -> float:
        """Tokens a second, of an engine at nothing."""
        return (1 + sum(_ACCEPTED[load][:tokens])) / self._cost(load, tokens)

    def _cost(self, load: int, tokens: int) -> float:
        """Seconds of a step, of one at nothing: a straight line through that of K."""
        gain = _NIGHT_GAIN if load == 1 else self.noon
        return 1 + ((1 + sum(_ACCEPTED[load])) / gain - 1) * tokens / K

    def step(self, load: int) -> tuple[float, float]:
        """One step; returns the tokens that it brings a request, and its seconds, both on average."""
        usual = self.choice.tokens(self.rows, load) if self.rows else K
        dip = self.dips.begins(K, 0, by_load=bool(self.rows))
        if dip is not None and dip == usual:
            self.dips.cut()
            dip = None
        tokens = usual if dip is None else dip
        wander = 1 + _WANDERS * self.level if tokens else 1.0
        seconds = _PLAIN * self._cost(load, tokens) * wander * max(0.2, self.draw.gauss(1, _SCATTER))
        self.at += seconds
        steady, self.asked = tokens == self.asked, tokens
        if steady:
            kept = [self._kept(load, tokens) for _ in range(load)] if tokens else []
            brought = load + sum(kept)
            step = TimedStep(
                asked=tokens,
                requests=load,
                answered=load,
                prompt=False,
                seconds=seconds,
                tokens=brought,
                drafted=tokens * load,
                kept=kept,
            )
            add(self.sums, step)
            self.dips.note(step, dipped=dip is not None)
        return 1 + sum(_ACCEPTED[load][:tokens]), _PLAIN * self._cost(load, tokens)

    def _kept(self, load: int, tokens: int) -> int:
        """Accepted tokens of one draft: as many as its positions have on average."""
        chance = self.draw.random()
        return sum(chance < share for share in _ACCEPTED[load][:tokens])


def counted(engine: CrossEngine) -> DipSpan:
    """The counters of a window, which begin again, as the operator reads them."""
    kinds: dict[Kind, DipTotals] = {}
    accepted: dict[Kind, tuple[float, ...]] = {}
    for kind, each in engine.sums.items():
        if kind.tokens:
            kinds[kind.tokens, kind.batch] = DipTotals(seconds=each.seconds, requests=each.requests, tokens=each.tokens)
            accepted[kind.tokens, kind.batch] = tuple(map(float, each.accepted))
    others: dict[OtherKind, DipTotals] = {}
    for dipped, sums in engine.dips.sums.items():
        home, found = (dipped.tokens, dipped.batch), DipTotals(dips=sums.dips, ratios=sums.ratios, squares=sums.squares)
        if dipped.dip:
            others[*home, dipped.dip] = found
        else:
            kinds[home] = kinds.get(home, DipTotals()).plus(found)
    engine.sums.clear()
    engine.dips.sums.clear()
    return DipSpan(kinds=kinds, other=OtherDips(dips=others, accepted=accepted), seconds=_WINDOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossWindow:
    """at: its end, in minutes. speed: of the better of K and nothing. rows: those that held."""

    at: float
    load: int
    speed: float
    rows: Rows


def windows(engine: CrossEngine, *, adapts: bool, days: int = 2) -> Iterator[CrossWindow]:
    """Each window of some days."""
    evidence, changed = DipEvidence(), -PAUSE
    present: Rows = ()
    for load, hours in _HOURS * days:
        until = engine.at + 3600 * hours
        while engine.at < until:
            engine.level = engine.draw.gauss(0, 1)
            steps, end = list[tuple[float, float]](), engine.at + _WINDOW
            while engine.at < end:
                steps.append(engine.step(load))
            speed = _PLAIN * sum(each for each, _ in steps) / sum(each for _, each in steps)
            best = max(1.0, engine.speed(load, K))
            yield CrossWindow(at=engine.at / 60, load=load, speed=speed / best, rows=present)
            evidence = evidence.plus(counted(engine))
            wanted = wanted_rows(evidence.before, evidence.gain, present, K) if adapts else None
            if wanted is not None and engine.at - changed >= PAUSE:
                present, changed, evidence = wanted.rows, engine.at, DipEvidence()
                engine.rows = rows_of(as_setting(present), K) if present else ()


def longest_below(found: list[CrossWindow]) -> float:
    """Minutes of the longest time in which each window is slower than 0.98."""
    runs = (sum(1 for _ in run) for slow, run in groupby(found, key=lambda each: each.speed < _LEAST) if slow)
    return max(runs, default=0) * _WINDOW / 60


def shown(noon: float, *, adapts: bool) -> str:
    """One line about a noon at which K has this speed."""
    found = list(windows(CrossEngine(noon=noon, draw=random.Random(38)), adapts=adapts))  # noqa: S311 - no secret
    day = found[len(found) // 2 :]
    by_load = {load: fmean(each.speed for each in day if each.load == load) for load, _ in _HOURS}
    rows = ", ".join(dict.fromkeys(rows_text(each.rows) if each.rows else "K" for each in found))
    return (
        f"noon {noon:.2f}: below 0.98 for {longest_below(found):.0f} min in a row at most, on the second day "
        f"{longest_below(day):.0f}; then speed {by_load[1]:.3f} at night, {by_load[8]:.3f} at noon; rows: {rows}"
    )


def main() -> None:
    """Print a line for each noon, with Adapt, and one without."""
    for noon in NOONS:
        print(shown(noon, adapts=True), flush=True)
    print("without Adapt:", shown(NOONS[0], adapts=False))


if __name__ == "__main__":
    main()
