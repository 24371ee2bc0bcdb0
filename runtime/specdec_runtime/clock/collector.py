"""Shows the clock's sums in the server's /metrics. Imported inside vLLM only, which brings prometheus_client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from specdec_engine import metrics
from specdec_runtime.clock import page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.clock.page import EngineSums
    from specdec_runtime.clock.sums import StepKind

_KIND: Final = ("tokens", "batch")
_LABELS: Final = (*_KIND, "prompt")
_OF_DIP: Final = (*_KIND, "dip")
_BY: Final = "by tokens drafted a request, and requests (rounded up to a power of two)"
_HELP: Final = f"{_BY}, and whether a prompt was taken in"
_FAMILIES: Final = (
    ("steps", metrics.STEPS, "Steps of the engine"),
    ("seconds", metrics.STEP_SECONDS, "Seconds of these steps"),
    ("requests", metrics.STEP_REQUESTS, "Requests that got tokens in these steps, summed up"),
    ("tokens", metrics.STEP_TOKENS, "Tokens that they got"),
    ("drafted", metrics.STEP_DRAFT_TOKENS, "Draft tokens that these steps verified"),
)
_DIPS: Final = (
    ("dips", metrics.DIPS, "Dips: a few steps with fewer draft tokens or none, compared with the steps around them"),
    ("ratios", metrics.DIP_RATIOS, "Seconds of a step in a dip / of one around it, summed over the dips"),
    ("squares", metrics.DIP_SQUARES, "Squares of these ratios, summed over the dips"),
)
"""Field of the sums, name in /metrics (prometheus_client takes the end `_total` off and puts it on again), meaning."""


class StepCollector(Collector):
    """What a registry asks at each scrape."""

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Return the families; none while there are no sums."""
        if (found := page.left()).steps:
            yield from _of_steps(found)
            yield from _of_dips(found)


def _of_steps(found: EngineSums) -> Iterator[CounterMetricFamily]:
    for field, name, words in _FAMILIES:
        family = CounterMetricFamily(name, f"{words}, {_HELP}", labels=_LABELS)
        for kind, each in found.steps.items():
            family.add_metric(_labels(kind), getattr(each, field))
        yield family
    words, labels = f"Draft tokens that were accepted, {_HELP}, and by position", (*_LABELS, "position")
    accepted = CounterMetricFamily(metrics.STEP_ACCEPTED, words, labels=labels)
    for kind, each in found.steps.items():
        for position, count in enumerate(each.accepted):
            accepted.add_metric((*_labels(kind), str(position)), count)
    yield accepted


def _of_dips(found: EngineSums) -> Iterator[CounterMetricFamily]:
    for field, name, words in _DIPS:
        family = CounterMetricFamily(name, f"{words}, {_BY}, and by tokens drafted in the dip", labels=_OF_DIP)
        for kind, each in found.dips.items():
            family.add_metric((str(kind.tokens), str(kind.batch), str(kind.dip)), getattr(each, field))
        yield family


def register(registry: CollectorRegistry = REGISTRY) -> None:
    """Have the registry of vLLM's server show the sums."""
    registry.register(StepCollector())


def _labels(kind: StepKind) -> tuple[str, str, str]:
    return str(kind.tokens), str(kind.batch), str(kind.prompt).lower()
