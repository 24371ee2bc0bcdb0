"""Asks a server for everything that `specdec check` needs: three pages, one generated answer, and counters again and
again until the window is over.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar

from specdec_command.endpoint.seen import (
    EngineReading,
    GeneratedAnswer,
    Seen,
    Trouble,
    read_answer,
    read_engines,
    read_models,
    read_version,
)
from specdec_command.endpoint.troubles import trouble_of
from specdec_operator.api.guard import Scheme
from specdec_operator.errors import Unavailable
from specdec_operator.scrape.access import Access
from specdec_operator.scrape.pods import FAILURES, BoundedReader

_READS: Final = 15
"""How often counters are read in a window."""
_SHORTEST: Final = 1.0
"""Seconds between two reads at least."""
_COMPLETIONS: Final = "/v1/completions"
_PROMPT: Final = "one two three four one two three four one two three four one two three four one two"
"""Repeats itself, so that methods that look drafts up in the prompt find one."""
_TOKENS: Final = 16
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server, and how it is asked. url: without a slash at its end. token, ca: empty for none. timeout: of an answer,
    in seconds.
    """

    url: str
    token: str = ""
    ca: str = ""
    timeout: float = 30.0

    def options(self) -> dict[str, Any]:
        """Of a request, in aiohttp's names. Raises Unavailable for certificates that cannot be used."""
        if not self.url.startswith("https:"):
            return {"headers": {"Authorization": f"Bearer {self.token}"}} if self.token else {}
        try:
            return Access(scheme=Scheme.HTTPS, ca=self.ca, token=self.token).options()
        except ssl.SSLError as error:
            raise Unavailable(
                "CertificatesUnusable", f"--ca-file has no usable certificates in PEM: {error}"
            ) from error

    def __repr__(self) -> str:
        """Without the token."""
        return f"Endpoint({self.url})"


async def probe(endpoint: Endpoint, *, seconds: float, generate: bool) -> Seen:
    """What the server shows over a window of so many seconds. Raises Unavailable for certificates."""
    reader = BoundedReader(timeout=endpoint.timeout, limit=1, explained=True)
    asking = _Asking(endpoint=endpoint, reader=reader, options=endpoint.options())
    try:
        version, models, engines = await asyncio.gather(
            asking.page("/version", read_version), asking.page("/v1/models", read_models), asking.counters()
        )
        readings, begun = [EngineReading(at=0.0, engines=engines)] if engines else [], _now()
        answer = await asking.answer(models[0].name) if generate and models else None
        await _watch(asking, readings, begun, seconds)
    finally:
        await reader.close()
    return Seen(
        url=endpoint.url,
        version=version or "",
        models=models or (),
        readings=tuple(readings),
        answer=answer,
        troubles=tuple(asking.troubles.values()),
    )


async def _watch(asking: "_Asking", readings: list[EngineReading], begun: float, seconds: float) -> None:
    """Reads the counters again until the window is over, but not if the first read failed."""
    pause = max(_SHORTEST, seconds / _READS)
    while readings and readings[-1].at < seconds:
        await asyncio.sleep(min(pause, max(_SHORTEST, seconds - (_now() - begun))))
        if found := await asking.counters():
            readings.append(EngineReading(at=_now() - begun, engines=found))
        elif _now() - begun >= seconds:
            return


def _now() -> float:
    """Seconds of a clock that does not jump."""
    return asyncio.get_running_loop().time()


@dataclass(slots=True, kw_only=True)
class _Asking:
    """One server, and what did not answer so far, by path."""

    endpoint: Endpoint
    reader: BoundedReader
    options: Mapping[str, Any]
    troubles: dict[str, Trouble] = field(default_factory=dict)

    async def page(self, path: str, read: Callable[[bytes], _Found], body: object = None) -> _Found | None:
        """What a page has; None with a trouble noted if it cannot be read."""
        try:
            return read(await self._bytes(path, body))
        except FAILURES as error:
            token = bool(self.endpoint.token)
            self.troubles.setdefault(path, trouble_of(error, path, self.endpoint.timeout, token=token))
            return None

    async def counters(self) -> dict[str, Any] | None:
        """The counters of each engine."""
        return await self.page("/metrics", lambda body: read_engines(body.decode()))

    async def answer(self, model: str) -> GeneratedAnswer | None:
        """A generated answer, of a completion or, if the server has none, of a chat."""
        asked = {"model": model, "max_tokens": _TOKENS, "temperature": 0}
        begun = _now()

        def read(body: bytes) -> GeneratedAnswer:
            return read_answer(body, model, _now() - begun)

        found = await self.page(_COMPLETIONS, read, asked | {"prompt": _PROMPT})
        if found is not None or self.troubles[_COMPLETIONS].status != HTTPStatus.NOT_FOUND:
            return found
        chat = asked | {"messages": [{"role": "user", "content": _PROMPT}]}
        found = await self.page("/v1/chat/completions", read, chat)
        if found is not None:
            del self.troubles[_COMPLETIONS]
        return found

    async def _bytes(self, path: str, body: object) -> bytes:
        more = dict(self.options) if body is None else {**self.options, "json": body}
        return await self.reader.body("GET" if body is None else "POST", f"{self.endpoint.url}{path}", **more)
