"""Where the counters of a sis are read: from its pods, or from the Prometheus server that its guard names."""

from collections.abc import Callable, Mapping
from typing import Final

from specdec_operator.api.guard import Guard
from specdec_operator.control.addresses import refuse_address
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.prometheus import PrometheusReader
from specdec_operator.promql import allowed
from specdec_operator.scrape import Scraper
from specdec_operator.serving.pods import ENGINE_PORT

_OLDEST: Final = 2.0
"""Intervals: a sample that is older says nothing about now. A server that scrapes as often is one scrape behind."""


class Readers:
    """Reads by `guard.source`. clock: tells epoch seconds. local: whether pods may be on loopback."""

    def __init__(
        self, pods: Scraper, prometheus: PrometheusReader, *, clock: Callable[[], float], local: bool = False
    ) -> None:
        self._pods = pods
        self._prometheus = prometheus
        self._clock = clock
        self._local = local

    async def read(self, guard: Guard, pods: Mapping[str, str], *, namespace: str) -> dict[str, Counters | Unread]:
        """The counters of each pod by name; Unread for a pod of which nothing new is known."""
        if guard.source is None:
            return await self._read_pods(pods)
        since = self._clock() - _OLDEST * guard.interval
        server = guard.source.prometheus
        found = await self._prometheus.read(server, namespace, pods, since=since)
        stale = (
            f"{server.url} has no sample of it of the last {_OLDEST * guard.interval:g} s; it must scrape the engines"
        )
        return {pod: reading or Unread(f"pod {pod}: {stale}") for pod, reading in found.items()}

    async def _read_pods(self, pods: Mapping[str, str]) -> dict[str, Counters | Unread]:
        pages, refused = {}, {}
        for pod, address in pods.items():
            try:
                refuse_address(address, local=self._local)
                pages[pod] = _page(address)
            except Unavailable as error:
                refused[pod] = Unread(f"pod {pod}: {error.message}")
        return {**await self._pods.read(pages), **refused}


def _page(address: str) -> str:
    """Where a pod shows its metrics, by its address."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{ENGINE_PORT}/metrics"


def refuse_source(guard: Guard, urls: tuple[str, ...]) -> None:
    """Raises Invalid for a server that this operator may not ask. urls: those that it may; all where empty."""
    if guard.source is None:
        return
    url = guard.source.prometheus.url
    if words := allowed(url, urls):
        raise Invalid("spec.guard.source.prometheus.url", url, words)
