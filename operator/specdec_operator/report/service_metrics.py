"""The metrics of each service. What is no longer true is taken away, not left at its last value; so is a deleted one.

A service is kept as a few numbers, and its series are made when the page is asked for: a Gauge for each of them took
fifty kilobytes a service. Every label value but namespace and name is a word of an enumeration, or a position below
MOST_POSITIONS: a service has at most MOST_SERIES series, whatever happens to it, and nothing needs to be escaped.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, Final

from prometheus_client import REGISTRY
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from specdec_operator.guard.baseline_pods import Measure
from specdec_operator.guard.state import Phase
from specdec_operator.names import Key
from specdec_operator.report.conditions import Findings
from specdec_operator.report.service_numbers import (
    MOST_POSITIONS,
    NOTHING,
    MemoryMetrics,
    ServiceMetrics,
    StateMetrics,
    WindowMetrics,
    numbers,
    service_metrics,
)

_OF_STANDING: Final = len(fields(StateMetrics)) - 1 + len(Phase)
_OF_FINDING: Final = {
    "beside_score": "Standard errors on the wrong side of the limit, compared with baseline pods; a result needs 4.5.",
    "beside_value": "Ratio of both arms: baseline / speculating time per output token, else speculating / baseline.",
}
_OF_WINDOW: Final = len(fields(WindowMetrics)) - 2 + MOST_POSITIONS + len(_OF_FINDING) * len(Measure)
MOST_SERIES: Final = 2 + _OF_STANDING + _OF_WINDOW + len(fields(MemoryMetrics))
"""One series for each field, except the phase and the positions. Two more show whether the service is stalled, and the
time of the last evidence.
"""
_SERVICE: Final = ("namespace", "name")
Series = tuple[Key, tuple[str, ...], float]
"""A service, its further labels, the value."""


class GaugeFamily(Metric):
    """One gauge of all services. Its text is written in one pass: a Sample for each series took seven times as long."""

    def __init__(self, name: str, meaning: str, series: Iterable[Series], labels: tuple[str, ...] = ()) -> None:
        self.name, self.documentation, self.type, self.unit = f"specdec_{name}", meaning, "gauge", ""
        self._labels = (*_SERVICE, *labels)
        self._series = list(series)

    @cached_property
    def samples(self) -> list[Sample]:  # type: ignore[override] # made when asked for
        """The series as objects, for who asks the registry for one."""
        return [
            Sample(self.name, dict(zip(self._labels, (*key, *labels), strict=True)), float(value))
            for key, labels, value in self._series
        ]

    def text(self) -> str:
        """As Prometheus reads it, with the labels by their names, as its client library writes them."""
        order = sorted(range(len(self._labels)), key=self._labels.__getitem__)
        labels = ",".join(f'{self._labels[each]}="%s"' for each in order)
        line = f"{self.name}{{{labels}}} %s\n"
        pick = itemgetter(*order, len(order))
        texts = [line % pick((*key, *more, _number(value))) for key, more, value in self._series]
        return f"# HELP {self.name} {self.documentation}\n# TYPE {self.name} gauge\n{''.join(texts)}"


class ServiceCollector(Collector):
    """Every service that is shown."""

    def __init__(self) -> None:
        self.shown: dict[Key, ServiceMetrics] = {}

    def collect(self) -> Iterator[GaugeFamily]:
        """One family after the other, as the registry asks for them, from a thread of its own."""
        shown = dict(self.shown)
        stalled = "1 while the user must act; 0 for a rolled back service with guard.health Degraded."
        proved = "Time at which the last window with enough evidence closed."
        yield GaugeFamily("stalled", stalled, ((key, (), each.stalled) for key, each in shown.items()))
        yield GaugeFamily(
            "evidence_timestamp_seconds", proved, _some((key, each.evidence) for key, each in shown.items())
        )
        yield from _about_states([(key, each.standing) for key, each in shown.items() if each.standing])
        yield from _about_windows([(key, each.window) for key, each in shown.items() if each.window])
        memories = [(key, each.memory) for key, each in shown.items() if each.memory]
        for name, meaning in numbers(MemoryMetrics).items():
            yield GaugeFamily(name, meaning, _some((key, getattr(memory, name)) for key, memory in memories))


_FLEET: Final = ServiceCollector()


def observe(key: Key, found: Findings, status: Mapping[str, Any], *, silent: int, stalled: bool) -> None:
    """Shows the results of one reconcile. stalled: whether the present spec cannot be followed. status: the one to
    write.
    """
    before = _FLEET.shown.get(key, NOTHING)
    _FLEET.shown[key] = service_metrics(before, found, status, silent=silent, stalled=stalled)


def silent(key: Key, pods: int) -> None:
    """Shows how many pods did not answer a read between two reconciles. A reconcile shows all values."""
    shown = _FLEET.shown.get(key)
    if shown is not None and shown.standing is not None and shown.standing.pods_without_metrics != pods:
        _FLEET.shown[key] = replace(shown, standing=replace(shown.standing, pods_without_metrics=pods))


def refuse(key: Key) -> None:
    """Shows that the user must act and that no evidence is taken meanwhile."""
    before = _FLEET.shown.get(key, NOTHING)
    _FLEET.shown[key] = replace(before, stalled=True, window=None, memory=None, evidence=None)


def forget(key: Key) -> None:
    """Removes the series of a deleted service."""
    _FLEET.shown.pop(key, None)


def _about_states(states: list[tuple[Key, StateMetrics]]) -> Iterator[GaugeFamily]:
    for name, meaning in numbers(StateMetrics).items():
        yield GaugeFamily(name, meaning, _some((key, getattr(state, name)) for key, state in states))
    why, info = (
        "1 while the service serves something other than the requested speculation.",
        "1, with the requested method, accelerator and mode as labels.",
    )
    rolled_back = ((key, state.rolled_back, 1.0) for key, state in states if state.rolled_back)
    yield GaugeFamily("rolled_back", why, rolled_back, ("reason", "to"))
    services = ((key, state.service_info, 1.0) for key, state in states)
    yield GaugeFamily("service_info", info, services, ("method", "accelerator", "mode"))
    phases = ((key, (each.value,), each is state.phase) for key, state in states for each in Phase)
    yield GaugeFamily("phase", "1 for the guard's current phase, 0 for the others.", phases, ("phase",))


def _about_windows(windows: list[tuple[Key, WindowMetrics]]) -> Iterator[GaugeFamily]:
    for name, meaning in numbers(WindowMetrics).items():
        yield GaugeFamily(name, meaning, _some((key, getattr(window, name)) for key, window in windows))
    verdicts = ((key, window.verdict, 1.0) for key, window in windows if window.verdict)
    yield GaugeFamily("verdict", "1 for the verdict on that window.", verdicts, ("outcome", "reason"))
    for place, (name, meaning) in enumerate(_OF_FINDING.items()):
        found = ((key, (what,), each[place]) for key, window in windows for what, *each in window.findings)
        yield GaugeFamily(name, meaning, found, ("measure",))
    rates = ((key, (str(at),), rate) for key, window in windows for at, rate in enumerate(window.positions))
    yield GaugeFamily("position_acceptance_rate", "Accepted share of a draft position.", rates, ("position",))


def _some(values: Iterable[tuple[Key, float | None]]) -> Iterator[Series]:
    return ((key, (), value) for key, value in values if value is not None)


@lru_cache(maxsize=1_000)
def _number(value: float) -> str:
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]


REGISTRY.register(_FLEET)
