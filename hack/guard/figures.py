"""The figures: which scenes are simulated, on all cores, and what is said about them."""

import itertools
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from hack.guard.rules import GUARD, RULES
from hack.guard.scenes import GUARD_SPEC, Scene, Seen, SpeedScene, run, run_speed
from hack.guard.traffic import BURSTY, KINDS, Kind

ABOVE: Final = 0.05
BELOW: Final = -0.10
VOLUMES: Final = (10, 20, 50, 100, 200)
"""Requests in a window."""
OFFSETS: Final = (-0.2, -0.15, -0.1, -0.075, -0.05, -0.025, 0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2)
CURVE_VOLUME: Final = 50
CURVE_WINDOWS: Final = 10
RATIOS: Final = (0.85, 0.95, 1.05)
SPEED_VOLUMES: Final = (20, 50, 100, 200)
MOST_ALARMS: Final = 0.001
"""Rollbacks a window, with a true acceptance 5 points above the threshold."""
LEAST_CAUGHT: Final = 0.99
"""Of the services 10 points below it, within failureLimit windows."""
LIMIT: Final = GUARD_SPEC.failure_limit
ByRule = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is simulated: windows for alarms, services for the others."""

    alarms: int
    catches: int
    curve: int
    delays: int
    speed: int


FULL: Final = Size(alarms=10_000, catches=800, curve=200, delays=300, speed=100)
QUICK: Final = Size(alarms=50, catches=2, curve=1, delays=2, speed=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Rollbacks that were wrong, by rule, in so many windows that were simulated; a_window: per window watched.

    low: share of spans of failureLimit windows whose true acceptance, topic and all, was below the threshold.
    """

    kind: str
    volume: float
    windows: int
    rollbacks: dict[str, int]
    a_window: ByRule
    low: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """Share of services that a rule took speculation from within failureLimit windows, and within twice as many."""

    kind: str
    volume: float
    services: int
    within_limit: ByRule
    within_twice: ByRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Share of services that lost speculation, at a true acceptance `offset` above the threshold."""

    kind: str
    volume: float
    offset: float
    services: int
    within_limit: ByRule
    within_ten: ByRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """From the onset to the decision, in windows, rising; of: services. early: decisions before the onset.

    name: of what drifts to where. in_time: share of services decided within failureLimit + 1 windows of the onset.
    """

    name: str
    volume: float
    of: int
    early: int
    in_time: float
    windows: tuple[float, ...]

    @property
    def median(self) -> float | None:
        """Of all services; None where more than half of them kept speculation."""
        middle = (self.of + 1) // 2
        return self.windows[middle - 1] if len(self.windows) >= middle else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All of them."""

    alarms: tuple[Alarm, ...]
    catches: tuple[Catch, ...]
    curve: tuple[Point, ...]
    acceptance_delays: tuple[Delay, ...]
    speed_delays: tuple[Delay, ...]


Made = TypeVar("Made")
Result = TypeVar("Result")


class _Jobs:
    """Scenes that run side by side; each has its own seed, so that their order means nothing."""

    def __init__(self, pool: Executor, seed: int) -> None:
        self._pool, self._seed, self._number = pool, seed, itertools.count()

    def start(
        self, does: Callable[[Made, tuple[int, ...]], Result], scenes: list[Made]
    ) -> list[tuple[Made, Future[Result]]]:
        """Starts them."""
        return [(each, self._pool.submit(does, each, (self._seed, next(self._number)))) for each in scenes]


def simulate(size: Size, seed: int, workers: int) -> Figures:
    """Simulates everything. The same seed gives the same figures, whatever the number of workers."""
    with ProcessPoolExecutor(workers) as pool:
        jobs = _Jobs(pool, seed)
        alarms = jobs.start(run, [_alarm(kind, volume, size) for kind in KINDS for volume in VOLUMES])
        catches = jobs.start(run, [_catch(kind, volume, size) for kind in KINDS for volume in VOLUMES])
        curve = jobs.start(run, [_point(kind, offset, size) for kind in KINDS for offset in OFFSETS])
        delays = jobs.start(run, [_drift(volume, to, size) for to in (-0.2, BELOW) for volume in (20, 50, 200)])
        speed = jobs.start(run_speed, [_speed(volume, to, size) for to in RATIOS for volume in SPEED_VOLUMES])
        return Figures(
            alarms=tuple(_as_alarm(scene, job.result()) for scene, job in alarms),
            catches=tuple(_as_catch(scene, job.result()) for scene, job in catches),
            curve=tuple(_as_point(scene, job.result()) for scene, job in curve),
            acceptance_delays=tuple(
                _as_delay(f"acceptance {100 * scene.offset:+.0f} points", scene.volume, job.result().delays)
                for scene, job in delays
            ),
            speed_delays=tuple(
                _as_delay(f"speed {scene.ratio:.2f} of the minimum", scene.volume, job.result()) for scene, job in speed
            ),
        )


def _alarm(kind: Kind, volume: float, size: Size) -> Scene:
    return Scene(kind=kind, volume=volume, offset=ABOVE, services=size.alarms // 50, windows=50)


def _catch(kind: Kind, volume: float, size: Size) -> Scene:
    return Scene(kind=kind, volume=volume, offset=BELOW, services=size.catches, windows=2 * LIMIT)


def _point(kind: Kind, offset: float, size: Size) -> Scene:
    return Scene(kind=kind, volume=CURVE_VOLUME, offset=offset, services=size.curve, windows=CURVE_WINDOWS)


def _drift(volume: float, to: float, size: Size) -> Scene:
    return Scene(kind=BURSTY, volume=volume, offset=to, services=size.delays, windows=12, onset=True)


def _speed(volume: float, ratio: float, size: Size) -> SpeedScene:
    return SpeedScene(volume=volume, ratio=ratio, services=size.speed, windows=13)


def _as_alarm(scene: Scene, seen: Seen) -> Alarm:
    return Alarm(
        kind=scene.kind.name,
        volume=scene.volume,
        windows=scene.services * scene.windows,
        rollbacks={name: seen.outcomes[name].decisions for name in RULES},
        a_window={name: seen.outcomes[name].decisions / seen.outcomes[name].windows for name in RULES},
        low=seen.low,
    )


def _as_catch(scene: Scene, seen: Seen) -> Catch:
    return Catch(
        kind=scene.kind.name,
        volume=scene.volume,
        services=scene.services,
        within_limit=_within(seen, LIMIT),
        within_twice=_within(seen, 2 * LIMIT),
    )


def _as_point(scene: Scene, seen: Seen) -> Point:
    return Point(
        kind=scene.kind.name,
        volume=scene.volume,
        offset=scene.offset,
        services=scene.services,
        within_limit=_within(seen, LIMIT),
        within_ten=_within(seen, CURVE_WINDOWS),
    )


def _within(seen: Seen, windows: int) -> ByRule:
    return {name: seen.outcomes[name].within(windows) for name in RULES}


def _as_delay(name: str, volume: float, delays: tuple[float | None, ...]) -> Delay:
    late = sorted(each for each in delays if each is not None and each > 0)
    return Delay(
        name=name,
        volume=volume,
        of=len(delays),
        early=sum(each is not None and each <= 0 for each in delays),
        in_time=sum(each <= LIMIT + 1 for each in late) / len(delays),
        windows=tuple(late),
    )


def holds_from(good: dict[float, bool]) -> float | None:
    """The smallest volume from which on everything is good; None where the largest is not."""
    found = None
    for volume in sorted(good, reverse=True):
        if not good[volume]:
            break
        found = volume
    return found


def alarms_hold_from(found: Figures, kind: str) -> float | None:
    """Requests in a window from which wrong rollbacks are as rare as they have to be."""
    return holds_from({each.volume: each.a_window[GUARD] <= MOST_ALARMS for each in found.alarms if each.kind == kind})


def catches_hold_from(found: Figures, kind: str) -> float | None:
    """Requests in a window from which a bad draft is caught in time."""
    good = {each.volume: each.within_limit[GUARD] >= LEAST_CAUGHT for each in found.catches if each.kind == kind}
    return holds_from(good)
