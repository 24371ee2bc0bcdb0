"""Figures over hours and days: how often useful speculation is lost, how soon useless speculation is removed, and how
often the intervals hold what they promise.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from math import exp, factorial, sqrt
from typing import Final

import numpy as np

from lab.guard import coverage, days, with_baseline
from lab.guard.days import LongAnswers, ServiceDays, Wander
from lab.guard.with_baseline import Arrangement, Ended, TrafficChange

_FIRST: Final = 10_000
"""Seeds of these scenes begin here, so that they are others than those of the windows."""
_RARE: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class HoursSize:
    """How much is simulated. services: of each scene, for `changes` and `machines` seconds, and of each step.
    days: of `day` seconds of services whose acceptance wanders, times what the scene asks for. windows: for each
    interval. scenes: how many of each kind.
    """

    services: int
    changes: float
    machines: float
    days: int
    day: float
    windows: int
    scenes: int = 100


FULL: Final = HoursSize(
    services=24,
    changes=with_baseline.SHIFT + 3 * days.HOUR,
    machines=3 * days.HOUR,
    days=24,
    day=days.DAY,
    windows=2000,
)
QUICK: Final = HoursSize(
    services=1, changes=with_baseline.SHIFT + 900, machines=2400, days=1, day=1200, windows=48, scenes=1
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Results of services with baseline pods to compare with. speedup: the requested true one; true: as it came out.
    minutes: until speculation was lost, rising, for services that lost it; goal: at most. a_day: how often it is lost,
    for each day with it. armed: share of the time in which a baseline pod ran in addition or in place of one. doubts:
    requests for a baseline pod a day.
    """

    name: str
    arrangement: str
    speedup: float
    true: float
    goal: float | None
    services: int
    minutes: tuple[float, ...]
    a_day: float
    armed: float
    doubts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Daily:
    """Rollbacks, and restarts of single pods, of services that are above their minimum. goal: rollbacks a day, at most;
    most: what they prove to be the most, with 95 % confidence. struck: share of the days with one.
    """

    name: str
    goal: float | None
    days: float
    rollbacks: int
    a_day: float
    most: float
    struck: float
    restarts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """Acceptance that falls below its minimum. minutes: from then to the decision, rising. early: decided before."""

    name: str
    goal: float | None
    services: int
    early: int
    minutes: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """How often an interval holds the truth. steps: median, of an answer. own: by how much each machine wanders."""

    interval: str
    memory: float
    volume: float
    steps: float
    own: float
    number: int
    local: float
    long_run: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """All of them."""

    compared: tuple[Compared, ...]
    daily: tuple[Daily, ...]
    falls: tuple[Fall, ...]
    intervals: tuple[Interval, ...]


def simulate(size: HoursSize, seed: int, pool: Executor) -> Hours:
    """Simulates everything, the longest first. Each job has its own seed, so that their order means nothing."""
    few = slice(size.scenes)
    changes: list[_Scene] = [(each, size.machines) for each in with_baseline.MACHINES[few]]
    changes += [(each, size.changes) for each in with_baseline.CHANGES[few]]
    compared = pool.map(partial(_played, services=size.services), changes, _seeds(seed, 0, changes))
    alarms: list[Wander | LongAnswers] = [*days.ALARMS[few], *days.LONG[few]]
    watched: list[_Day] = [(scene, size.day) for scene in alarms for _ in range(size.days * scene.times)]
    daily = pool.map(_day, watched, _seeds(seed, 1, watched))
    falling: list[_Day] = [
        (scene, with_baseline.SHIFT + days.HOUR) for scene in days.STEPS[few] for _ in range(2 * size.services)
    ]
    falls = pool.map(_day, falling, _seeds(seed, 2, falling))
    shown = [each for number, each in enumerate(coverage.ASKED) if number % 9 < size.scenes]
    held = pool.map(partial(_held, size.windows), shown, _seeds(seed, 3, shown))
    return Hours(
        compared=tuple(each for figures in compared for each in figures),
        daily=tuple(_daily(*each) for each in _by_scene(watched, daily)),
        falls=tuple(_fall(*each) for each in _by_scene(falling, falls)),
        intervals=tuple(Interval(**asdict(asked), **asdict(found)) for asked, found in zip(shown, held, strict=True)),
    )


def _seeds(seed: int, kind: int, jobs: Sequence[object]) -> list[tuple[int, ...]]:
    return [(seed, _FIRST + kind, number) for number in range(len(jobs))]


def _held(windows: int, asked: coverage.IntervalCase, seed: tuple[int, ...]) -> coverage.Held:
    return coverage.held(asked, windows, seed)


_Scene = tuple[TrafficChange, float]


def _played(scene: _Scene, seed: tuple[int, ...], *, services: int) -> tuple[Compared, ...]:
    change, seconds = scene
    made, true = with_baseline.simulate(change, services, seconds, np.random.default_rng(seed))
    return tuple(
        _compared(change, each, true, [with_baseline.play(pages, each, change) for pages in made])
        for each in Arrangement
    )


def _compared(change: TrafficChange, arrangement: Arrangement, true: float, ended: list[Ended]) -> Compared:
    lost = sorted(each.lost / 60 for each in ended if each.lost is not None)
    watched = sum(each.watched for each in ended)
    return Compared(
        name=change.name,
        arrangement=arrangement.value,
        speedup=change.speedup,
        goal=change.goal,
        true=true,
        services=len(ended),
        minutes=tuple(lost),
        a_day=len(lost) * days.DAY / watched,
        armed=sum(each.armed for each in ended) / watched,
        doubts=sum(each.doubts for each in ended) * days.DAY / watched,
    )


_Day = tuple[Wander | LongAnswers, float]


def _day(asked: _Day, seed: tuple[int, ...]) -> ServiceDays:
    scene, seconds = asked
    return days.day(scene, seconds, seed)


def _by_scene(
    asked: Sequence[_Day], seen: Iterable[ServiceDays]
) -> Iterator[tuple[Wander | LongAnswers, list[ServiceDays]]]:
    """What became of the services of each scene, which lie together."""
    for scene, group in groupby(zip(asked, seen, strict=True), key=lambda each: each[0][0]):
        yield scene, [each for _, each in group]


def _daily(scene: Wander | LongAnswers, seen: list[ServiceDays]) -> Daily:
    number, watched = sum(len(each.rollbacks) for each in seen), sum(each.seconds for each in seen) / days.DAY
    return Daily(
        name=scene.name,
        goal=scene.goal,
        days=watched,
        rollbacks=number,
        a_day=number / watched,
        most=most(number) / watched,
        struck=sum(bool(each.rollbacks) for each in seen) / len(seen),
        restarts=sum(each.restarts for each in seen),
    )


def _fall(scene: Wander | LongAnswers, seen: list[ServiceDays]) -> Fall:
    minutes = sorted(at / 60 for each in seen for at in each.rollbacks)
    early, late = [each for each in minutes if each <= 0], tuple(each for each in minutes if each > 0)
    return Fall(name=scene.name, goal=scene.goal, services=len(seen), early=len(early), minutes=late)


def most(number: int) -> float:
    """The largest mean of a Poisson distribution that gives so few in 5 % of the cases: what so few prove."""
    low, high = float(number), number + 10 * sqrt(number + 1)
    for _ in range(60):
        middle = (low + high) / 2
        rarer = exp(-middle) * sum(middle**each / factorial(each) for each in range(number + 1)) < _RARE
        low, high = (low, middle) if rarer else (middle, high)
    return high


def median(minutes: Sequence[float], of: int) -> float | None:
    """Of all services; None where half of them or more kept speculation."""
    middle = (of + 1) // 2
    return minutes[middle - 1] if len(minutes) >= middle else None
