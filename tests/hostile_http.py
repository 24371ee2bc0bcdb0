"""HTTP servers for tests of code that reads from servers that are not its own: they answer as a test defines.

Raw TCP, because no HTTP library would send what some of these send. An Answer is what happens on one connection.
"""

import asyncio
import gzip
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, Final, Self

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKS: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
MEGABYTE: Final = b"x" * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. raw: its first line and headers as they came; headers: by their names in lower case."""

    raw: bytes
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


Answer = Callable[[Asked, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class HostileServer:
    """One server. answers: what all requests get, or those to each path; other paths get 404. asked: requests so far.

    port: 0 for any that is free. tls: None for plain HTTP.
    """

    def __init__(
        self,
        answers: Answer | Mapping[str, Answer],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._answers = answers
        self._tls = tls
        self.address = host
        self.port = port
        self.asked = 0
        self._server: asyncio.Server | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, self.address, self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self.address}:{self.port}"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):  # the client has closed the connection
                await self._answer(reader, writer)
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await _request(reader)
        self.asked += 1
        found = self._answers.get(asked.path, missing) if isinstance(self._answers, Mapping) else self._answers
        await found(asked, reader, writer)


async def _request(reader: asyncio.StreamReader) -> Asked:
    raw = await reader.readuntil(b"\r\n\r\n")
    first, *lines = raw.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    path, _, query = target.partition("?")
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(raw=raw, method=method, path=path, query=query, headers=headers, body=body)


@contextmanager
def in_a_thread(answers: Answer | Mapping[str, Answer]) -> Iterator[int]:
    """A server for tests of programs that know no asyncio; yields its port."""
    loop, server = asyncio.new_event_loop(), HostileServer(answers)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        yield server.port
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def answering(body: bytes | Callable[[], bytes], *headers: bytes, status: bytes = b"200 OK") -> Answer:
    """A whole answer of HTTP/1.1 with a body, or with what a function makes for each request."""

    async def answer(_: Asked, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = body() if callable(body) else body
        lines = (b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(sent), b"Connection: close", b"", b"")
        writer.write(b"\r\n".join(lines) + sent)
        await writer.drain()

    return answer


def replying(reply: Callable[[Asked], tuple[int, str]], *headers: bytes) -> Answer:
    """What a function makes of each request: a status and a body."""

    async def answer(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, text = reply(asked)
        line = f"{status} {HTTPStatus(status).phrase}".encode()
        await answering(text.encode(), *headers, status=line)(asked, reader, writer)

    return answer


def saying(*parts: bytes, again: bytes = b"", pause: float = 0.0) -> Answer:
    """Bytes as they are; then the same bytes for ever, with pauses in seconds, or the end."""

    async def answer(_: Asked, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        while again:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


def resetting(*parts: bytes) -> Answer:
    """The connection is reset after these bytes."""

    async def answer(_: Asked, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        writer.transport.abort()

    return answer


async def silent(_: Asked, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Takes the request, and sends nothing until the client has disconnected."""
    await reader.read()


async def tls(asked: Asked, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server of TLS is asked in plain text: it answers with an alert."""
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_bio(inward, outward, server_side=True)
    inward.write(asked.raw)
    with suppress(ssl.SSLError):
        server.do_handshake()
    writer.write(outward.read() or b"\x15\x03\x01\x00\x02\x02\x46")
    await writer.drain()


def redirect(place: bytes, status: bytes = b"302 Found") -> Answer:
    """Points elsewhere."""
    return answering(b"", b"Location: " + place, status=status)


def chunked(body: bytes) -> bytes:
    """One chunk of an answer."""
    return b"%x\r\n" % len(body) + body + b"\r\n"


@cache
def bomb() -> bytes:
    """A hundred megabytes, packed into a thousandth of it."""
    return gzip.compress(MEGABYTE * 100)


missing: Final = answering(b"", status=b"404 Not Found")
flood: Final = saying(CHUNKS, again=chunked(MEGABYTE))
trickle: Final = saying(HEAD + b"Content-Length: 1000000\r\n\r\n", again=b"#", pause=0.05)
packed: Final = answering(bomb, b"Content-Encoding: gzip")
