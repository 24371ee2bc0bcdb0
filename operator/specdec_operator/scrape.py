"""Reads /metrics of pods: bounded in size, time and number, without redirects. The only aiohttp import."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

import aiohttp

from specdec_operator import metrics
from specdec_operator.bounded import PLAIN, body_of
from specdec_operator.guard.counters import Counters, Unread, read_counters

_LOG = logging.getLogger(__name__)
_MOST_BYTES: Final = 2 * 1024 * 1024
_MOST_WORDS: Final = 200
"""Characters of an error that are passed on: it may hold what the pod sent, and the status is kept small."""


class Scraper:
    """Reads counters of many pods at once."""

    def __init__(self, *, timeout: float, limit: int) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._places = asyncio.Semaphore(limit)
        self._session: aiohttp.ClientSession | None = None

    async def read(self, urls: Mapping[str, str]) -> dict[str, Counters | Unread]:
        """The counters of each pod by name; Unread for a pod that did not answer in time, or not with metrics."""
        readings = await asyncio.gather(*(self._read_one(pod, url) for pod, url in urls.items()))
        return dict(zip(urls, readings, strict=True))

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    async def _read_one(self, pod: str, url: str) -> Counters | Unread:
        try:
            async with self._places:
                counters = read_counters(await self._page(url))
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
            _LOG.debug("no metrics from pod=%s url=%s: %r", pod, url, error)
            kind = metrics.failure_of(error)
            metrics.read(metrics.Source.POD, kind)
            return Unread(f"pod {pod}, {url}: {self._words(kind, error)}")
        metrics.read(metrics.Source.POD)
        return counters

    def _words(self, kind: metrics.Failure, error: Exception) -> str:
        said = str(error)[:_MOST_WORDS]
        match kind:
            case metrics.Failure.TIMEOUT:
                within = f"no answer within {self._timeout.total:g} s"
                return f"{within}; a NetworkPolicy that does not let the operator in does this"
            case metrics.Failure.CONNECTION:
                return f"{said}; the engine does not listen there, or a NetworkPolicy or a mesh refuses the operator"
            case metrics.Failure.UNREADABLE:
                return f"this is no page of an engine's metrics: {said}"

    async def _page(self, url: str) -> str:
        if self._session is None:
            # A connection that is kept open would keep a pod on its way out waiting for its client.
            # A pod has one address, so there is none to be tried beside it.
            connector = aiohttp.TCPConnector(force_close=True, limit=0, happy_eyeballs_delay=None)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=self._timeout, headers=PLAIN, auto_decompress=False
            )
        async with self._session.get(url, allow_redirects=False) as response:
            return (await body_of(response, _MOST_BYTES)).decode()
