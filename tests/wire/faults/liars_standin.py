"""Stand-ins for pods that lie: raw TCP servers, because no HTTP library would send what these send."""

import asyncio
import gzip
import random
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from typing import Final, Self

from specdec_operator.serving.pods import ENGINE_PORT
from tests.wire.pods import EngineStandIn

Liar = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Answers one connection."""

_MEGABYTE: Final = b"x" * 2**20
GENERATED: Final = "vllm:generation_tokens_total"
ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens_total"
PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


class LiarServer:
    """One pod's address, at which a liar answers. asked: how often."""

    def __init__(self, liar: Liar) -> None:
        self._liar = liar
        numbers = random.SystemRandom()
        self.address = f"127.{numbers.randint(1, 250)}.{numbers.randint(1, 250)}.{numbers.randint(1, 250)}"
        self.asked = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, self.address, ENGINE_PORT)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        """Where its metrics would be."""
        return f"http://{self.address}:{ENGINE_PORT}/metrics"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        with suppress(OSError):  # whoever asked has had enough, and went
            await self._liar(reader, writer)
        writer.close()


def engine() -> EngineStandIn:
    """An engine that has served for a while."""
    made = EngineStandIn(tokens_per_second=400.0)
    made.spend(10.0)
    return made


def answering(body: bytes | Callable[[], bytes], *headers: bytes, status: bytes = b"200 OK") -> Liar:
    """A whole answer of HTTP/1.1 with a body, or with what a function makes of each question."""

    async def liar(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        sent = body() if callable(body) else body
        lines = (b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(sent), b"", b"")
        writer.write(b"\r\n".join(lines) + sent)
        await writer.drain()

    return liar


def saying(*parts: bytes, again: bytes = b"", pause: float = 0.0) -> Liar:
    """Bytes as they are; then the same bytes for ever, with pauses in seconds, or the end."""

    async def liar(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await writer.drain()
        while again:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    return liar


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The connection is reset in the middle of the page."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(HEAD + b"Content-Length: 100000\r\n\r\n" + engine().page().encode()[:200])
    await writer.drain()
    writer.transport.abort()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes the question, and says nothing until the other side has gone."""
    await reader.read()


async def tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server of TLS is asked in plain text: it answers with an alert."""
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_bio(inward, outward, server_side=True)
    inward.write(await reader.readuntil(b"\r\n\r\n"))
    with suppress(ssl.SSLError):
        server.do_handshake()
    writer.write(outward.read() or b"\x15\x03\x01\x00\x02\x02\x46")
    await writer.drain()


def with_value(family: str, value: str) -> bytes:
    """An engine's page on which one family has another value."""
    lines = engine().page().splitlines()
    changed = (f"{line.rpartition(' ')[0]} {value}" if line.startswith(family) else line for line in lines)
    return "\n".join((*changed, "")).encode()


def chunked(body: bytes) -> bytes:
    """One chunk of an answer."""
    return b"%x\r\n" % len(body) + body + b"\r\n"


@cache
def bomb() -> bytes:
    """A hundred megabytes, packed into a thousandth of it."""
    return gzip.compress(_MEGABYTE * 100)


@cache
def series(number: int) -> bytes:
    """A page of so many series of one family."""
    return "".join(f'{GENERATED}{{engine="{each}"}} 1\n' for each in range(number)).encode()


@cache
def labels(number: int) -> bytes:
    """A page of one series with so many labels."""
    inside = ",".join(f'a{each}="1"' for each in range(number))
    return f"{GENERATED}{{{inside}}} 1\n".encode()


PAGE: Final = engine().page().encode()
CHUNKS: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

UNREAD: Final[dict[str, Liar]] = {
    "negative": answering(with_value(GENERATED, "-5")),
    "nan": answering(with_value(ACCEPTED, "NaN")),
    "infinite": answering(with_value(ACCEPTED, "+Inf")),
    "1e308": answering(with_value(GENERATED, "1e308")),
    "no-number": answering(with_value(GENERATED, "many")),
    "twice": answering(PAGE + PAGE),
    "no-position": answering(PAGE.replace(b"position=", b"place=")),
    "position-of-a-billion": answering(PAGE.replace(b'position="3"', b'position="999999999"')),
    "another-program": answering(b"# TYPE go_goroutines gauge\ngo_goroutines 12\n"),
    "html": answering(b"<html>it works</html>\n", b"Content-Type: text/html"),
    "half-a-line": answering(PAGE[:-20]),
    "half-a-page": saying(HEAD + b"Connection: close\r\n\r\n" + PAGE[: PAGE.index(b"vllm:spec_decode_num_accepted")]),
    "no-utf-8": answering(b"# \xff\xfe\n" + PAGE),
    "utf-16": answering(PAGE.decode().encode("utf-16")),
    "a-million-series": answering(lambda: series(1_000_000)),
    "thousands-of-series": answering(lambda: series(40_000)),
    "thousands-of-labels": answering(lambda: labels(150_000)),
    "100-megabytes": answering(lambda: _MEGABYTE * 100),
    "endless": saying(CHUNKS, again=chunked(_MEGABYTE)),
    "endless-without-length": saying(HEAD + b"\r\n", again=_MEGABYTE),
    "a-byte-a-second": saying(HEAD + b"Content-Length: 1000000\r\n\r\n", again=b"#", pause=0.2),
    "a-byte-of-the-head-a-second": saying(b"HTTP/1.1 200 OK\r\nX: ", again=b"x", pause=0.2),
    "silent": silent,
    "huge-header": saying(b"HTTP/1.1 200 OK\r\nX: ", again=_MEGABYTE),
    "a-million-headers": saying(b"HTTP/1.1 200 OK\r\n", again=b"X-A: b\r\n" * 10_000),
    "continue-for-ever": saying(again=b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.001),
    "redirect-to-itself": answering(b"", b"Location: /metrics", status=b"302 Found"),
    "redirect-elsewhere": answering(b"", b"Location: http://127.0.0.1:9/metrics", status=b"307 Temporary Redirect"),
    "gzip-bomb": answering(bomb, b"Content-Encoding: gzip"),
    "gzip": answering(gzip.compress(PAGE), b"Content-Encoding: gzip"),
    "204": answering(b"", status=b"204 No Content"),
    "404": answering(PAGE, status=b"404 Not Found"),
    "500": answering(PAGE, status=b"500 Internal Server Error"),
    "broken-off": saying(HEAD + b"Content-Length: 100000\r\n\r\n" + PAGE),
    "broken-chunk": saying(CHUNKS + b"zz\r\n" + PAGE),
    "reset": reset,
    "tls": tls,
    "no-http": saying(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "nothing": saying(),
}
"""What is no page of an engine's counters: none of it may become a number."""

READ: Final[dict[str, Liar]] = {
    "http-1.0": saying(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE),
    "chunks": saying(CHUNKS + chunked(PAGE[:100]) + chunked(PAGE[100:]) + b"0\r\n\r\n"),
    "another-content-type": answering(PAGE, b"Content-Type: image/png"),
    "other-charset": answering(PAGE, b"Content-Type: text/plain; charset=utf-16"),
}
"""What is odd, and an engine's page all the same."""
