"""What dips conclude once a baseline has shown what leaving the draft out costs; written to docs/guard/off_cost.json.

    python -m lab.guard.off_cost

As in dips.py, of several pods. Each pod's machine has a speed of its own, which stays (5 %) and wanders (8 %, for five
minutes); what it does to a step with the draft and not to one without it wanders by half of that. For half an hour as
many baseline pods serve too; or as many pods, on other machines, served without speculation for two windows before, and
since then all machines are faster or slower together (3 %). An engine that leaves its draft out reaches 0.80 of the
baseline, so that dips show a gain of 1.25 times the true one.
"""

import json
import pathlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from itertools import product
from math import exp, sqrt
from statistics import median
from typing import Any, Final

import numpy as np
from hack import machine

from lab.guard.dips import LENGTH, SCATTER, STEP, WINDOW, expected, window_of
from specdec_operator.guard.gain import DipEvidence, DipSpan
from specdec_operator.guard.off_cost import (
    BaselineSteps,
    BesideSteps,
    MeasuredFor,
    OffCost,
    baseline_steps_of,
    off_cost_of,
    off_cost_since,
    renewed,
)
from specdec_operator.guard.off_steps import ArmSteps, OffSteps, StepTotals
from specdec_runtime.clock.dips import STEPS

OUT: Final = pathlib.Path(__file__).parents[2] / "docs" / "guard" / "off_cost.json"
TRUE: Final = (0.8, 0.9, 0.95, 1.0, 1.1, 1.2, 1.5)
PODS: Final = (1, 4, 8, 16)
SERVICES: Final = 100
_COST: Final = 0.8
_BESIDE: Final = 15
"""Windows with baseline pods: a doubt's most."""
_BEFORE: Final = 2
_SINCE: Final = 30
"""Windows of a service without speculation, and of an hour after it."""
_ANOTHER_TIME: Final = 0.03
"""Standard deviation of what all machines together do from one time to the other."""
_LIKE: Final = exp(-WINDOW / 300)
_FOR: Final = MeasuredFor(revision="r1", engine="simulated", model="simulated", method="draft_model", tokens=4)


class BaselineServes(StrEnum):
    """When a baseline is measured."""

    BESIDE = "beside"
    """In baseline pods, for the first half hour."""
    BEFORE = "before"
    """By the same number of pods, for two windows before speculation begins (MeasureFirst)."""
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffScene:
    """true: gain over the baseline; cost: share of its speed that an engine without its draft reaches. pods: of each
    arm. machines: standard deviation of their speeds; wanders: that of a window's about their mean; ratios: that
    of the ratios of its dips.
    """

    true: float
    pods: int
    cost: float = _COST
    machines: float = 0.05
    wanders: float = 0.08
    ratios: float = 0.04
    hours: int = 6
    baseline: BaselineServes = BaselineServes.BESIDE


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
    found, dips, faster = DipEvidence(), 0, None
    measured = _Measured(draw, scene, theirs)
    for number in range(round(scene.hours * 3600 / WINDOW)):
        counts = draw.poisson(expected(scene.true / scene.cost, dips // scene.pods), scene.pods)
        dips += int(counts.sum())
        found = found.plus(_dips(draw, scene, counts, ratios.window()))
        cost = measured.cost(number, counts, ours)
        minutes = (number + 1) * WINDOW / 60
        slow, fast = _verdict(found, cost)
        faster = minutes if fast and faster is None else faster
        if slow:
            return Concluded(faster=faster, slower=minutes)
    return Concluded(faster=faster)


class _Measured:
    """What was measured of a service's engines without their draft. theirs: the machines of the baseline."""

    def __init__(self, draw: np.random.Generator, scene: OffScene, theirs: _Machines) -> None:
        self._draw, self._scene, self._theirs = draw, scene, theirs
        self._beside, self._since = BesideSteps(), ArmSteps()
        self._cost: OffCost | None = None
        self._off = scene.true / scene.cost / LENGTH * STEP
        self._before: BaselineSteps | None = None
        if scene.baseline is BaselineServes.BEFORE:
            self._off *= exp(_ANOTHER_TIME * draw.standard_normal())
            self._before = self._alone()

    def _alone(self) -> BaselineSteps | None:
        arm = ArmSteps()
        for _ in range(_BEFORE):
            arm = arm.plus(self._of_baseline(self._scene.true / LENGTH * STEP), WINDOW)
        return baseline_steps_of(arm, 0.0)

    def _of_baseline(self, step: float) -> dict[str, OffSteps]:
        return {f"b{pod}": _steps(each, WINDOW / each) for pod, each in enumerate(step * self._theirs.window())}

    def cost(self, window: int, counts: Any, ours: _Machines) -> OffCost | None:
        """What is known after so many windows. counts: dips of this one, by pod; ours: the machines of these pods."""
        beside = self._scene.baseline is BaselineServes.BESIDE
        if window >= (_BESIDE if beside else _SINCE) or self._scene.baseline is BaselineServes.NEVER:
            return self._cost
        scatter = 1 + SCATTER * self._draw.standard_normal(self._scene.pods) / np.sqrt(counts + 1)
        seconds = self._off * ours.window() * scatter
        steps = {f"a{pod}": _steps(each, (STEPS - 1) * int(counts[pod])) for pod, each in enumerate(seconds)}
        if beside:
            self._beside = self._beside.plus(steps, self._of_baseline(self._scene.cost * self._off), WINDOW)
            self._cost = off_cost_of(self._beside, window * WINDOW)
        elif self._before is not None:
            self._since = self._since.plus(steps, WINDOW)
            found = off_cost_since(self._since, self._before, window * WINDOW)
            self._cost = renewed(self._cost, found, _FOR)
        return self._cost


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
    for baseline, pods in product((BaselineServes.BESIDE, BaselineServes.BEFORE), PODS):
        yield from (OffScene(true=true, pods=pods, baseline=baseline) for true in TRUE)


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
