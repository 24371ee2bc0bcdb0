"""The preStop hook: keeps a pod that gets no new clients until it has answered those it has, and let go of them.

Without it the old pod of a rollout is stopped in the middle of its requests, and their clients get no answer.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_engine import metrics
from specdec_runtime import leaving
from specdec_runtime.api import NotAnsweredError, VllmServer

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, the same inside IPv6, and ::1, as the kernel writes them on the machines that we know."""


def count(port: int, tables: tuple[Path, ...] = _TABLES) -> int:
    """Open connections to a port, except those from this pod itself; 0 if the kernel's table cannot be read."""
    return sum(_from_elsewhere(line.split(), port) for table in tables for line in _lines(table))


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []


def _from_elsewhere(columns: list[str], port: int) -> bool:
    """Whether a row is an open connection from elsewhere. Columns: number, local address, remote address, state; all in
    hexadecimal.
    """
    local, remote, state = columns[1:4]
    return (
        state == _ESTABLISHED
        and int(local.rpartition(":")[2], 16) == port
        and remote.rpartition(":")[0] not in _LOOPBACK
    )


if TYPE_CHECKING:
    from collections.abc import Callable

_SETTLE = 2.0
"""Seconds in which services still send clients to a pod that is on its way out."""
_LOOK = 0.25


def drain(port: int, seconds: float, *, settle: float = _SETTLE, clients: Callable[[int], int] = count) -> str:
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
        if not requests(page) and not clients(port):
            return f"drained in {time.monotonic() - started:.1f} s"
        time.sleep(_LOOK)
    return f"clients were still connected after {seconds:.0f} s"


def _say_so() -> None:
    """Have the server close each connection with its next answer, where leaving.py is among its middlewares."""
    try:
        leaving.mark().touch()
    except OSError as error:
        print(f"specdec: {leaving.mark()} cannot be written, so clients keep their connections: {error}", flush=True)


def requests(page: str) -> float:
    """Requests that run or wait."""
    return sum(metrics.total(page, family) or 0.0 for family in (metrics.RUNNING, metrics.WAITING))
