"""Listens and answers: the only file of the pages that knows HTTP. It reads what was seen and changes nothing."""

import importlib.resources
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from aiohttp import web

from specdec_operator.web import hosts
from specdec_operator.web.data import fleet_data, service_data
from specdec_operator.web.fleet import question_of
from specdec_operator.web.fleet_view import fleet_page
from specdec_operator.web.layout import Frame, page
from specdec_operator.web.markup import el
from specdec_operator.web.seen import Seen, Service
from specdec_operator.web.service_view import service_page

_LOG = logging.getLogger(__name__)
_FILES: Final = {"style.css": "text/css", "refresh.js": "text/javascript", "icon.svg": "image/svg+xml"}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "specdec-operator",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_READING: Final = ("GET", "HEAD")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebServer:
    """The page. names: host names by which browsers may call it, besides addresses and localhost.

    clock: tells epoch seconds.
    """

    def __init__(self, seen: Seen, *, names: tuple[str, ...] = (), clock: Callable[[], float]) -> None:
        self._seen = seen
        self._names = names
        self._clock = clock
        self._runner: web.AppRunner | None = None

    async def start(self, address: str, port: int) -> None:
        """Begins to listen; not at all where the port is 0. A port that is taken is logged and no more: the guard
        matters more than its page.
        """
        if not port:
            return
        self._runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=1.0, keepalive_timeout=30.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, address, port).start()
        except OSError as error:
            said = "SPECDEC_WEB_ADDRESS=%s SPECDEC_WEB_PORT=%s: %s: there is no web page until a free port is named"
            _LOG.error(said, address, port, error)

    async def stop(self) -> None:
        """Stops listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def port(self) -> int | None:
        """The port that it listens on; None where it does not."""
        addresses = self._runner.addresses if self._runner else []
        return addresses[0][1] if addresses else None

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._guarded])
        application.on_response_prepare.append(_secured)
        routes = application.router
        routes.add_get("/", self._fleet)
        routes.add_get("/services/{namespace}/{name}", self._service)
        routes.add_get("/api/v1/services", self._fleet_data)
        routes.add_get("/api/v1/services/{namespace}/{name}", self._service_data)
        folder = importlib.resources.files("specdec_operator.web")
        for name, kind in _FILES.items():
            routes.add_get(f"/{name}", _file(folder.joinpath(name).read_text(encoding="utf-8"), kind))
        return application

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Only reading, and only for those who call this server by a name of its own."""
        if request.method not in _READING:
            said = f"{request.method}: this page only shows: use GET"
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, said, Allow="GET, HEAD")
        if not hosts.is_known(request.headers.get("Host", ""), self._names):
            said = "this server is not known by the name in the Host header: use localhost, or set SPECDEC_WEB_HOSTS"
            return _refused(HTTPStatus.FORBIDDEN, said)
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return self._missing(request)

    def _missing(self, request: web.Request) -> web.Response:
        said = (
            "There is nothing here. Deleted services, and namespaces that this operator does not watch, are not shown."
        )
        if request.path.startswith("/api/"):
            return _refused(HTTPStatus.NOT_FOUND, said)
        back = el("p", el("a", "All services", href=self._frame(request).root))
        text = page(self._frame(request), "Not found", el("h1", "Not found"), el("p", said), back)
        return web.Response(text=text, content_type="text/html", status=HTTPStatus.NOT_FOUND)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _frame(self, request: web.Request) -> Frame:
        return Frame(depth=request.rel_url.raw_path.count("/") - 1, now=self._now())

    def _found(self, request: web.Request) -> Service:
        """Raises HTTPNotFound where there is no such sis."""
        found = self._seen.one(request.match_info["namespace"], request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        return found

    async def _fleet(self, request: web.Request) -> web.Response:
        text = fleet_page(self._seen.rows(), question_of(request.query), self._frame(request))
        return web.Response(text=text, content_type="text/html")

    async def _service(self, request: web.Request) -> web.Response:
        return web.Response(text=service_page(self._found(request), self._frame(request)), content_type="text/html")

    async def _fleet_data(self, request: web.Request) -> web.Response:
        return web.json_response(text=fleet_data(self._seen.rows(), question_of(request.query)))

    async def _service_data(self, request: web.Request) -> web.Response:
        return web.json_response(text=service_data(self._found(request), self._now()))


async def _secured(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


def _file(text: str, kind: str) -> _Handler:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type=kind)

    return answer


def _refused(status: HTTPStatus, said: str, **headers: str) -> web.Response:
    return web.Response(text=f"{said}\n", status=status, headers=headers)
