"""Acceptance over whole days: how often a service that is above its minimum loses speculation, and how soon one goes
that falls below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lab.guard.rules import counters
from lab.guard.scenes import GUARD_SPEC, LEAST
from lab.guard.service import SimulatedService, watched
from lab.guard.traffic import LEAD, STEP_SECONDS, DraftingTicks, SimulatedRequests, TrafficKind, drafting, requests
from specdec_operator.guard.counters import Counters

TICK: Final = GUARD_SPEC.interval
HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
_VOLUME: Final = 50 / GUARD_SPEC.window
"""Requests a second of one pod: 50 in a window."""
_BEFORE: Final = 0.2
_SETTLED: Final = 1800.0
"""Seconds for which acceptance is good before it falls; and by how much it is above its minimum then."""
_LONG: Final = 600.0
"""Seconds that a long answer takes; two at a time run in each pod, and another follows when one ends."""
_LIKENESS, _SPREAD = 10.0, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Wander:
    """Acceptance `offset` above its minimum on the mean, that wanders by `by` (standard deviation) and forgets in so
    many seconds. step: it is well above its minimum for half an hour, and falls then. times: how many times as many
    days are simulated: what is rarer takes more. goal: rollbacks a day, or minutes to the decision, at most.
    """

    name: str
    offset: float
    by: float = 0.05
    memory: float = 300.0
    step: bool = False
    times: int = 1
    goal: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LongAnswers:
    """Acceptance 20 points above its minimum, in pods that have two answers of ten minutes each at a time."""

    name: str
    pods: int
    offset: float = 0.2
    times: int = 1
    goal: float = 0.0


ALARMS: Final[tuple[Wander, ...]] = (
    Wander(name="5 points above, varies by 5 over 5 minutes", offset=0.05, times=3, goal=0.05),
    Wander(name="5 points above, varies by 5 over 30 minutes", offset=0.05, memory=1800.0, times=2),
    Wander(name="10 points above, varies by 5 over 5 minutes", offset=0.10, times=12, goal=0.005),
    Wander(name="10 points above, varies by 5 over 30 minutes", offset=0.10, memory=1800.0, times=4),
)
STEPS: Final[tuple[Wander, ...]] = tuple(
    Wander(name=f"{how} traffic falls to {-100 * to:.0f} points below", offset=to, by=by, step=True, goal=goal)
    for how, by in (("steady", 0.01), ("varying", 0.05))
    for to, goal in ((-0.2, 8.0), (-0.1, 15.0))
)
LONG: Final[tuple[LongAnswers, ...]] = (
    LongAnswers(name="two answers of ten minutes in one pod, 20 points above", pods=1),
    LongAnswers(name="the same in each of six pods", pods=6),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDays:
    """What became of one service. seconds: watched. rollbacks: when, in seconds; it begins again after each.

    restarts: of single pods.
    """

    seconds: float
    rollbacks: tuple[float, ...]
    restarts: int = 0


def day(scene: Wander | LongAnswers, seconds: float, seed: tuple[int, ...]) -> ServiceDays:
    """One service for so long; one whose acceptance falls is watched until it loses speculation."""
    return _wandering(scene, seconds, seed) if isinstance(scene, Wander) else _with_long_answers(scene, seconds, seed)


def _wandering(scene: Wander, seconds: float, seed: tuple[int, ...]) -> ServiceDays:
    chance, ticks = np.random.default_rng(seed), round(seconds / TICK)
    mean = np.full(ticks, LEAST + scene.offset)
    onset = _SETTLED + float(chance.uniform(0, GUARD_SPEC.window))
    if scene.step:
        mean[: round(onset / TICK)] = LEAST + _BEFORE
    kind = TrafficKind(name=scene.name, burst=1, likeness=_LIKENESS, topic=scene.by, topic_seconds=scene.memory)
    made = drafting(requests(kind, mean, _VOLUME, TICK, chance), ticks, TICK, chance)
    seen = _played([counters(made)], once=scene.step)
    since = tuple(at - onset for at in seen.rollbacks) if scene.step else seen.rollbacks
    return ServiceDays(seconds=seen.seconds, rollbacks=since)


def _with_long_answers(scene: LongAnswers, seconds: float, seed: tuple[int, ...]) -> ServiceDays:
    chance = np.random.default_rng(seed)
    return _played([counters(long_traffic(scene, seconds, chance)) for _ in range(scene.pods)], once=False)


def long_traffic(scene: LongAnswers, seconds: float, chance: np.random.Generator) -> DraftingTicks:
    """Two clients of one pod, each of which asks again as soon as it has its answer."""
    number, ticks = round(2 * (seconds + LEAD + _LONG) / _LONG) + 10, round(seconds / TICK)
    steps = np.rint(_LONG / STEP_SECONDS * np.exp(chance.normal(0, _SPREAD, (2, number))))
    ends = np.cumsum(STEP_SECONDS * steps, axis=1) - LEAD - chance.uniform(0, _LONG, (2, 1))
    rate = chance.beta(_LIKENESS * (LEAST + scene.offset), _LIKENESS * (1 - LEAST - scene.offset), (2, number))
    asked = SimulatedRequests(
        begin=(ends - STEP_SECONDS * steps).ravel(), steps=steps.astype(np.int64).ravel(), rate=rate.ravel(), local=rate
    )
    return drafting(asked, ticks, TICK, chance)


def _played(pods: Sequence[Sequence[Counters]], *, once: bool) -> ServiceDays:
    """The guard over all readings. A pod that is restarted has another name from then on, and the same traffic."""
    service, names = _new(len(pods)), [f"pod-{each}" for each in range(len(pods))]
    rollbacks: list[float] = []
    restarts = 0
    for place, readings in enumerate(zip(*pods, strict=True)):
        now, before = place * TICK, service.state
        service.look(dict(zip(names, readings, strict=True)), now)
        if service.state.restarts > before.restarts:
            restarts += 1
            names = [f"{name}-new" if name in service.state.restarting else name for name in names]
        if service.state.rollback is not None:
            rollbacks.append(now)
            service = _new(len(pods))
            if once:
                break
    return ServiceDays(seconds=TICK * (place + 1), rollbacks=tuple(rollbacks), restarts=restarts)


def _new(pods: int) -> SimulatedService:
    return watched(GUARD_SPEC, replicas=pods)
