"""/healthz, which the kubelet asks: from the start of the process to its end, whether it leads or stands by."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from aiohttp import web

_LEFT: Final = 0.1
"""Seconds that a connection has left at the end. aiohttp (3.14) drops what is asked over one that is made in the moment
of the stop, and waits for its end: by default a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessHealth:
    """How a process is that works.

    services: how many it has. new: of these, how many wait for their first reconcile. idle: seconds since one was
    reconciled. hangs: whether that is too long, so that the process has to be restarted.
    """

    services: int
    new: int
    idle: float
    hangs: bool


class HealthServer:
    """Answers with 200 and JSON, and with 500 where the process hangs."""

    def __init__(self, port: int) -> None:
        self._works: Callable[[], ProcessHealth] | None = None
        app = web.Application()
        app.router.add_get("/healthz", self._answer)
        self._port = port
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_LEFT)

    async def start(self) -> None:
        """Begins to answer."""
        await self._runner.setup()
        await web.TCPSite(self._runner, "0.0.0.0", self._port).start()  # noqa: S104 - the kubelet asks from outside

    def works(self, ask: Callable[[], ProcessHealth]) -> None:
        """From now on this process works. ask: how it is."""
        self._works = ask

    async def stop(self) -> None:
        """Frees the port."""
        await self._runner.cleanup()

    async def _answer(self, _: web.Request) -> web.Response:
        if self._works is None:
            return web.json_response({"leader": False})
        health = self._works()
        return web.json_response({"leader": True, **asdict(health)}, status=500 if health.hangs else 200)
