"""The cross scene with Adapt: a draft that pays at night, with one request, and costs at noon, with eight; written to
docs/guard/cross.json.

    python -m lab.guard.cross

One pod, K = 3, windows of two minutes. The runtime's own dips and rows decide what each step drafts, and the guard's
own functions what is set. A step takes its seconds by load and tokens, with 10 % of scatter. A factor of each window
wanders by 8 %: of steps that draft, and not of others. A day has two hours of night, then two of noon. Speeds are
without scatter, and of the better of K and nothing at that load: 0.98 is the least that is wanted.
"""

import json
import pathlib
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby, product
from statistics import fmean, median
from typing import Final

from hack import machine

from specdec_operator.guard.adapt import PAUSE, wanted_rows
from specdec_operator.guard.dips import DipTotals, Kind, OtherDips, OtherKind
from specdec_operator.guard.gain import DipEvidence, DipSpan
from specdec_operator.guard.rows import Rows, as_setting, rows_text
from specdec_runtime.clock.dips import Dips
from specdec_runtime.clock.sums import StepKind, StepSums, TimedStep, add
from specdec_runtime.dial.schedule import RowChoice, rows_of
from specdec_runtime.dial.schedule import Rows as Followed

OUT: Final = pathlib.Path(__file__).parents[2] / "docs" / "guard" / "cross.json"
SERVICES: Final = 6
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossService:
    """What came of one service. below: minutes of the longest time below 0.98, on the first day and on the second;
    night, noon: mean speed on the second day, of the better of K and nothing. rows: in the end; K: none.
    """

    below: tuple[float, float]
    night: float
    noon: float
    rows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossServices:
    """What came of the services of a scene. speed: of K at noon, of none. adapts: whether guard.tokens is Adapt. below:
    as of one, the median and the longest of them all, by day; night, noon: medians. rows: those that most ended with.
    """

    speed: float
    adapts: bool
    services: int
    below: tuple[float, float]
    longest: tuple[float, float]
    night: float
    noon: float
    rows: str


def followed(speed: float, seed: int, *, adapts: bool) -> CrossService:
    """One service, for two days."""
    found = list(windows(CrossEngine(noon=speed, draw=random.Random(seed)), adapts=adapts))  # noqa: S311 - no secret
    first, second = found[: len(found) // 2], found[len(found) // 2 :]
    by_load = {load: fmean(each.speed for each in second if each.load == load) for load, _ in _HOURS}
    rows = rows_text(found[-1].rows) if found[-1].rows else "K"
    return CrossService(
        below=(longest_below(first), longest_below(second)), night=by_load[1], noon=by_load[8], rows=rows
    )


def result(speed: float, found: list[CrossService], *, adapts: bool) -> CrossServices:
    """All services of a scene."""
    by_day = [[each.below[day] for each in found] for day in range(2)]
    ended = [each.rows for each in found]
    return CrossServices(
        speed=speed,
        adapts=adapts,
        services=len(found),
        below=(median(by_day[0]), median(by_day[1])),
        longest=(max(by_day[0]), max(by_day[1])),
        night=round(median(each.night for each in found), 4),
        noon=round(median(each.noon for each in found), 4),
        rows=max(ended, key=ended.count),
    )


def main() -> None:
    """Run all scenes, and write what came of them."""
    scenes = []
    with ProcessPoolExecutor() as executor:
        for adapts, noon in product((True, False), NOONS):
            found = executor.map(partial(followed, noon, adapts=adapts), range(SERVICES if adapts else 2))
            scenes.append(asdict(result(noon, [*found], adapts=adapts)))
            print(scenes[-1], flush=True)
    OUT.write_text(json.dumps({"origin": machine.origin(), "scenes": scenes}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
