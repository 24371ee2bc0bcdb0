"""Reads /metrics of pods. What they send is not trusted: see BoundedReader."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import aiohttp

from specdec_operator import metrics
from specdec_operator.guard.counters import Counters, Unread, read_counters
from specdec_operator.process.off_loop import OffLoop
from specdec_operator.process.places import Places
from specdec_operator.scrape.access import Access

_LONGEST: Final = 12
"""Timeouts, which the gap grows to: a minute at 5 s, after which a pod that answers again is read at the latest."""
_FORGOTTEN: Final = 10
"""Longest gaps after which a pod that is no longer read is forgotten: it no longer exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A pod that does not answer. times: how often in a row it did not. until: when it is asked again, in seconds."""

    times: int
    until: float


Silences: TypeAlias = Mapping[str, Silence]
"""By the address that is asked."""


def waits(silences: Silences, url: str, now: float) -> Silence | None:
    """The silence for which this address is not asked now; None: it is to be asked."""
    silence = silences.get(url)
    return silence if silence is not None and now < silence.until else None


def grown(before: Silence | None, timeout: float, now: float) -> Silence:
    """The silence after one more read that took the whole timeout: each gap is twice as long as the one before."""
    times = 1 + (before.times if before else 0)
    gap = timeout * min(_LONGEST, 2 ** min(times - 1, _LONGEST))
    return Silence(times=times, until=now + gap)


def without_gone(silences: Silences, timeout: float, now: float) -> dict[str, Silence]:
    """Those that were asked lately: of pods that are gone nothing is kept."""
    oldest = now - _FORGOTTEN * _LONGEST * timeout
    return {url: each for url, each in silences.items() if each.until > oldest}


_LOG = logging.getLogger(__name__)
MOST_BYTES: Final = 2 * 1024 * 1024
"""Of a page, unless its reader knows better."""
_LONG: Final = 64 * 1024
"""Characters of a page that is longer than that of an engine, which has 45 kB."""
_MOST_REFUSAL: Final = 2048
"""Bytes of an answer with another status than 200 that are read."""
_MOST_WORDS: Final = 200
"""Characters of an error that are passed on: it may hold what the pod sent, and the status is kept small."""
_PLAIN: Final = Access()
_UNAUTHORIZED: Final = ("HTTP 401", "HTTP 403")
FAILURES: Final = (aiohttp.ClientError, TimeoutError, ValueError, OSError)
"""What a read raises."""


class HttpError(ValueError):
    """An answer with another status than 200. words: how it begins; location: where it points to. Both are untrusted,
    and not in the message.
    """

    def __init__(self, status: int, words: str, location: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.words = words
        self.location = location


class BoundedReader:
    """Asks servers that others chose: bounded in number, time and size; without redirects, cookies and secrets.

    Nothing is unpacked, so a small answer stays small. timeout: in seconds. limit: reads at once. explained: whether
    the beginning of an answer with another status than 200 is waited for.
    """

    def __init__(
        self,
        *,
        timeout: float,
        limit: int,
        connector: Callable[[], aiohttp.TCPConnector] = aiohttp.TCPConnector,
        explained: bool = False,
    ) -> None:
        self._explained = explained
        self.places = Places(limit)
        self.timeout = timeout
        self._connector = connector
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    async def body(self, method: str, url: str, *, most: int = MOST_BYTES, **more: Any) -> bytes:
        """An answer of at most so many bytes, 2 MiB by default. Raises one of FAILURES: HttpError for another status
        than 200, ValueError for more bytes.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                timeout=aiohttp.ClientTimeout(total=self.timeout),
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        body = bytearray()
        async with self._session.request(method, url, allow_redirects=False, **more) as response:
            if response.status != 200:
                words = await response.content.read(_MOST_REFUSAL) if self._explained else b""
                raise HttpError(response.status, words.decode(errors="replace"), response.headers.get("Location", ""))
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > most:
                    raise ValueError(f"more than {most} bytes")
        return bytes(body)


class PodMetrics(BoundedReader):
    """Reads counters of many pods at once, fairly by namespace; those that do not answer are asked less often."""

    def __init__(self, *, timeout: float, limit: int) -> None:
        # A connection that is kept open would keep a pod on its way out waiting for its client.
        # A pod has one address, so there is none to be tried beside it.
        connector = partial(aiohttp.TCPConnector, force_close=True, limit=0, happy_eyeballs_delay=None)
        super().__init__(timeout=timeout, limit=limit, connector=connector)
        self._silences: dict[str, Silence] = {}
        self._off_loop = OffLoop(timeout)

    async def read(
        self, namespace: str, urls: Mapping[str, str], access: Access = _PLAIN
    ) -> dict[str, Counters | Unread]:
        """The counters of each pod by name; Unread for a pod that did not answer in time, or not with metrics.

        One that did not answer the last times may not be asked now. namespace, access: of all these pods.
        """
        readings = await asyncio.gather(*(self._read_one(namespace, pod, url, access) for pod, url in urls.items()))
        return dict(zip(urls, readings, strict=True))

    async def page(self, namespace: str, url: str, access: Access = _PLAIN, *, most: int = MOST_BYTES) -> bytes:
        """A page of a pod, of at most so many bytes. Raises one of FAILURES."""
        async with self.places.place(namespace):
            return await self.body("GET", url, most=most, **access.options())

    async def _read_one(self, namespace: str, pod: str, url: str, access: Access) -> Counters | Unread:
        now = asyncio.get_running_loop().time()
        if (silence := waits(self._silences, url, now)) is not None:
            again = f"{silence.times} times in a row; the operator reads it again in {silence.until - now:.0f} s"
            return Unread(f"pod {pod}, {url}: {self._no_answer()}; {again}")
        try:
            counters = await self._parsed(namespace, (await self.page(namespace, url, access)).decode())
        except FAILURES as error:
            _LOG.debug("no metrics from pod=%s url=%s: %r", pod, url, error)
            kind = metrics.failure_of(error)
            metrics.read(metrics.CounterSource.POD, kind)
            self._note(url, kind)
            return Unread(f"pod {pod}, {url}: {self._words(kind, error)}")
        metrics.read(metrics.CounterSource.POD)
        self._silences.pop(url, None)
        return counters

    async def _parsed(self, namespace: str, page: str) -> Counters:
        """The counters of a page. A long one, which may take 0.2 s, is parsed beside the event loop."""
        if len(page) < _LONG:
            return read_counters(page)
        return await self._off_loop.call(namespace, read_counters, page)

    def _note(self, url: str, kind: metrics.ReadFailure) -> None:
        """Only what takes the whole timeout is asked less often: other failures hold a place for no time."""
        if kind is not metrics.ReadFailure.TIMEOUT:
            self._silences.pop(url, None)
            return
        now = asyncio.get_running_loop().time()
        self._silences = without_gone(self._silences, self.timeout, now)
        self._silences[url] = grown(self._silences.get(url), self.timeout, now)

    def _no_answer(self) -> str:
        way_out = "a NetworkPolicy may block the operator"
        return f"no answer within {self.timeout:g} s; {way_out}"

    def _words(self, kind: metrics.ReadFailure, error: Exception) -> str:
        message = str(error)[:_MOST_WORDS]
        if isinstance(error, aiohttp.ClientSSLError):
            return f"{message}; set serverName and caConfigMap of guard.source.pods to those of the pod's certificate"
        if message in _UNAUTHORIZED:
            return f"{message}: /metrics needs a token that is allowed to read it; set guard.source.pods.tokenSecret"
        match kind:
            case metrics.ReadFailure.TIMEOUT:
                return self._no_answer()
            case metrics.ReadFailure.CONNECTION:
                return (
                    f"{message}; the engine does not listen there, or a NetworkPolicy or a mesh blocks the operator, "
                    "or its metrics need HTTPS (guard.source.pods.scheme)"
                )
            case metrics.ReadFailure.UNREADABLE:
                return f"this is not a metrics page of an engine: {message}"
