"""How soon dips show that a draft is slow, and how often they do of one that is not; written to docs/guard/dips.json.

    python -m lab.guard.dips

Of the engine only the dips at nothing are simulated: 13 steps, where one with the draft takes 20 ms, for a share of the
time as the runtime's, one pod, windows of two minutes. A dip's ratio scatters by 10 %. A machine that does all steps
faster or slower for minutes does not change it. All ratios of a window share a factor that wanders: what a machine does
to a step with the draft and not to one without it. It is new in each window, or lasts for five minutes.
"""

import json
import pathlib
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from math import exp, sqrt
from statistics import median
from typing import Any, Final

import numpy as np
from hack import machine

from specdec_operator.guard.dips import DipTotals
from specdec_operator.guard.gain import DipEvidence, DipSpan
from specdec_runtime.clock.dips import ENOUGH, LATER, SHARE, SHORTEST, STEPS

OUT: Final = pathlib.Path(__file__).parents[2] / "docs" / "guard" / "dips.json"
LOSSES: Final = (0.4, 0.7, 0.8, 0.9, 0.95, 0.97)
GAINS: Final = (1.0, 1.02, 1.05)
WANDERS: Final = ((0.0, 0.0), (0.04, 0.0), (0.08, 0.0), (0.04, 300.0), (0.08, 300.0))
"""Standard deviation of the factor, and the seconds for which it lasts."""
SERVICES: Final = 100
STEP: Final = 0.02
WINDOW: Final = 120.0
SCATTER: Final = 0.10
_HOURS: Final = 6
_DAY: Final = 24
_FEWEST: Final = 4
"""Dips before the engine knows what they take."""
LENGTH: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DipScene:
    """true: the gain that dips show on average; wanders: its standard deviation from window to window; lasts: seconds
    after which a window is like another one only by a third.
    """

    true: float
    wanders: float
    lasts: float
    hours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DipScenes:
    """What came of the services of a scene. found: share that lost speculation. minutes: until then, median, and the
    95th of a hundred services in the order of their times; None where fewer lost it.
    """

    scene: DipScene
    services: int
    found: float
    minutes: float | None
    most: float | None


def scenes() -> Iterator[DipScene]:
    """All of them: hours of a loss, a day of none."""
    for wanders, lasts in WANDERS:
        yield from (DipScene(true=true, wanders=wanders, lasts=lasts, hours=_HOURS) for true in LOSSES)
        yield from (DipScene(true=true, wanders=wanders, lasts=lasts, hours=_DAY) for true in GAINS)


def shown(scene: DipScene, seed: int) -> float | None:
    """Minutes until the upper bound of one service's gain is below 1; None if it never is."""
    draw, found, dips = np.random.default_rng(seed), DipEvidence(), 0
    like, level = exp(-WINDOW / scene.lasts) if scene.lasts else 0.0, 0.0
    for number in range(round(scene.hours * 3600 / WINDOW)):
        level = like * level + sqrt(1 - like * like) * draw.standard_normal()
        mean = scene.true / LENGTH * (1 + scene.wanders * level)
        count = int(draw.poisson(expected(scene.true, dips)))
        ratios = np.maximum(0.01, mean * (1 + SCATTER * draw.standard_normal(count)))
        dips += count
        found = found.plus(window_of(ratios))
        if (gain := found.gain) is not None and gain.high < 1:
            return (number + 1) * WINDOW / 60
    return None


def expected(gain: float, begun: int) -> float:
    """Dips at nothing of one pod in a window. gain: that dips show; begun: how many this pod had."""
    share = SHARE if begun < ENOUGH else LATER / 2  # the other half draft some tokens
    takes = max(SHORTEST, gain / LENGTH) if begun >= _FEWEST else 1.0
    return share * WINDOW / (STEPS * STEP * takes)


def window_of(ratios: Any, pods: int = 1) -> DipSpan:
    """A window of so many pods at one load, with these ratios of their dips."""
    totals = DipTotals(
        seconds=WINDOW * pods,
        requests=WINDOW * pods / STEP,
        tokens=LENGTH * WINDOW * pods / STEP,
        dips=float(ratios.size),
        ratios=float(ratios.sum()),
        squares=float((ratios * ratios).sum()),
    )
    return DipSpan(kinds={(4, 1): totals}, seconds=WINDOW)


def result(scene: DipScene, services: int, executor: Executor) -> DipScenes:
    """Run so many services of a scene."""
    found = sorted(each for each in executor.map(partial(shown, scene), range(services)) if each is not None)
    most = round(0.95 * services) - 1
    return DipScenes(
        scene=scene,
        services=services,
        found=len(found) / services,
        minutes=median(found) if 2 * len(found) > services else None,
        most=found[most] if len(found) > most else None,
    )


def main() -> None:
    """Run all scenes, and write what came of them."""
    with ProcessPoolExecutor() as executor:
        found = [asdict(result(each, SERVICES, executor)) for each in scenes()]
    OUT.write_text(json.dumps({"origin": machine.origin(), "scenes": found}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(found)} scenes in {OUT}")


if __name__ == "__main__":
    main()
