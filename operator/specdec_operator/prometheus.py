"""Reads the counters of pods from a Prometheus server: one request a look, bounded in size, time and number.

Whoever may write a sis chooses the server. So the path is fixed, no redirect is followed, no secret is sent, nothing is
unpacked, and of an answer that is not understood nothing is told but at DEBUG.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

import aiohttp

from specdec_operator import metrics
from specdec_operator.api.guard import Prometheus
from specdec_operator.bounded import PLAIN, body_of
from specdec_operator.guard.counters import Counters
from specdec_operator.promql import query, readings, span

_LOG = logging.getLogger(__name__)
_MOST_BYTES: Final = 2 * 1024 * 1024
_PATH: Final = "/api/v1/query"


class PrometheusReader:
    """Reads counters from the servers that sis name. clock: tells epoch seconds. timeout: in seconds."""

    def __init__(self, *, clock: Callable[[], float], timeout: float, limit: int) -> None:
        self._clock = clock
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._places = asyncio.Semaphore(limit)
        self._session: aiohttp.ClientSession | None = None

    async def read(
        self, source: Prometheus, namespace: str, pods: Iterable[str], *, since: float
    ) -> dict[str, Counters | None]:
        """The counters of each pod by name; None where no scrape after `since` (epoch seconds) can be read whole."""
        names = tuple(pods)
        if not names:
            return {}
        try:
            async with self._places:
                asked = query(source, namespace, names, seconds=span(since, self._clock()))
                found = readings(await self._answer(source.url, asked), source, names, since=since)
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
            _LOG.debug("no metrics from prometheus=%s namespace=%s: %r", source.url, namespace, error)
            metrics.read(metrics.Source.PROMETHEUS, metrics.failure_of(error))
            return dict.fromkeys(names)
        metrics.read(metrics.Source.PROMETHEUS)
        return found

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    async def _answer(self, url: str, asked: str) -> bytes:
        async with self._client().post(
            f"{url.rstrip('/')}{_PATH}", data={"query": asked}, allow_redirects=False
        ) as response:
            return await body_of(response, _MOST_BYTES)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=self._timeout,
                headers=PLAIN,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session
