"""The preStop hook: keeps a pod that gets no new requests until those it has are answered.

Without it the old pod of a rollout is told to stop in the middle of its requests, and their clients wait for nothing.
"""

from __future__ import annotations

import time

from specdec_runtime import counters
from specdec_runtime.api import NotAnsweredError, Server

_SETTLE = 2.0
"""Seconds in which services still send requests to a pod that is on its way out."""
_LOOK = 0.25


def drain(port: int, seconds: float, *, settle: float = _SETTLE) -> str:
    """Wait until the server has nothing to do, for `seconds` at most; return one sentence."""
    started = time.monotonic()
    time.sleep(min(settle, seconds))
    while (left := started + seconds - time.monotonic()) > 0:
        try:
            page = Server(port=port, deadline=time.monotonic() + left).get("/metrics")
        except NotAnsweredError as error:
            return f"nothing to wait for: {error}"
        if not _requests(page):
            return f"drained in {time.monotonic() - started:.1f} s"
        time.sleep(_LOOK)
    return f"requests were still under way after {seconds:.0f} s"


def _requests(page: str) -> float:
    """Requests that run or wait."""
    return sum(counters.total(page, family) or 0.0 for family in (counters.RUNNING, counters.WAITING))
