"""Reads the counters of pods from a Prometheus server, by one request each time: the query, whether it is allowed, and
what its answer has for each pod.

The author of a service chooses the server: the path is fixed, what is taken is bounded as for a pod, and what is not
understood is logged at DEBUG only.

Raw samples are asked for, with their own times: what a server calls the present value may be minutes old, and may put
two scrapes together. A pod's counters are those of one scrape, whole, of the one process in it, or they are not known.
"""

import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal

from pydantic import BaseModel

from specdec_engine.metrics import CLOCK, GENERATED
from specdec_operator import metrics
from specdec_operator.api.guard import Prometheus
from specdec_operator.guard.counters import FAMILIES, Counters, counters_of
from specdec_operator.scrape.pods import FAILURES, BoundedReader

_LOG = logging.getLogger(__name__)
_STARTED: Final = "process_start_time_seconds"
_ENGINES_OWN: Final = frozenset(("engine", "model_name", "position"))
"""Labels that vLLM gives its series. Every other one was added on the way, and identifies the scraper and its target.
"""
_CLOCKS_OWN: Final = frozenset(("tokens", "batch", "prompt", "dip", "position"))
"""Labels that the step clock gives its own."""

_TOGETHER: Final = tuple(
    frozenset(name for name in FAMILIES if name.startswith(begin))
    for begin in ("vllm:spec_decode_", "vllm:request_time_per_output_token_seconds_")
)
"""Series of which an engine's page has all or none."""

_MOST_SECONDS: Final = 3600.0
_FEWEST_SECONDS: Final = 1.0
EVERY: Final = "*"
"""In the list of servers that may be asked: each one may."""

Own = tuple[str, frozenset[tuple[str, str]]]
"""A series as the engine's page has it: name, and labels of vLLM."""


class _Series(BaseModel):
    metric: dict[str, str]
    values: list[tuple[float, float]] = []


class _Data(BaseModel):
    resultType: Literal["matrix"]  # noqa: N815 - the server's name for it
    result: list[_Series]


class _QueryAnswer(BaseModel):
    status: Literal["success"]
    data: _Data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scrape:
    """What one target showed at one time, in epoch seconds."""

    target: frozenset[tuple[str, str]]
    time: float
    series: Mapping[Own, float]

    @property
    def started(self) -> float | None:
        """When the process began, in epoch seconds."""
        return self.series.get((_STARTED, frozenset()))

    @property
    def of_engine(self) -> bool:
        """Whether it is an engine's page; a sidecar's has the start of its own process only."""
        return any(name == GENERATED for name, _ in self.series)


def allowed(url: str, urls: Sequence[str]) -> str:
    """Why this server may not be asked; empty where it may. An empty list allows none, EVERY in it every server."""
    if EVERY in urls or url.rstrip("/") in {each.rstrip("/") for each in urls}:
        return ""
    asks = (
        (f"{', '.join(urls)} only: use one of these, or add the URL") if urls else "no Prometheus server: add the URL"
    )
    return (
        f"guard.source.prometheus.url is {url!r}, and this operator reads from {asks} to the operator's "
        "SPECDEC_PROMETHEUS_URLS (in the Helm chart: prometheusUrls)"
    )


def span(since: float, now: float) -> float:
    """How many seconds back to ask: twice as far as a sample may be old, so that the scrape before it is seen too."""
    return min(max(2 * (now - since), _FEWEST_SECONDS), _MOST_SECONDS)


def query(source: Prometheus, namespace: str, pods: Iterable[str], *, seconds: float) -> str:
    """The samples of these pods' counters in the last seconds. No name can end the string or the pattern it is in."""
    matchers = (
        f"__name__=~{_one_of(FAMILIES)}",
        f"{source.namespace_label}={_quoted(namespace)}",
        f"{source.pod_label}=~{_one_of(pods)}",
    )
    return f"{{{','.join(matchers)}}}[{ceil(1000 * seconds)}ms]"


def _one_of(words: Iterable[str]) -> str:
    return _quoted("|".join(re.escape(word) for word in words))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def readings(body: bytes, source: Prometheus, pods: Iterable[str], *, since: float) -> dict[str, Counters | None]:
    """The counters of each pod that was asked for, in a server's answer.

    None: no sample is newer than `since` (epoch seconds), no scrape is there whole, several processes are mixed, or a
    value is not one that a counter can have. Raises ValueError for what is not an answer to `query`.
    """
    by_pod: dict[str, list[_Series]] = {pod: [] for pod in pods}
    for series in _QueryAnswer.model_validate_json(body).data.result:
        if (pod := series.metric.get(source.pod_label)) in by_pod:
            by_pod[pod].append(series)
    return {pod: _reading(_scrapes(each), since) for pod, each in by_pod.items()}


def _scrapes(every: Iterable[_Series]) -> list[_Scrape]:
    """The series put together by target and time, as they were scraped; those of engines."""
    pages: defaultdict[tuple[frozenset[tuple[str, str]], float], dict[Own, float]] = defaultdict(dict)
    for series in every:
        labels = {label: value for label, value in series.metric.items() if label != "__name__"}
        name = series.metric.get("__name__", "")
        given = _CLOCKS_OWN if name.startswith(CLOCK) else _ENGINES_OWN
        own = frozenset((label, value) for label, value in labels.items() if label in given)
        target = frozenset(labels.items() - own)
        for time, value in series.values:
            pages[target, time][name, own] = value
    scrapes = (_Scrape(target=target, time=time, series=series) for (target, time), series in pages.items())
    return [scrape for scrape in scrapes if scrape.of_engine]


def _reading(scrapes: Iterable[_Scrape], since: float) -> Counters | None:
    """The newest whole scrape, where every target of the pod shows the same process.

    A pod may be scraped twice, by two jobs or by two servers whose data are in one place: that is one process with one
    start time, and only one of the two is read. Two processes in one pod look like an engine that restarts all the
    time, so neither is read.
    """
    latest = {scrape.target: scrape for scrape in sorted(_whole(scrapes), key=lambda each: each.time)}
    processes = {scrape.started for scrape in latest.values()}
    if len(processes) != 1 or (len(latest) > 1 and None in processes):
        return None
    newest = max(latest.values(), key=lambda each: each.time)
    if newest.time <= since:
        return None
    try:
        return counters_of((name, dict(labels), value) for (name, labels), value in newest.series.items())
    except ValueError:
        return None


def _whole(scrapes: Iterable[_Scrape]) -> list[_Scrape]:
    """The scrapes that lack nothing that another one of the same process has.

    A store that is written to series by series, from afar, answers in the middle of it. What a restart took away is
    another process's.
    """
    every = tuple(scrapes)
    known = any(scrape.started is not None for scrape in every)
    expected: defaultdict[float | None, set[Own]] = defaultdict(set)
    for scrape in every:
        expected[scrape.started] |= scrape.series.keys()
    return [
        scrape
        for scrape in every
        if (scrape.started is not None or not known)
        and scrape.series.keys() == expected[scrape.started]
        and _even(scrape.series)
    ]


def _even(series: Iterable[Own]) -> bool:
    """Whether this can be a whole page: each rank has the same series, and all or none of those that go together."""
    ranks: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for name, labels in series:
        if name != _STARTED and not name.startswith(CLOCK):
            values = dict(labels)
            ranks[values.get("engine", "")].add((name, values.get("position", "")))
    first, *others = ranks.values()
    names = {name for name, _ in first}
    return all(each == first for each in others) and all(not names & each or each <= names for each in _TOGETHER)


class PrometheusReader(BoundedReader):
    """Reads counters from the servers that services name. clock: returns epoch seconds. timeout: in seconds."""

    def __init__(self, *, clock: Callable[[], float], timeout: float, limit: int) -> None:
        super().__init__(timeout=timeout, limit=limit)
        self._clock = clock

    async def read(
        self, source: Prometheus, namespace: str, pods: Iterable[str], *, since: float
    ) -> dict[str, Counters | None]:
        """The counters of each pod by name; None where no scrape after `since` (epoch seconds) can be read whole."""
        names = tuple(pods)
        if not names:
            return {}
        url = f"{source.url.rstrip('/')}/api/v1/query"
        try:
            async with self.places.place(namespace):
                question = query(source, namespace, names, seconds=span(since, self._clock()))
                counters = readings(await self.body("POST", url, data={"query": question}), source, names, since=since)
        except FAILURES as error:
            _LOG.debug("no metrics from prometheus=%s namespace=%s: %r", source.url, namespace, error)
            metrics.read(metrics.CounterSource.PROMETHEUS, metrics.failure_of(error))
            return dict.fromkeys(names)
        metrics.read(metrics.CounterSource.PROMETHEUS)
        return counters
