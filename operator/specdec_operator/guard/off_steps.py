"""The steps of engines that drafted nothing: those in the dips of speculating pods, and all those of baseline pods. By
batch size, as the step clock counts them (docs/runtime.md). Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from typing import Final

from specdec_engine import metrics
from specdec_operator.guard.dips import kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTotals:
    """Of steps at one batch size. seconds: that they took; requests: that got tokens in them, summed up."""

    steps: float = 0.0
    seconds: float = 0.0
    requests: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether it can be of an engine: a page may show any numbers."""
        return self.steps > 0 and 1e-6 < self.seconds / self.steps < 1e4 and 0.5 < self.requests / self.steps < 1e5

    def plus(self, other: "StepTotals") -> "StepTotals":
        """Both together."""
        return StepTotals(**{name: getattr(self, name) + getattr(other, name) for name in _NAMES})

    def since(self, before: "StepTotals") -> "StepTotals":
        """What was counted after `before`."""
        return StepTotals(**{name: max(0.0, getattr(self, name) - getattr(before, name)) for name in _NAMES})

    def faded(self, share: float) -> "StepTotals":
        """A share of it."""
        return StepTotals(**{name: share * getattr(self, name) for name in _NAMES})


_NAMES: Final = tuple(each.name for each in fields(StepTotals))
OffSteps = Mapping[int, StepTotals]
"""By batch size: requests in a step, rounded up to a power of two. Steps that took a prompt in are left out."""
OFF_SERIES: Final = {
    metrics.STEPS: "steps",
    metrics.STEP_SECONDS: "seconds",
    metrics.STEP_REQUESTS: "requests",
}
"""Which series of an engine's page each total is."""


def off_steps_of(samples: Iterable[tuple[str, Mapping[str, str], float]]) -> OffSteps:
    """The totals of one pod. samples: names of series, their labels and values. Nothing of a page that lacks one of the
    series, or that has labels which the step clock does not write.
    """
    found: defaultdict[int, dict[str, float]] = defaultdict(dict)
    seen: set[str] = set()
    for name, labels, value in samples:
        if name in OFF_SERIES:
            seen.add(name)
            kind, total = kind_of(labels), OFF_SERIES[name]
            if kind is None:
                return {}
            if kind[0] == 0 and kind[1]:
                found[kind[1]][total] = found[kind[1]].get(total, 0.0) + value
    if seen != OFF_SERIES.keys():
        return {}
    return {batch: StepTotals(**totals) for batch, totals in found.items()}


def off_steps_between(before: OffSteps, after: OffSteps) -> OffSteps:
    """What was counted between two readings of a pod; nothing if the first has none: a server may drop the series of
    one of two scrapes, and the totals are of hours.
    """
    if not before:
        return {}
    return {batch: each.since(before.get(batch, StepTotals())) for batch, each in after.items()}


def all_off_steps(parts: Iterable[OffSteps]) -> OffSteps:
    """The sum of several pods or windows."""
    known = tuple(parts)
    batches = sorted({batch for part in known for batch in part})
    return {batch: reduce(StepTotals.plus, (part[batch] for part in known if batch in part)) for batch in batches}


def faded_off_steps(steps: OffSteps, share: float) -> OffSteps:
    """A share of them."""
    return {batch: each.faded(share) for batch, each in steps.items()}
