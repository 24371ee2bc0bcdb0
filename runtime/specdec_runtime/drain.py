"""The preStop hook: keeps a pod that gets no new clients until it has answered those it has, and let go of them.

Without it the old pod of a rollout is stopped in the middle of its requests, and their clients get no answer.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from specdec_engine import metrics
from specdec_runtime import connections, leaving
from specdec_runtime.api import NotAnsweredError, VllmServer

if TYPE_CHECKING:
    from collections.abc import Callable

_SETTLE = 2.0
"""Seconds in which services still send clients to a pod that is on its way out."""
_LOOK = 0.25


def drain(
    port: int, seconds: float, *, settle: float = _SETTLE, clients: Callable[[int], int] = connections.count
) -> str:
    """Wait until the server has no request and no client left, for `seconds` at most; return one sentence.

    clients: returns the number of connections of a port.
    """
    started = time.monotonic()
    _say_so()
    time.sleep(min(settle, seconds))
    while (left := started + seconds - time.monotonic()) > 0:
        try:
            page = VllmServer(port=port, deadline=time.monotonic() + left).get("/metrics")
        except NotAnsweredError as error:
            return f"nothing to drain: {error}"
        if not _requests(page) and not clients(port):
            return f"drained in {time.monotonic() - started:.1f} s"
        time.sleep(_LOOK)
    return f"clients were still connected after {seconds:.0f} s"


def _say_so() -> None:
    """Have the server close each connection with its next answer, where leaving.py is among its middlewares."""
    try:
        leaving.mark().touch()
    except OSError as error:
        print(f"specdec: {leaving.mark()} cannot be written, so clients keep their connections: {error}", flush=True)


def _requests(page: str) -> float:
    """Requests that run or wait."""
    return sum(metrics.total(page, family) or 0.0 for family in (metrics.RUNNING, metrics.WAITING))
