"""Answers /healthz of a replica that stands by; the one that leads answers through kopf, on the same port."""

from typing import Final

from aiohttp import web

_LEFT: Final = 0.1
"""Seconds that a connection has left. aiohttp (3.14) drops what is asked over one that is made in the moment of the
stop, and waits for its end: by default a minute, in which nobody leads."""


class StandBy:
    """A server on all addresses, because the kubelet asks from outside."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Begins to answer."""
        app = web.Application()
        app.router.add_get("/healthz", _healthy)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_LEFT)
        await self._runner.setup()
        await web.TCPSite(self._runner, "0.0.0.0", self._port).start()  # noqa: S104 - as kopf's own

    async def stop(self) -> None:
        """Frees the port."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


async def _healthy(_: web.Request) -> web.Response:
    return web.json_response({"leader": False})
