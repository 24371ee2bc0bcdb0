"""What dips conclude once baseline pods have measured what leaving the draft out costs; in docs/guard/off_cost.json.

    python -m lab.guard.off_cost

As in dips.py, of several pods. Each pod's machine has a speed of its own, which stays (5 %) and wanders (8 %, for five
minutes); what it does to a step with the draft and not to one without it wanders by half of that. For half an hour as
many baseline pods serve too. An engine that leaves its draft out reaches 0.80 of the baseline, so that dips show a gain
of 1.25 times the true one.
"""

import json
import pathlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from math import exp, sqrt
from statistics import median
from typing import Any, Final

import numpy as np
from hack import machine

from lab.guard.dips import LENGTH, SCATTER, STEP, WINDOW, expected, window_of
from specdec_operator.guard.gain import DipEvidence, DipSpan
from specdec_operator.guard.off_cost import BesideSteps, OffCost, off_cost_of
from specdec_operator.guard.off_steps import StepTotals
from specdec_runtime.clock.dips import STEPS

OUT: Final = pathlib.Path(__file__).parents[2] / "docs" / "guard" / "off_cost.json"
TRUE: Final = (0.8, 0.9, 0.95, 1.0, 1.1, 1.2, 1.5)
PODS: Final = (1, 4, 8, 16)
SERVICES: Final = 100
_COST: Final = 0.8
_BESIDE: Final = 15
"""Windows with baseline pods: a doubt's most."""
_LIKE: Final = exp(-WINDOW / 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffScene:
    """true: gain over the baseline; cost: share of its speed that an engine without its draft reaches. pods: of each
    arm. machines: standard deviation of their speeds; wanders: that of a window's about their mean; ratios: that
    of the ratios of its dips.

    measured: whether there are baseline pods at all.
    """

    true: float
    pods: int
    cost: float = _COST
    machines: float = 0.05
    wanders: float = 0.08
    ratios: float = 0.04
    hours: int = 6
    measured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """After how many minutes one service was found faster, and slower, than the baseline; None: not found."""

    faster: float | None = None
    slower: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffScenes:
    """What came of the services of a scene: the share that was ever found faster and slower, and the median minutes."""

    scene: OffScene
    services: int
    faster: float
    slower: float
    faster_minutes: float | None
    slower_minutes: float | None


class _Machines:
    """The speeds of so many pods' machines, window by window. draw: chance."""

    def __init__(self, draw: np.random.Generator, scene: OffScene, stays: float, wanders: float) -> None:
        self._draw, self._wanders = draw, wanders
        self._stays = stays * draw.standard_normal(scene.pods)
        self._level = draw.standard_normal(scene.pods)

    def window(self) -> Any:
        """By pod, how much longer a step takes than on average."""
        more = self._draw.standard_normal(self._level.size)
        self._level = _LIKE * self._level + sqrt(1 - _LIKE * _LIKE) * more
        return np.exp(self._stays + self._wanders * self._level)


def concluded(scene: OffScene, seed: int) -> Concluded:
    """One service: until it is found slower, or to its end."""
    draw = np.random.default_rng(seed)
    ours, theirs = (_Machines(draw, scene, scene.machines, scene.wanders) for _ in range(2))
    ratios = _Machines(draw, scene, 0.0, scene.ratios)
    found, beside, cost, dips, faster = DipEvidence(), BesideSteps(), None, 0, None
    off = scene.true / scene.cost / LENGTH * STEP
    for number in range(round(scene.hours * 3600 / WINDOW)):
        counts = draw.poisson(expected(scene.true / scene.cost, dips // scene.pods), scene.pods)
        dips += int(counts.sum())
        found = found.plus(_dips(draw, scene, counts, ratios.window()))
        if scene.measured and number < _BESIDE:
            seconds = off * ours.window() * (1 + SCATTER * draw.standard_normal(scene.pods) / np.sqrt(counts + 1))
            beside = beside.plus(
                {f"a{pod}": _steps(each, (STEPS - 1) * int(counts[pod])) for pod, each in enumerate(seconds)},
                {f"b{pod}": _steps(each, WINDOW / each) for pod, each in enumerate(scene.cost * off * theirs.window())},
                WINDOW,
            )
            cost = off_cost_of(beside, number * WINDOW)
        minutes = (number + 1) * WINDOW / 60
        slow, fast = _verdict(found, cost)
        faster = minutes if fast and faster is None else faster
        if slow:
            return Concluded(faster=faster, slower=minutes)
    return Concluded(faster=faster)


def _dips(draw: np.random.Generator, scene: OffScene, counts: Any, wanders: Any) -> DipSpan:
    """The dips of a window, over all pods."""
    mean = np.repeat(scene.true / scene.cost / LENGTH * wanders, counts)
    seen = np.maximum(0.01, mean * (1 + SCATTER * draw.standard_normal(mean.size)))
    return window_of(seen, scene.pods)


def _steps(seconds: float, number: float) -> Mapping[int, StepTotals]:
    return {1: StepTotals(steps=number, seconds=number * float(seconds), requests=number)}


def _verdict(found: DipEvidence, cost: OffCost | None) -> tuple[bool, bool]:
    """Whether the gain is found to be below 1, and at least 1."""
    gain = found.gain
    if gain is None:
        return False, False
    gain = gain.over_baseline(cost)
    return gain.high < 1, gain.low is not None and gain.low >= 1


def scenes() -> Iterator[OffScene]:
    """All of them, of six hours."""
    for pods in PODS:
        yield from (OffScene(true=true, pods=pods) for true in TRUE)


def result(scene: OffScene, services: int, executor: Executor) -> OffScenes:
    """Run so many services of a scene."""
    found = [*executor.map(partial(concluded, scene), range(services), chunksize=10)]
    faster, slower = ([at for each in found if (at := getattr(each, way)) is not None] for way in ("faster", "slower"))
    return OffScenes(
        scene=scene,
        services=services,
        faster=len(faster) / services,
        slower=len(slower) / services,
        faster_minutes=median(faster) if 2 * len(faster) > services else None,
        slower_minutes=median(slower) if 2 * len(slower) > services else None,
    )


def main() -> None:
    """Run all scenes, and write what came of them."""
    with ProcessPoolExecutor() as executor:
        found = [asdict(result(each, SERVICES, executor)) for each in scenes()]
    OUT.write_text(json.dumps({"origin": machine.origin(), "scenes": found}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(found)} scenes in {OUT}")


if __name__ == "__main__":
    main()
