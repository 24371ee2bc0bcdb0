"""What is simulated: services under one kind of traffic, at one volume, with one true acceptance or speed."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from lab.guard.rules import GUARD, RuleOutcome, play
from lab.guard.speed import readings, serve
from lab.guard.traffic import TOKENS, Floats, TrafficKind, drafting, requests
from specdec_operator.api.guard import Guard as Asked
from specdec_operator.api.speculation import Method
from specdec_operator.guard.policy import METHODS, Policy, Thresholds, policy_of, thresholds
from specdec_operator.guard.sampler import Schedule

LEAST: Final = 0.4
"""The threshold of acceptance: the guard's own for a draft model."""
GUARD_SPEC: Final = Asked.model_validate({"acceptanceRate": {"min": LEAST}})
"""Everything else is the API's default."""
SPEED_SPEC: Final = Asked.model_validate({"acceptanceRate": {"min": LEAST}, "speedup": {"min": 1.0}})
PER_WINDOW: Final = round(GUARD_SPEC.window / GUARD_SPEC.interval)
"""Ticks of a window."""
_BEFORE, _FAST = 0.2, 1.3
"""Before it drifts: acceptance above the threshold, and speed against plain."""
_MOST_BASELINE: Final = 12
"""Windows of plain traffic that are at hand to be measured: more than the guard ever waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Services whose true acceptance is `offset` above the threshold. volume: requests in a window, on average.

    onset: whether it is well above it at first, and drifts at some moment of the third window.
    """

    kind: TrafficKind
    volume: float
    offset: float
    services: int
    windows: int
    onset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedScene:
    """Services that are 1.3 times as fast as the baseline, later `ratio` times the required speedup."""

    volume: float
    ratio: float
    services: int
    windows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneResult:
    """What came of a scene. low: share of spans of failureLimit windows whose true acceptance was below the threshold.

    delays: from the onset to the guard's decision, in windows, None where it never came; empty without an onset.
    """

    outcomes: dict[str, RuleOutcome]
    low: float
    delays: tuple[float | None, ...] = ()


def judged_by(spec: Asked) -> tuple[Thresholds, Policy, Schedule]:
    """The guard's settings for these fields of the spec."""
    limits = thresholds(spec, METHODS[Method.DRAFT_MODEL], tokens=TOKENS)
    return limits, policy_of(spec, held=False), Schedule(interval=spec.interval, window=spec.window)


def run(scene: Scene, seed: tuple[int, ...]) -> SceneResult:
    """Simulates it; equal seeds, equal results."""
    chance = np.random.default_rng(seed)
    mean, onsets = _means(scene, chance)
    tick = GUARD_SPEC.interval
    asked = requests(scene.kind, mean, scene.volume / GUARD_SPEC.window, tick, chance)
    outcomes = play(drafting(asked, len(mean), tick, chance), *judged_by(GUARD_SPEC), scene.windows)
    return SceneResult(outcomes=outcomes, low=_low(asked.local), delays=_delays(outcomes[GUARD], onsets))


def _means(scene: Scene, chance: np.random.Generator) -> tuple[Floats, list[float]]:
    """The true acceptance by tick, and for each service when it drifts, in windows; never without an onset."""
    per = scene.windows * PER_WINDOW
    mean = np.full((scene.services, per), LEAST + scene.offset)
    onsets = chance.integers(2 * PER_WINDOW, 3 * PER_WINDOW, scene.services) if scene.onset else ()
    for service, onset in enumerate(onsets):
        mean[service, :onset] = LEAST + _BEFORE
    return np.append(mean.ravel(), mean[-1, -1]), [float(onset) / PER_WINDOW for onset in onsets]


def _delays(outcome: RuleOutcome, onsets: list[float]) -> tuple[float | None, ...]:
    pairs = zip(outcome.first, onsets, strict=True) if onsets else ()
    return tuple(first - onset if first else None for first, onset in pairs)


def _low(local: Floats) -> float:
    span = GUARD_SPEC.failure_limit * PER_WINDOW
    summed = np.concatenate(([0.0], np.cumsum(local)))
    return float(np.mean((summed[span:] - summed[:-span]) / span < LEAST))


def run_speed(scene: SpeedScene, seed: tuple[int, ...]) -> tuple[float | None, ...]:
    """From the onset to the decision, in windows, for each service; None where it never came."""
    chance = np.random.default_rng(seed)
    return tuple(_delay(scene, chance) for _ in range(scene.services))


def _delay(scene: SpeedScene, chance: np.random.Generator) -> float | None:
    tick, volume = SPEED_SPEC.interval, scene.volume / SPEED_SPEC.window
    onset = int(chance.integers(2 * PER_WINDOW, 3 * PER_WINDOW))
    true = np.full(scene.windows * PER_WINDOW, _FAST)
    true[onset:] = scene.ratio * (SPEED_SPEC.speedup.min if SPEED_SPEC.speedup else 1.0)
    baseline = readings(np.ones(_MOST_BASELINE * PER_WINDOW), volume, tick, chance)
    decided = serve(iter(baseline), readings(true, volume, tick, chance), *judged_by(SPEED_SPEC))
    return None if decided is None else (decided - onset) / PER_WINDOW
