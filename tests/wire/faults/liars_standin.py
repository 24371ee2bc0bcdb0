"""Stand-ins for pods that lie about their counters."""

import gzip
from functools import cache
from typing import Final

from specdec_operator.observe.pods import ENGINE_PORT
from tests.hostile_http import (
    CHUNKS,
    HEAD,
    MEGABYTE,
    Answer,
    HostileServer,
    answering,
    chunked,
    flood,
    packed,
    redirect,
    resetting,
    saying,
    silent,
    tls,
)
from tests.wire.pods import EngineStandIn, any_address

GENERATED: Final = "vllm:generation_tokens_total"
ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens_total"


def pod_of(liar: Answer) -> HostileServer:
    """One pod's address, at which a liar answers."""
    return HostileServer(liar, host=any_address(), port=ENGINE_PORT)


def engine() -> EngineStandIn:
    """An engine that has served for a while."""
    made = EngineStandIn(tokens_per_second=400.0)
    made.spend(10.0)
    return made


def with_value(family: str, value: str) -> bytes:
    """An engine's page on which one family has another value."""
    lines = engine().page().splitlines()
    changed = (f"{line.rpartition(' ')[0]} {value}" if line.startswith(family) else line for line in lines)
    return "\n".join((*changed, "")).encode()


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

UNREAD: Final[dict[str, Answer]] = {
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
    "100-megabytes": answering(lambda: MEGABYTE * 100),
    "endless": flood,
    "endless-without-length": saying(HEAD + b"\r\n", again=MEGABYTE),
    "a-byte-a-second": saying(HEAD + b"Content-Length: 1000000\r\n\r\n", again=b"#", pause=0.2),
    "a-byte-of-the-head-a-second": saying(b"HTTP/1.1 200 OK\r\nX: ", again=b"x", pause=0.2),
    "silent": silent,
    "huge-header": saying(b"HTTP/1.1 200 OK\r\nX: ", again=MEGABYTE),
    "a-million-headers": saying(b"HTTP/1.1 200 OK\r\n", again=b"X-A: b\r\n" * 10_000),
    "continue-for-ever": saying(again=b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.001),
    "redirect-to-itself": redirect(b"/metrics"),
    "redirect-elsewhere": redirect(b"http://127.0.0.1:9/metrics", b"307 Temporary Redirect"),
    "gzip-bomb": packed,
    "gzip": answering(gzip.compress(PAGE), b"Content-Encoding: gzip"),
    "204": answering(b"", status=b"204 No Content"),
    "404": answering(PAGE, status=b"404 Not Found"),
    "500": answering(PAGE, status=b"500 Internal Server Error"),
    "broken-off": saying(HEAD + b"Content-Length: 100000\r\n\r\n" + PAGE),
    "broken-chunk": saying(CHUNKS + b"zz\r\n" + PAGE),
    "reset": resetting(HEAD + b"Content-Length: 100000\r\n\r\n" + PAGE[:200]),
    "tls": tls,
    "no-http": saying(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "nothing": saying(),
}
"""Answers that are not a page of an engine's counters: none of them may become a number."""

READ: Final[dict[str, Answer]] = {
    "http-1.0": saying(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE),
    "chunks": saying(CHUNKS + chunked(PAGE[:100]) + chunked(PAGE[100:]) + b"0\r\n\r\n"),
    "another-content-type": answering(PAGE, b"Content-Type: image/png"),
    "other-charset": answering(PAGE, b"Content-Type: text/plain; charset=utf-16"),
}
"""What is odd, and an engine's page all the same."""
