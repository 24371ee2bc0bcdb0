"""The steps of engines that drafted nothing: those in the dips of speculating pods, and all those of the baseline. By
batch size, as the step clock counts them (docs/runtime.md). Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from specdec_engine import metrics
from specdec_operator.guard.dips import kind_of
from specdec_operator.guard.totals import Totals, added, faded

_WINDOW: Final = 120.0
_FADES: Final = 4 * 3600.0
"""Seconds after which steps count half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTotals(Totals):
    """Of steps at one batch size. seconds: that they took; requests: that got tokens in them, summed up."""

    steps: float = 0.0
    seconds: float = 0.0
    requests: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether it can be of an engine: a page may show any numbers."""
        return self.steps > 0 and 1e-6 < self.seconds / self.steps < 1e4 and 0.5 < self.requests / self.steps < 1e5


OffSteps = Mapping[int, StepTotals]
"""By batch size: requests in a step, rounded up to a power of two; 0: steps that took a prompt in."""
PROMPTS: Final = 0
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
            if kind[0] == 0:
                found[kind[1]][total] = found[kind[1]].get(total, 0.0) + value
    if seen != OFF_SERIES.keys():
        return {}
    return {batch: StepTotals(**totals) for batch, totals in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSteps:
    """Those of the pods of one arm so far, by pod. windows: of two minutes, how many of them, older ones less."""

    pods: Mapping[str, OffSteps] = field(default_factory=dict)
    windows: float = 0.0

    @property
    def totals(self) -> OffSteps:
        """Of all its pods together."""
        return added(*self.pods.values())

    def plus(self, window: Mapping[str, OffSteps], seconds: float) -> "ArmSteps":
        """With one more window of so many seconds. A pod that left stays until it has faded."""
        share = 0.5 ** (seconds / _FADES)
        after = {
            pod: added(faded(self.pods.get(pod, {}), share), window.get(pod, {}))
            for pod in sorted({*self.pods, *window})
        }
        stay = {pod: each for pod, each in after.items() if pod in window or _steps(each) >= 1}
        return ArmSteps(pods=stay, windows=share * self.windows + seconds / _WINDOW)


def _steps(steps: OffSteps) -> float:
    return sum(each.steps for each in steps.values())
