"""What an engine that only leaves its draft out reaches of the baseline: the part by which the gain of its dips is too
high. Measured where baseline pods and pods that dip serve at the same time. Pure.

    share = seconds of a step of baseline pods / of a step at nothing in a dip, at the same batch size
    gain over the baseline = gain by dips (gain.py) x share

The error is that of pods: two machines of one kind are not equally fast, and no time of watching shows by how much.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import exp, floor, inf, log, sqrt
from statistics import fmean
from typing import Annotated, Final

from specdec_operator.api.kept import Time, means, rounded
from specdec_operator.guard.dips import KindTotals
from specdec_operator.guard.off_steps import OffSteps, StepTotals
from specdec_operator.guard.statistics import Estimate
from specdec_operator.guard.totals import added, faded

_FEWEST_STEPS: Final = 120.0
"""Steps of a pod, and of an arm at one batch size, before they are compared: ten dips."""
_FEWEST_WINDOWS: Final = 5.0
"""Windows of two minutes that have to be measured."""
_WINDOW: Final = 120.0
_FADES: Final = 4 * 3600.0
"""Seconds after which steps count half."""
_MOST_OFF: Final = 0.25
"""Share of the time at one batch size above which steps at nothing are not of dips: a schedule of the engine drafts
none there, and may run its drafter all the same."""
_ALIKE: Final = log(1.1)
"""By how much the requests of a step may differ between the arms at one batch size."""
_MACHINES: Final = 0.08
"""Standard deviation of the ratio of two pods, before it is learnt from those that serve."""
_AS_MANY: Final = 4.0
"""Degrees of freedom that this counts as."""
_WANDERS: Final = 0.08
"""Share by which a pod of one window may miss its mean, whatever its steps agree on (as in dips.py)."""
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
    measured_for: MeasuredFor | None = field(default=None, metadata=means("What it was measured for.", name="for"))

    @property
    def width(self) -> float:
        """Width of the interval, relative."""
        return self.high / self.low if self.low > 0 else inf


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideSteps:
    """The steps at nothing of both arms so far, by pod. windows: how many of them, older ones less."""

    speculating: Mapping[str, OffSteps] = field(default_factory=dict)
    baseline: Mapping[str, OffSteps] = field(default_factory=dict)
    windows: float = 0.0

    def plus(
        self, speculating: Mapping[str, OffSteps], baseline: Mapping[str, OffSteps], seconds: float
    ) -> "BesideSteps":
        """With one more window of so many seconds; unchanged by one that lacks an arm."""
        both = {b for each in speculating.values() for b in each} & {b for each in baseline.values() for b in each}
        if not both:
            return self
        share = 0.5 ** (seconds / _FADES)
        return BesideSteps(
            speculating=_added(self.speculating, speculating, share),
            baseline=_added(self.baseline, baseline, share),
            windows=share * self.windows + seconds / _WINDOW,
        )


def _added(before: Mapping[str, OffSteps], window: Mapping[str, OffSteps], share: float) -> dict[str, OffSteps]:
    """Each pod's steps with those of one more window. A pod that left stays until it has faded."""
    pods = sorted({*before, *window})
    after = {pod: added(faded(before.get(pod, {}), share), window.get(pod, {})) for pod in pods}
    return {pod: each for pod, each in after.items() if pod in window or _steps(each) >= 1}


def _steps(steps: OffSteps) -> float:
    return sum(each.steps for each in steps.values())


def in_dips(kinds: KindTotals, steps: OffSteps) -> OffSteps:
    """The steps at nothing that were in dips. kinds: of the steps with a draft, of the same pod and time."""
    drafted = {batch: sum(each.seconds for (_, size), each in kinds.items() if size == batch) for batch in steps}
    dipped = {batch: sum(each.dips for (_, size), each in kinds.items() if size == batch) for batch in steps}
    return {
        batch: each
        for batch, each in steps.items()
        if dipped[batch] and each.seconds <= _MOST_OFF * (each.seconds + drafted[batch])
    }


def off_cost_of(beside: BesideSteps, at: float) -> OffCost | None:
    """What both arms show so far; None from too little. at: when its last window closed, epoch seconds."""
    arms = [added(*each.values()) for each in (beside.speculating, beside.baseline)]
    unlike = _unlike(*arms)
    reference = {batch: arms[1][batch].seconds / arms[1][batch].steps for batch in unlike}
    ours, theirs = (_levels(each.values(), reference) for each in (beside.speculating, beside.baseline))
    if beside.windows < _FEWEST_WINDOWS or not (ours and theirs):
        return None
    found = _estimate(ours, theirs, beside.windows, max(unlike.values(), default=0.0))
    low, ratio, high = (min(1.0, exp(found.mean + each)) for each in (-found.half_width, 0.0, found.half_width))
    pods = len(ours), len(theirs)
    return OffCost(ratio=ratio, low=low, high=high, at=floor(at), windows=round(beside.windows), pods=pods)


def _unlike(ours: OffSteps, theirs: OffSteps) -> dict[int, float]:
    """By batch size that both arms have steps enough of, by how much the requests of a step differ, as a logarithm."""
    both = {batch: (ours[batch], theirs[batch]) for batch in ours.keys() & theirs.keys()}
    known = {
        batch: abs(log(_requests(one) / _requests(other)))
        for batch, (one, other) in both.items()
        if one.is_known and other.is_known and min(one.steps, other.steps) >= _FEWEST_STEPS
    }
    return {batch: each for batch, each in known.items() if each <= _ALIKE}


def _requests(steps: StepTotals) -> float:
    return steps.requests / steps.steps


def _levels(pods: Iterable[OffSteps], reference: Mapping[int, float]) -> list[float]:
    """Of each pod with steps enough: the logarithm of its seconds / those that the reference takes for these steps."""
    found = []
    for steps in pods:
        known = [(each, reference[batch]) for batch, each in steps.items() if batch in reference and each.is_known]
        seconds, expected = sum(each.seconds for each, _ in known), sum(each.steps * step for each, step in known)
        if sum(each.steps for each, _ in known) >= _FEWEST_STEPS and seconds > 0 and expected > 0:
            found.append(log(seconds / expected))
    return found


def _estimate(ours: list[float], theirs: list[float], windows: float, unlike: float) -> Estimate:
    """The logarithm of the share. The variance of a pod is learnt from both arms, about their means, with a prior for
    what few pods do not show; to it comes what a pod's machine does from window to window, and other batch sizes.
    """
    means_ = fmean(ours), fmean(theirs)
    missed = sum((each - mean) ** 2 for arm, mean in zip((ours, theirs), means_, strict=True) for each in arm)
    degrees = _AS_MANY + len(ours) + len(theirs) - 2
    of_pod = (_AS_MANY * _MACHINES**2 / 2 + missed) / degrees + _WANDERS**2 / windows
    error = sqrt(of_pod * (1 / len(ours) + 1 / len(theirs)) + unlike * unlike)
    return Estimate(mean=means_[1] - means_[0], error=error, degrees=degrees)


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
    return known if 0 < known.low <= known.ratio <= known.high <= 1 else None
