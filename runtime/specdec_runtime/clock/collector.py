"""Shows the clock's sums in the server's /metrics. Imported inside vLLM only, which brings prometheus_client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from specdec_runtime.clock import page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specdec_runtime.clock.sums import StepKind

_LABELS: Final = ("tokens", "batch", "prompt")
_HELP: Final = "by tokens drafted a request, requests (rounded up to a power of two), and whether a prompt was taken in"
_FAMILIES: Final = (
    ("steps", "steps", "Steps of the engine"),
    ("seconds", "step_seconds", "Seconds of these steps"),
    ("tokens", "tokens", "Tokens that these steps brought to clients"),
    ("drafted", "draft_tokens", "Draft tokens that these steps verified"),
)
_PREFIX: Final = "specdec_engine_"


class StepCollector(Collector):
    """What a registry asks at each scrape."""

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Return the families; none while there are no sums."""
        if not (sums := page.left()):
            return
        for field, name, words in _FAMILIES:
            family = CounterMetricFamily(f"{_PREFIX}{name}", f"{words}, {_HELP}", labels=_LABELS)
            for kind, each in sums.items():
                family.add_metric(_labels(kind), getattr(each, field))
            yield family
        words, labels = f"Draft tokens that were accepted, {_HELP}, and by position", (*_LABELS, "position")
        accepted = CounterMetricFamily(f"{_PREFIX}accepted_tokens", words, labels=labels)
        for kind, each in sums.items():
            for position, count in enumerate(each.accepted):
                accepted.add_metric((*_labels(kind), str(position)), count)
        yield accepted


def register(registry: CollectorRegistry = REGISTRY) -> None:
    """Have the registry of vLLM's server show the sums."""
    registry.register(StepCollector())


def _labels(kind: StepKind) -> tuple[str, str, str]:
    return str(kind.tokens), str(kind.batch), str(kind.prompt).lower()
