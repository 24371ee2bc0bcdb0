"""Reads /metrics of pods: bounded in size, time and number, without redirects. The only aiohttp import."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

import aiohttp

from specdec_operator.bounded import PLAIN, body_of
from specdec_operator.guard.counters import Counters, read_counters

_LOG = logging.getLogger(__name__)
_MOST_BYTES: Final = 2 * 1024 * 1024


class Scraper:
    """Reads counters of many pods at once."""

    def __init__(self, *, timeout: float, limit: int) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._places = asyncio.Semaphore(limit)
        self._session: aiohttp.ClientSession | None = None

    async def read(self, urls: Mapping[str, str]) -> dict[str, Counters | None]:
        """The counters of each pod by name; None for a pod that did not answer in time, or not with metrics."""
        readings = await asyncio.gather(*(self._read_one(pod, url) for pod, url in urls.items()))
        return dict(zip(urls, readings, strict=True))

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    async def _read_one(self, pod: str, url: str) -> Counters | None:
        try:
            async with self._places:
                return read_counters(await self._page(url))
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
            _LOG.debug("no metrics from pod=%s url=%s: %r", pod, url, error)
            return None

    async def _page(self, url: str) -> str:
        if self._session is None:
            # A connection that is kept open would keep a pod on its way out waiting for its client.
            connector = aiohttp.TCPConnector(force_close=True, limit=0)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=self._timeout, headers=PLAIN, auto_decompress=False
            )
        async with self._session.get(url, allow_redirects=False) as response:
            return (await body_of(response, _MOST_BYTES)).decode()
