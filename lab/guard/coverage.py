"""What the shown 95 % intervals hold: the true mean of the very time that was measured, and that of the long run.

What requests are like, or how fast the machine is, wanders and forgets in 1, 5 and 30 minutes. An interval of minutes
cannot know how far these are from the long run; the mean of its own time it has to hold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Final

import numpy as np

from lab.guard.rules import POD, counters
from lab.guard.scenes import SPEED_SPEC, judged_by
from lab.guard.speed import BASELINE_SECONDS, SCATTER, pages_of
from lab.guard.traffic import GRID, LEAD, Floats, TrafficKind, arrivals, drafting, requests, wander
from specdec_operator.guard.baseline import Baseline, learnt
from specdec_operator.guard.baseline_pods import MOST_PAIRS, Measure
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.sampler import add, start
from specdec_operator.guard.statistics import RatioSums, wilson_upper

MEMORIES: Final = (60.0, 300.0, 1800.0)
VOLUMES: Final = (50, 200)
"""Requests in a window, of one pod."""
STEPS: Final = (120.0, 400.0)
"""Median steps of an answer: of 5 and of 16 seconds on the mean."""
OWN: Final = (0.01, 0.04)
"""By how much each machine wanders by itself, where two arms are compared."""
_WANDERS: Final = 0.05
"""By how much all of it wanders: points of acceptance, or share of the speed."""
_MEAN, _SPEEDUP = 0.6, 1.3
_LIMITS, _, _RHYTHM = judged_by(SPEED_SPEC)
_PER: Final = round(_RHYTHM.window / _RHYTHM.interval)
_BASELINE: Final = 4
"""Windows of the baseline from which its speed is measured."""
_PODS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalCase:
    """An interval, and the traffic that it is of. memory: seconds in which that forgets. steps: median of an answer."""

    interval: str
    memory: float
    volume: float
    steps: float = STEPS[0]
    own: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Of so many intervals, how often the truth was inside: that of its own time, and that of the long run. width: half
    of it, on the mean, in points of acceptance or as a share of the speedup.
    """

    number: int
    local: float
    long_run: float
    width: float


Interval = tuple[float, float, float]
"""Low end, high end, and the true mean of its own time."""
BY_DRAFTS, OF_WINDOW, OF_ROW = (
    "acceptance of a window, Wilson, by drafts",
    "acceptance of a window",
    "acceptance of three windows",
)
OF_BASELINE, OF_BASELINE_PODS = "speedup, baseline of another time", "speedup, baseline pods at the same time"
ASKED: Final[tuple[IntervalCase, ...]] = (
    *(
        IntervalCase(interval=interval, memory=memory, volume=volume, steps=steps)
        for interval in (BY_DRAFTS, OF_WINDOW, OF_ROW)
        for steps, volume in ((STEPS[0], VOLUMES[0]), (STEPS[0], VOLUMES[1]), (STEPS[1], VOLUMES[0]))
        for memory in MEMORIES
    ),
    *(
        IntervalCase(interval=OF_BASELINE, memory=memory, volume=volume, own=_WANDERS)
        for volume in VOLUMES
        for memory in MEMORIES
    ),
    *(
        IntervalCase(interval=OF_BASELINE_PODS, memory=memory, volume=100, own=own)
        for own in OWN
        for memory in MEMORIES
    ),
)


def held(asked: IntervalCase, windows: int, seed: tuple[int, ...]) -> Held:
    """Simulates so many windows in which the interval is shown."""
    chance, truth = np.random.default_rng(seed), _MEAN
    match asked.interval:
        case interval if interval in (BY_DRAFTS, OF_WINDOW, OF_ROW):
            found = list(_of_acceptance(asked, windows, chance))
        case interval if interval == OF_BASELINE:
            services = -(-windows // _EACH)
            found, truth = [each for _ in range(services) for each in _of_baseline(asked, chance)], _SPEEDUP
        case _:
            services = -(-windows // (2 * _EACH))
            found, truth = [each for _ in range(services) for each in _of_baseline_pods(asked, chance)], _SPEEDUP
    relative = truth == _SPEEDUP
    low, high, local = np.array(found).T
    width = np.log(high / low) / 2 if relative else (high - low) / 2
    return Held(
        number=len(found),
        local=float(np.mean((low <= local) & (local <= high))),
        long_run=float(np.mean((low <= truth) & (truth <= high))),
        width=float(width.mean()),
    )


_EACH: Final = 24
"""Windows of each service, if there are several: many services show more than one does."""


def _of_acceptance(asked: IntervalCase, windows: int, chance: np.random.Generator) -> Iterator[Interval]:
    ticks, tick = windows * _PER, _RHYTHM.interval
    kind = TrafficKind(
        name="", burst=1, likeness=10, topic=_WANDERS, topic_seconds=asked.memory, median_steps=asked.steps
    )
    made = requests(kind, np.full(ticks, _MEAN), asked.volume / _RHYTHM.window, tick, chance)
    true = made.local.reshape(windows, _PER).mean(axis=1)
    pages = counters(drafting(made, ticks, tick, chance))
    row: list[RatioSums] = []
    for window, judged in enumerate(_judged({POD: pages}, _LIMITS)):
        evidence = judged.evidence
        row = [*row[-2:], evidence.acceptance]
        rate = evidence.acceptance_rate or 0.0
        if asked.interval == BY_DRAFTS:
            low, high = (1 - wilson_upper(1 - rate, evidence.drafts), wilson_upper(rate, evidence.drafts))
            yield low, high, true[window]
            continue
        sums = row[-1] if asked.interval == OF_WINDOW else _sum(row)
        if len(row) == 3 and (width := sums.half_width(evidence.alike)) is not None and sums.mean is not None:
            over = 1 if asked.interval == OF_WINDOW else 3
            yield sums.mean - width, sums.mean + width, true[window + 1 - over : window + 1].mean()


def _sum(row: Sequence[RatioSums]) -> RatioSums:
    return row[0].merged(row[1]).merged(row[2]) if len(row) == 3 else RatioSums()


def _of_baseline(asked: IntervalCase, chance: np.random.Generator) -> Iterator[Interval]:
    """Each window of one service, against the windows of plain before."""
    before, slow = _pod(asked, _wander(asked, _BASELINE, chance), 1.0, chance)
    known: Baseline = ()
    for judged in _judged({POD: before}, replace(_LIMITS, of_baseline=True)):
        known = learnt(known, judged.evidence.token_times)
    after, slower = _pod(asked, _wander(asked, _EACH, chance), _SPEEDUP, chance)
    for judged, each in zip(_judged({POD: after}, replace(_LIMITS, baseline=known)), slower, strict=True):
        if judged.comparison is not None:
            yield judged.comparison.low, judged.comparison.high, _SPEEDUP * float(slow.mean() / each)


def _of_baseline_pods(asked: IntervalCase, chance: np.random.Generator) -> Iterator[Interval]:
    """Each window of one service with three speculating pods and a baseline pod. What all share cancels out."""
    windows = 2 * _EACH
    common = np.log(_wander(replace(asked, own=_WANDERS), windows, chance))
    paths = [np.exp(common + np.log(_wander(asked, windows, chance))) for _ in range(_PODS + 1)]
    made = [_pod(asked, path, _SPEEDUP if pod else 1.0, chance) for pod, path in enumerate(paths)]
    ours, true = {f"pod-{pod}": pages for pod, (pages, _) in enumerate(made) if pod}, []
    for window, judged in enumerate(_judged(ours, _LIMITS, {"plain-0": made[0][0]})):
        true.append(log(_SPEEDUP * made[0][1][window] / np.mean([slow[window] for _, slow in made[1:]])))
        for found in judged.findings:
            if found.measure is Measure.SPEED:
                yield found.low, found.high, exp(np.mean(true[-found.windows :]))


def _wander(asked: IntervalCase, windows: int, chance: np.random.Generator) -> Floats:
    path: Floats = np.exp(wander(asked.own, asked.memory, windows * _RHYTHM.window, chance))
    return path


def _pod(
    asked: IntervalCase, path: Floats, speedup: float, chance: np.random.Generator
) -> tuple[list[Counters], Floats]:
    """The pages of a pod whose machine is slower by that path, and how slow it is in each window."""
    windows = int((len(path) - 2) * GRID - LEAD) // int(_RHYTHM.window)
    ticks, tick = windows * _PER, _RHYTHM.interval
    kind = TrafficKind(name="", burst=1, likeness=1, topic=0, topic_seconds=1)
    begin = np.sort(arrivals(kind, asked.volume / _RHYTHM.window, ticks * tick, chance))
    tokens = np.maximum(2, np.rint(asked.steps * np.exp(chance.normal(0, kind.spread_steps, len(begin)))))
    scatter = SCATTER[speedup != 1]
    own = np.exp(chance.normal(-scatter * scatter / 2, scatter, len(begin)))
    each = own * BASELINE_SECONDS / speedup * path[((begin + LEAD) / GRID).astype(np.int64)]
    pages = pages_of(begin, tokens, each, ticks, tick, speculative=speedup != 1)
    seen = path[round(LEAD / GRID) : round(LEAD / GRID) + round(windows * _RHYTHM.window / GRID)]
    return pages, seen.reshape(windows, -1).mean(axis=1)


def _judged(
    pods: dict[str, list[Counters]], limits: Thresholds, baseline: dict[str, list[Counters]] | None = None
) -> Iterator[Judged]:
    """Each window of these pods, compared with the baseline pods."""
    sampler, theirs = start(0.0, _RHYTHM), baseline or {}
    for place in range(len(next(iter(pods.values())))):
        readings, others = ({pod: pages[place] for pod, pages in pods_of_one.items()} for pods_of_one in (pods, theirs))
        sampler, judged = add(sampler, readings, limits, _RHYTHM, place * _RHYTHM.interval, others)
        if judged is not None:
            limits = replace(limits, pairs=(*limits.pairs, judged.pair)[-MOST_PAIRS:] if judged.pair else limits.pairs)
            yield judged
