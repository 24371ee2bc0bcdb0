"""The operator's own Prometheus metrics about its process: turns, reads of pods, requests, leadership.

Those about each sis are in sis_metrics.py. Label values are words of the code, so that their number is bounded.
"""

import asyncio
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

from prometheus_client import Counter, Gauge, Histogram, start_http_server

from specdec_operator import __version__
from specdec_operator.errors import OperatorError

UNEXPECTED: Final = "Unexpected"
"""Reason of a turn that ended in a fault of the operator's own."""


class Source(StrEnum):
    """Where counters are read."""

    POD = "pod"
    PROMETHEUS = "prometheus"


class Failure(StrEnum):
    """Why a read failed."""

    TIMEOUT = "Timeout"
    """No answer within the time that a read may take."""
    CONNECTION = "Connection"
    """Nobody there, or the connection broke off: a network policy, a mesh, a pod on its way out."""
    UNREADABLE = "Unreadable"
    """Another HTTP status than 200, too long, or no counters of an engine."""


_TURN: Final = Histogram("specdec_turn_seconds", "Duration of one turn of the loop.")
_FAILED_TURNS: Final = Counter("specdec_turn_failures", "Turns that failed and are tried again.", ("reason",))
_LOOPS: Final = Gauge("specdec_loops", "Loops that run here: one a sis.")
_TASKS: Final = Gauge("specdec_tasks", "Tasks of the event loop: a few for the process, and a fixed number a sis.")
_LEADER: Final = Gauge("specdec_leader", "1 while this replica runs the loops; always 1 without leader election.")
_READS: Final = Counter("specdec_scrapes", "Reads of counters: a pod's page, or one query for all pods.", ("source",))
_FAILED_READS: Final = Counter("specdec_scrape_failures", "Reads that failed, by why.", ("source", "kind"))
_REQUESTS: Final = Counter("specdec_api_requests", "Requests of the loops to the API server; no watches.", ("verb",))
_FAILED_REQUESTS: Final = Counter(
    "specdec_api_errors", "Those that failed, by HTTP status; `none`: no answer.", ("verb", "code")
)
_BUILD: Final = Gauge("specdec_build_info", "1, with the version as labels.", ("version", "python"))

_LEADER.set(1)
_FAILED_TURNS.labels(UNEXPECTED)
_BUILD.labels(__version__, platform.python_version()).set(1)
for _source in Source:
    _READS.labels(_source)
    for _kind in Failure:
        _FAILED_READS.labels(_source, _kind)


def serve(port: int) -> None:
    """Serves /metrics from a thread of its own."""
    start_http_server(port)


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
    """From now on the page tells how many tasks this event loop has; they are counted when it is asked for."""
    _TASKS.set_function(lambda: len(asyncio.all_tasks(of)))


def leading(leads: bool) -> None:
    """Shows whether this replica runs the loops. Never called where there is no election."""
    _LEADER.set(leads)


def read(source: Source, failure: Failure | None = None) -> None:
    """Counts one read of counters. failure: why it failed; None: it did not."""
    _READS.labels(source).inc()
    if failure is not None:
        _FAILED_READS.labels(source, failure).inc()


def failure_of(error: Exception) -> Failure:
    """The kind of an error that a read raised: of aiohttp, asyncio or our own."""
    if isinstance(error, TimeoutError):
        return Failure.TIMEOUT
    return Failure.UNREADABLE if isinstance(error, ValueError) else Failure.CONNECTION


@contextmanager
def requested(verb: str) -> Iterator[None]:
    """Counts one request to the API server, and how it ended."""
    _REQUESTS.labels(verb).inc()
    try:
        yield
    except Exception as error:
        _FAILED_REQUESTS.labels(verb, str(getattr(error, "status", None) or "none")).inc()
        raise
