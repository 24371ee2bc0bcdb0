"""The figures: which scenes are simulated, on all cores, and their results."""

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from lab.guard import hours
from lab.guard.rules import GUARD, RULES
from lab.guard.scenes import GUARD_SPEC, Scene, SceneResult, SpeedScene, run, run_speed
from lab.guard.traffic import BURSTY, KINDS, TrafficKind

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
class FiguresSize:
    """How much is simulated: windows for alarms, services for the others; hours: of what takes hours and days."""

    alarms: int
    catches: int
    curve: int
    delays: int
    speed: int
    hours: hours.HoursSize


FULL: Final = FiguresSize(alarms=10_000, catches=800, curve=200, delays=300, speed=100, hours=hours.FULL)
QUICK: Final = FiguresSize(alarms=50, catches=2, curve=1, delays=2, speed=1, hours=hours.QUICK)


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
class GuardFigures:
    """All of them."""

    alarms: tuple[Alarm, ...]
    catches: tuple[Catch, ...]
    curve: tuple[Point, ...]
    acceptance_delays: tuple[Delay, ...]
    speed_delays: tuple[Delay, ...]
    hours: hours.Hours


Made = TypeVar("Made")
Result = TypeVar("Result")


def simulate(size: FiguresSize, seed: int, workers: int) -> GuardFigures:
    """Simulates everything. The same seed gives the same figures, whatever the number of workers."""
    number = itertools.count()
    with ProcessPoolExecutor(workers) as pool:

        def jobs(does: Callable[[Made, tuple[int, ...]], Result], scenes: list[Made]) -> Iterable[tuple[Made, Result]]:
            """Starts scenes side by side; each has its own seed, so that their order means nothing."""
            return zip(scenes, pool.map(does, scenes, [(seed, next(number)) for _ in scenes]), strict=True)

        every = [(kind, volume) for kind in KINDS for volume in VOLUMES]
        alarms = jobs(run, [_scene(*each, ABOVE, size.alarms // 50, 50) for each in every])
        catches = jobs(run, [_scene(*each, BELOW, size.catches, 2 * LIMIT) for each in every])
        points = [(kind, CURVE_VOLUME, offset) for kind in KINDS for offset in OFFSETS]
        curve = jobs(run, [_scene(*each, size.curve, CURVE_WINDOWS) for each in points])
        drifts = [(BURSTY, volume, to) for to in (-0.2, BELOW) for volume in (20, 50, 200)]
        delays = jobs(run, [_scene(*each, size.delays, 12, onset=True) for each in drifts])
        slow = [{"volume": volume, "ratio": to} for to in RATIOS for volume in SPEED_VOLUMES]
        speed = jobs(run_speed, [SpeedScene(**each, services=size.speed, windows=13) for each in slow])
        return GuardFigures(
            alarms=tuple(_as_alarm(*each) for each in alarms),
            catches=tuple(_as_catch(*each) for each in catches),
            curve=tuple(_as_point(*each) for each in curve),
            acceptance_delays=tuple(
                _as_delay(f"acceptance {100 * scene.offset:+.0f} points", scene.volume, seen.delays)
                for scene, seen in delays
            ),
            speed_delays=tuple(
                _as_delay(f"speed {scene.ratio:.2f} of the minimum", scene.volume, seen) for scene, seen in speed
            ),
            hours=hours.simulate(size.hours, seed, pool),
        )


def _scene(
    kind: TrafficKind, volume: float, offset: float, services: int, windows: int, *, onset: bool = False
) -> Scene:
    return Scene(kind=kind, volume=volume, offset=offset, services=services, windows=windows, onset=onset)


def _as_alarm(scene: Scene, seen: SceneResult) -> Alarm:
    decided = {name: seen.outcomes[name].decisions for name in RULES}
    a_window = {name: decided[name] / seen.outcomes[name].windows for name in RULES}
    watched: dict[str, Any] = {"windows": scene.services * scene.windows, "rollbacks": decided, "a_window": a_window}
    return Alarm(**_named(scene), **watched, low=seen.low)


def _as_catch(scene: Scene, seen: SceneResult) -> Catch:
    within: dict[str, Any] = {"within_limit": _within(seen, LIMIT), "within_twice": _within(seen, 2 * LIMIT)}
    return Catch(**_named(scene), services=scene.services, **within)


def _as_point(scene: Scene, seen: SceneResult) -> Point:
    within: dict[str, Any] = {"within_limit": _within(seen, LIMIT), "within_ten": _within(seen, CURVE_WINDOWS)}
    return Point(**_named(scene), offset=scene.offset, services=scene.services, **within)


def _named(scene: Scene) -> dict[str, Any]:
    return {"kind": scene.kind.name, "volume": scene.volume}


def _within(seen: SceneResult, windows: int) -> ByRule:
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


def alarms_hold_from(found: GuardFigures, kind: str) -> float | None:
    """Requests in a window from which wrong rollbacks are as rare as they have to be."""
    return holds_from({each.volume: each.a_window[GUARD] <= MOST_ALARMS for each in found.alarms if each.kind == kind})


def catches_hold_from(found: GuardFigures, kind: str) -> float | None:
    """Requests in a window from which a bad draft is caught in time."""
    good = {each.volume: each.within_limit[GUARD] >= LEAST_CAUGHT for each in found.catches if each.kind == kind}
    return holds_from(good)
