"""The source of a service's counters: its pods, or the Prometheus server that its guard names.

A client that may write the status of a pod chooses its address, so not every address is asked.
"""

import asyncio
import ipaddress
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from specdec_operator.api.guard import Guard, PodSource, Scheme
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.observe.pods import ENGINE_PORT
from specdec_operator.scrape.access import AccessReader
from specdec_operator.scrape.pods import FAILURES, MOST_BYTES, PodMetrics
from specdec_operator.scrape.prometheus import PrometheusReader, allowed

FACTS: Final = "/specdec/facts"
"""The path at which this release's runtime shows what it saw of the models."""
DIAL: Final = "/specdec/dial"
"""The path at which it shows what its engine drafts."""
_DIAL_WITHIN: Final = 1.0
"""Seconds in which a pod answers what its engine drafts: it reads one small file."""
_MOST_DIAL_BYTES: Final = 16 * 1024
"""Of that page, which has some 500: all pods of a service are read at once, and their answers are kept together."""
_OLDEST: Final = 2.0
"""Intervals: a sample that is older shows nothing about now. A server that scrapes as often is one scrape behind."""


def is_local(url: str) -> bool:
    """Whether a server is on this machine: a cluster whose API server is has its pods here, perhaps on loopback."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or _plain(host).is_loopback
    except ValueError:
        return False


def refuse_address(address: str, *, local: bool) -> None:
    """Raises Unavailable for what is not an address of a pod: of the operator's own host or link, of many, of none.

    Link-local addresses are those at which clouds give a machine its credentials. local: whether the cluster is on this
    machine, where pods may be on loopback.
    """
    try:
        parsed = _plain(address)
    except ValueError as error:
        raise Unavailable("NoAddress", f"{address!r} is not an IP address") from error
    if parsed.is_loopback and local:
        return
    if parsed.is_loopback or parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified:
        raise Unavailable("NoAddress", f"{address} cannot be the address of a pod; the operator does not read it")


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address; of an IPv4 address in an IPv6 one, the former. Raises ValueError."""
    parsed = ipaddress.ip_address(address)
    return getattr(parsed, "ipv4_mapped", None) or parsed


class MetricsSource:
    """Reads by `guard.source`. clock: returns epoch seconds. local: whether pods may be on loopback."""

    def __init__(
        self,
        pods: PodMetrics,
        prometheus: PrometheusReader,
        access: AccessReader,
        *,
        clock: Callable[[], float],
        local: bool = False,
    ) -> None:
        self._pods = pods
        self._prometheus = prometheus
        self._access = access
        self._clock = clock
        self._local = local

    async def read(
        self, guard: Guard, pods: Mapping[str, str], *, namespace: str, port: int = ENGINE_PORT
    ) -> dict[str, Counters | Unread]:
        """The counters of each pod by name; Unread for a pod of which nothing new is known."""
        server = guard.source.prometheus if guard.source else None
        if server is None:
            return await self._read_pods(namespace, pods, port, guard.source.pods if guard.source else None)
        since = self._clock() - _OLDEST * guard.interval
        readings = await self._prometheus.read(server, namespace, pods, since=since)
        seconds = f"{_OLDEST * guard.interval:g} s"
        stale = f"{server.url} has no sample of this pod from the last {seconds}; it must scrape the engines"
        return {pod: reading or Unread(f"pod {pod}: {stale}") for pod, reading in readings.items()}

    async def facts(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """What the pod at an address saw of its models; None if it does not answer with it."""
        return await self._page(namespace, address, FACTS, port)

    async def dial(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """What the engine at an address drafts; None if it does not answer with it, or not at once."""
        try:
            async with asyncio.timeout(_DIAL_WITHIN):
                return await self._page(namespace, address, DIAL, port, most=_MOST_DIAL_BYTES)
        except TimeoutError:
            return None

    async def _page(self, namespace: str, address: str, path: str, port: int, most: int = MOST_BYTES) -> bytes | None:
        try:
            refuse_address(address, local=self._local)
            return await self._pods.page(namespace, _at(address, path, port), most=most)
        except (Unavailable, *FAILURES):
            return None

    async def _read_pods(
        self, namespace: str, pods: Mapping[str, str], port: int, how: PodSource | None
    ) -> dict[str, Counters | Unread]:
        try:
            access = await self._access.of(namespace, how)
        except Unavailable as error:
            return {pod: Unread(f"pod {pod}: {error.message}") for pod in pods}
        pages, refused = {}, {}
        for pod, address in pods.items():
            try:
                refuse_address(address, local=self._local)
                pages[pod] = _at(address, "/metrics", access.port or port, access.scheme)
            except Unavailable as error:
                refused[pod] = Unread(f"pod {pod}: {error.message}")
        return {**await self._pods.read(namespace, pages, access), **refused}


def _at(address: str, path: str, port: int = ENGINE_PORT, scheme: Scheme = Scheme.HTTP) -> str:
    """A page of a pod, by its address."""
    host = f"[{address}]" if ":" in address else address
    return f"{scheme.lower()}://{host}:{port}{path}"


def refuse_source(guard: Guard, urls: tuple[str, ...]) -> None:
    """Raises Invalid for a server that this operator may not ask. urls: those that it may, see allowed."""
    server = guard.source.prometheus if guard.source else None
    if server is not None and (objection := allowed(server.url, urls)):
        raise Invalid("spec.guard.source.prometheus.url", server.url, objection)
