"""What an engine that only leaves its draft out reaches of the baseline: the part by which the gain of its dips is too
high. Measured where baseline pods and pods that dip serve at the same time. Pure.

    share = seconds of a step of baseline pods / of a step at nothing in a dip, at the same batch size
    gain over the baseline = gain by dips (gain.py) x share

The error is that of pods: two machines of one kind are not equally fast, and no time of watching shows by how much.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from math import exp, floor, inf, log, sqrt
from statistics import fmean
from typing import Annotated, Final

from specdec_operator.api.kept import Time, means, rounded
from specdec_operator.guard.dips import KindTotals
from specdec_operator.guard.off_steps import PROMPTS, ArmSteps, OffSteps, StepTotals
from specdec_operator.guard.statistics import Estimate

_FEWEST_STEPS: Final = 120.0
"""Steps of a pod, and of an arm at one batch size, before they are compared: ten dips. As many with prompts."""
_FEWEST_WINDOWS: Final = 5.0
_FEWEST_BEFORE: Final = 1.5
"""Windows of two minutes that have to be measured; and of a baseline that serves alone, which is measured for two."""
_MOST_OFF: Final = 0.25
"""Share of the time at one batch size above which steps at nothing are not of dips: a schedule of the engine drafts
none there, and may run its drafter all the same."""
_ALIKE: Final = log(1.1)
_ALIKE_PROMPTS: Final = log(1.25)
"""By how much the requests of a step may differ between the arms at one batch size, and where prompts are taken in."""
_MACHINES: Final = 0.08
"""Standard deviation of the ratio of two pods, before it is learnt from those that serve."""
_AS_MANY: Final = 4.0
"""Degrees of freedom that this counts as."""
_WANDERS: Final = 0.08
"""Share by which a pod of one window may miss its mean, whatever its steps agree on (as in dips.py)."""
_ANOTHER_TIME: Final = 0.04
"""Share by which all pods together may be faster than at another time within the hour, and traffic like that before."""
_WEEK: Final = 7 * 86400.0


_Short = Annotated[float, rounded(4)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFor:
    """What a measurement holds for. revision: of the speculating pods, which changes with whatever restarts them."""

    revision: str = field(metadata=means("Revision of the speculating pods."))
    engine: str = field(metadata=means("Engine in their image."))
    image: str = field(default="", metadata=means("Their image; absent: the runtime's.", empty=False))
    model: str = field(metadata=means("Target model."))
    method: str = field(metadata=means("Method of the speculation."))
    draft: str = field(default="", metadata=means("Its draft; absent: none.", empty=False))
    tokens: int = field(metadata=means("Tokens per step in the flags; 0: the draft decides."))


@dataclass(frozen=True, slots=True, kw_only=True)
class OffCost:
    """What engines that only leave their draft out reach of the baseline, and the 95 % interval."""

    ratio: _Short = field(
        metadata=means("Seconds of a step of baseline pods / of a step without the draft in a dip; at most 1.")
    )
    low: _Short = field(metadata=means("Lower end of its 95 % interval."))
    high: _Short = field(metadata=means("Upper end."))
    at: Time = field(metadata=means("Time of the measurement."))
    windows: int = field(metadata=means("Number of measured windows; older ones count less."))
    pods: tuple[int, int] = field(metadata=means("Speculating and baseline pods."))
    baseline_at: Time = field(
        default=0.0,
        metadata=means(
            "Time at which the baseline was measured, if it served before, and not at the same time.", empty=False
        ),
    )
    prompts: _Short | None = field(
        default=None,
        metadata=means(
            "Seconds of a step that takes a prompt in, of the baseline / with speculation; at most 1; absent: too few."
        ),
    )
    measured_for: MeasuredFor | None = field(default=None, metadata=means("What it was measured for.", name="for"))

    @property
    def width(self) -> float:
        """Width of the interval, relative."""
        return self.high / self.low if self.low > 0 else inf


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLevels:
    """How fast the pods of one arm are, compared with a reference. mean, missed: of the logarithms of their seconds /
    the reference's, and the sum of the squares of their distances to it.
    """

    pods: int = field(metadata=means("How many."))
    windows: float = field(metadata=means("Windows of two minutes that they were measured for; older ones count less."))
    mean: float = field(metadata=means("Mean of the logarithms of a pod's seconds / those of all for the same steps."))
    missed: float = field(metadata=means("Sum of the squares of their distances to it."))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsOfBatch:
    """Steps of the baseline at one batch size."""

    batch: int = field(
        metadata=means("Requests in a step, rounded up to a power of two; 0: steps that took a prompt in.")
    )
    steps: _Short = field(metadata=means("Number of these steps."))
    seconds: _Short = field(metadata=means("Seconds that they took."))
    requests: _Short = field(metadata=means("Requests that got tokens in them, summed up."))


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSteps:
    """The steps of a service without speculation, of all its pods."""

    at: Time = field(metadata=means("Time at which their last window closed."))
    levels: PodLevels = field(metadata=means("How much its pods differ."))
    batches: tuple[StepsOfBatch, ...] = field(metadata=means("By batch size."))

    @property
    def totals(self) -> OffSteps:
        """As the steps of one engine."""
        return {
            each.batch: StepTotals(steps=each.steps, seconds=each.seconds, requests=each.requests)
            for each in self.batches
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideSteps:
    """The steps at nothing of both arms so far, in windows in which both served."""

    speculating: ArmSteps = field(default_factory=ArmSteps)
    baseline: ArmSteps = field(default_factory=ArmSteps)

    def plus(
        self, speculating: Mapping[str, OffSteps], baseline: Mapping[str, OffSteps], seconds: float
    ) -> "BesideSteps":
        """With one more window of so many seconds; unchanged by one that lacks an arm."""
        both = {b for each in speculating.values() for b in each} & {b for each in baseline.values() for b in each}
        if not both - {PROMPTS}:
            return self
        return BesideSteps(
            speculating=self.speculating.plus(speculating, seconds), baseline=self.baseline.plus(baseline, seconds)
        )


def in_dips(kinds: KindTotals, steps: OffSteps) -> OffSteps:
    """The steps at nothing that were in dips; and those with a draft that took a prompt in. kinds: of the steps with a
    draft, of the same pod and time.
    """
    drafted = {batch: sum(each.seconds for (_, size), each in kinds.items() if size == batch) for batch in steps}
    dipped = {batch: sum(each.dips for (_, size), each in kinds.items() if size == batch) for batch in steps}
    found = {
        batch: each
        for batch, each in steps.items()
        if dipped[batch] and each.seconds <= _MOST_OFF * (each.seconds + drafted[batch])
    }
    prompts = [
        StepTotals(steps=each.steps, seconds=each.seconds, requests=each.requests)
        for (_, size), each in kinds.items()
        if size == PROMPTS
    ]
    return found | ({PROMPTS: reduce(StepTotals.plus, prompts)} if found and prompts else {})


def off_cost_of(beside: BesideSteps, at: float) -> OffCost | None:
    """What both arms show so far; None from too little. at: when its last window closed, epoch seconds."""
    theirs = beside.baseline.totals
    reference, unlike = _reference(beside.speculating, theirs)
    ours, others = (_levels(each, reference) for each in (beside.speculating, beside.baseline))
    if min(beside.speculating.windows, beside.baseline.windows) < _FEWEST_WINDOWS:
        return None
    found = _found(ours, others, unlike * unlike, at)
    return found and replace(found, prompts=_prompts(beside.speculating, theirs))


def off_cost_since(after: ArmSteps, before: BaselineSteps, at: float) -> OffCost | None:
    """What dips show against a baseline that served shortly before; None from too little. after: the steps in dips
    since. at: as in off_cost_of.
    """
    reference, unlike = _reference(after, before.totals)
    if after.windows < _FEWEST_WINDOWS or before.levels.windows < _FEWEST_BEFORE:
        return None
    found = _found(_levels(after, reference), before.levels, unlike * unlike + _ANOTHER_TIME**2, at)
    return found and replace(found, baseline_at=before.at, prompts=_prompts(after, before.totals))


def baseline_steps_of(arm: ArmSteps, at: float) -> BaselineSteps | None:
    """What is kept of a service without speculation; None from too little. at: as in off_cost_of."""
    totals = {batch: each for batch, each in arm.totals.items() if each.is_known and each.steps >= _FEWEST_STEPS}
    levels = _levels(arm, {batch: each.seconds / each.steps for batch, each in totals.items() if batch != PROMPTS})
    if not levels.pods or arm.windows < _FEWEST_BEFORE:
        return None
    batches = tuple(
        StepsOfBatch(batch=batch, steps=each.steps, seconds=each.seconds, requests=each.requests)
        for batch, each in totals.items()
    )
    return BaselineSteps(at=floor(at), levels=levels, batches=batches)


def _reference(ours: ArmSteps, theirs: OffSteps) -> tuple[dict[int, float], float]:
    """Seconds of a step of the baseline, by batch size that both arms have steps enough of; and by how much at most the
    requests of a step differ at one of them, as a logarithm.
    """
    mine = ours.totals
    both = {batch: _differing(mine[batch], theirs[batch]) for batch in (mine.keys() & theirs.keys()) - {PROMPTS}}
    unlike = {batch: each for batch, each in both.items() if each <= _ALIKE}
    return {batch: theirs[batch].seconds / theirs[batch].steps for batch in unlike}, max(unlike.values(), default=0.0)


def _prompts(ours: ArmSteps, theirs: OffSteps) -> float | None:
    """Seconds of a step that takes a prompt in, of the baseline / with speculation: a draft reads the prompt too. None
    from too few, or if they have other numbers of requests.
    """
    mine, other = ours.totals.get(PROMPTS), theirs.get(PROMPTS)
    if mine is None or other is None or _differing(mine, other) > _ALIKE_PROMPTS:
        return None
    return min(1.0, (other.seconds / other.steps) / (mine.seconds / mine.steps))


def _differing(one: StepTotals, other: StepTotals) -> float:
    """By how much the requests of a step differ, as a logarithm; infinite from too few steps."""
    if not (one.is_known and other.is_known) or min(one.steps, other.steps) < _FEWEST_STEPS:
        return inf
    return abs(log(one.requests / one.steps / (other.requests / other.steps)))


def _levels(arm: ArmSteps, reference: Mapping[int, float]) -> PodLevels:
    """Of the pods with steps enough, by the logarithm of a pod's seconds / those of the reference for its steps."""
    found = []
    for steps in arm.pods.values():
        known = [(each, reference[batch]) for batch, each in steps.items() if batch in reference and each.is_known]
        seconds, expected = sum(each.seconds for each, _ in known), sum(each.steps * step for each, step in known)
        if sum(each.steps for each, _ in known) >= _FEWEST_STEPS and seconds > 0 and expected > 0:
            found.append(log(seconds / expected))
    mean = fmean(found) if found else 0.0
    missed = sum((each - mean) ** 2 for each in found)
    return PodLevels(pods=len(found), windows=arm.windows, mean=mean, missed=missed)


def _found(ours: PodLevels, theirs: PodLevels, shared: float, at: float) -> OffCost | None:
    """The share with its interval. shared: variance that more pods do not make smaller."""
    if not (ours.pods and theirs.pods):
        return None
    found = _estimate(ours, theirs, shared)
    low, ratio, high = (exp(min(0.0, found.mean + each)) for each in (-found.half_width, 0.0, found.half_width))
    pods = ours.pods, theirs.pods
    return OffCost(ratio=ratio, low=low, high=high, at=floor(at), windows=round(ours.windows), pods=pods)


def _estimate(ours: PodLevels, theirs: PodLevels, shared: float) -> Estimate:
    """The logarithm of the share. The variance of a pod is learnt from both arms, about their means, with a prior for
    what few pods do not show; to it comes what a pod's machine does from window to window.
    """
    degrees = _AS_MANY + ours.pods + theirs.pods - 2
    of_pod = (_AS_MANY * _MACHINES**2 / 2 + ours.missed + theirs.missed) / degrees
    variance = sum((of_pod + _WANDERS**2 / each.windows) / each.pods for each in (ours, theirs))
    return Estimate(mean=theirs.mean - ours.mean, error=sqrt(variance + shared), degrees=degrees)


def renewed(known: OffCost | None, found: OffCost | None, measured_for: MeasuredFor | None) -> OffCost | None:
    """What is known after a window. A newer measurement replaces the known one unless its interval is wider, if the
    known one is older than a week, or if both exclude each other.
    """
    if found is None or measured_for is None:
        return known
    anew = replace(found, measured_for=measured_for)
    if known is None or known.measured_for != measured_for or found.at - known.at > _WEEK:
        return anew
    apart = found.low > known.high or found.high < known.low
    return anew if apart or found.width <= known.width else known


def holds_for(known: OffCost | None, measured_for: MeasuredFor | None) -> OffCost | None:
    """What is known of pods; None if it was measured for others, if nothing speculates, or if another client wrote
    numbers that cannot be.
    """
    if known is None or measured_for is None or known.measured_for != measured_for:
        return None
    prompts = 1.0 if known.prompts is None else known.prompts
    return known if 0 < known.low <= known.ratio <= known.high <= 1 and 0 < prompts <= 1 else None
