"""The operator's own Prometheus metrics about its process: turns, reads of pods, requests, leadership.

Those about each service are in report/service_metrics.py. Label values are words of the code: their number is bounded.
"""

import asyncio
import gzip
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from specdec_operator import __version__
from specdec_operator.errors import UNANSWERED, OperatorError, TooLarge

UNEXPECTED: Final = "Unexpected"
"""Reason of a turn that ended in a fault of the operator's own."""


class CounterSource(StrEnum):
    """Where counters are read."""

    POD = "pod"
    PROMETHEUS = "prometheus"


class ReadFailure(StrEnum):
    """Why a read failed."""

    TIMEOUT = "Timeout"
    """No answer within the time that a read may take."""
    CONNECTION = "Connection"
    """No process answers, or the connection broke off: a network policy, a mesh, a pod on its way out."""
    UNREADABLE = "Unreadable"
    """Another HTTP status than 200, too long, or no counters of an engine."""


_TURN: Final = Histogram("specdec_turn_seconds", "Duration of one reconcile.")
_FAILED_TURNS: Final = Counter("specdec_turn_failures", "Failed reconciles, which are retried.", ("reason",))
_LOOPS: Final = Gauge("specdec_loops", "Reconcile loops in this process, one per service.")
_DELAY: Final = Histogram(
    "specdec_event_loop_delay_seconds",
    "Delay of a timer of the event loop: while it is late, no service is reconciled and no read ends.",
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
_TASKS: Final = Gauge(
    "specdec_tasks", "Tasks of the event loop: a few for the process, and one for each running reconcile."
)
_LEADER: Final = Gauge("specdec_leader", "1 while this replica reconciles; always 1 without leader election.")
_READS: Final = Counter("specdec_scrapes", "Reads of metrics: one pod's page, or one query for all pods.", ("source",))
_FAILED_READS: Final = Counter("specdec_scrape_failures", "Failed reads, by reason.", ("source", "kind"))
_REQUESTS: Final = Counter(
    "specdec_api_requests", "Requests of the reconcile loops to the API server, without watches.", ("verb",)
)
_FAILED_REQUESTS: Final = Counter(
    "specdec_api_errors", "Failed requests, by HTTP status; `none`: no answer.", ("verb", "code")
)
_REFUSED_WRITES: Final = Counter(
    "specdec_refused_writes",
    "Writes that the API server, a webhook or a policy refused or undid, by kind of the object.",
    ("kind", "reason"),
)
_BUILD: Final = Gauge("specdec_build_info", "1, with the version as labels.", ("version", "python"))

_LEADER.set(1)
_FAILED_TURNS.labels(UNEXPECTED)
_BUILD.labels(__version__, platform.python_version()).set(1)
for _source in CounterSource:
    _READS.labels(_source)
    for _kind in ReadFailure:
        _FAILED_READS.labels(_source, _kind)


def page() -> bytes:
    """All metrics in Prometheus' text format. A family that can write its own text does so: those of the services."""
    parts = []
    for family in REGISTRY.collect():
        text = getattr(family, "text", None)
        parts.append(text().encode() if text else generate_latest(_One(family)))
    return b"".join(parts)


class _One(Collector):
    """A family by itself."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


class _Page(BaseHTTPRequestHandler):
    """Answers with the page; compressed a little where the reader takes that: most would cost more than the page."""

    timeout = 10.0

    def do_GET(self) -> None:
        """See BaseHTTPRequestHandler."""
        body, compressed = page(), "gzip" in self.headers.get("Accept-Encoding", "")
        body = gzip.compress(body, compresslevel=1) if compressed else body
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE_PLAIN_0_0_4)
        self.send_header("Content-Length", str(len(body)))
        if compressed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: a line a scrape."""


def serve(port: int) -> ThreadingHTTPServer:
    """Serves the page on all addresses, from a thread of its own, until the process ends."""
    server = ThreadingHTTPServer(("", port), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@contextmanager
def turn_timed() -> Iterator[None]:
    """Times one turn, and counts it where it ends in a fault of the operator's own; others count by turn_failed."""
    try:
        with _TURN.time():
            yield
    except OperatorError:
        raise
    except Exception:
        turn_failed(UNEXPECTED)
        raise


def turn_failed(reason: str) -> None:
    """Counts a turn that failed."""
    _FAILED_TURNS.labels(reason).inc()


def loops(running: int) -> None:
    """Shows how many loops run."""
    _LOOPS.set(running)


def count_tasks(of: asyncio.AbstractEventLoop) -> None:
    """From now on the page shows how many tasks this event loop has; each request for the page counts them."""
    _TASKS.set_function(lambda: len(asyncio.all_tasks(of)))


def loop_delayed(seconds: float) -> None:
    """Notes by how much a timer of the event loop was late."""
    _DELAY.observe(seconds)


def leading(leads: bool) -> None:
    """Shows whether this replica runs the loops. Never called where there is no election."""
    _LEADER.set(leads)


def read(source: CounterSource, failure: ReadFailure | None = None) -> None:
    """Counts one read of counters. failure: why it failed; None: it did not."""
    _READS.labels(source).inc()
    if failure is not None:
        _FAILED_READS.labels(source, failure).inc()


def failure_of(error: Exception) -> ReadFailure:
    """The kind of an error that a read raised: of aiohttp, asyncio or our own."""
    if isinstance(error, TimeoutError):
        return ReadFailure.TIMEOUT
    return ReadFailure.UNREADABLE if isinstance(error, ValueError) else ReadFailure.CONNECTION


@contextmanager
def requested(verb: str) -> Iterator[None]:
    """Counts one request to the API server, and how it ended."""
    _REQUESTS.labels(verb).inc()
    try:
        yield
    except TooLarge:  # it was answered
        raise
    except Exception as error:
        _FAILED_REQUESTS.labels(verb, str(getattr(error, "status", None) or "none")).inc()
        raise


@contextmanager
def writing(kind: str) -> Iterator[None]:
    """Counts one write of an object of this kind if it is refused. No answer is not a refusal."""
    try:
        yield
    except OperatorError as error:
        if error.reason != UNANSWERED:
            write_refused(kind, error.reason)
        raise


def write_refused(kind: str, reason: str) -> None:
    """Counts a write that was refused, or accepted and undone. Both words are of the code."""
    _REFUSED_WRITES.labels(kind, reason).inc()
