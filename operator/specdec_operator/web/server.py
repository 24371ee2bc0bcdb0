"""Listens and answers with pages, or with the same as JSON. It reads what was seen and changes nothing.

Browsers may call it by known names only. A stranger's page can let its own name point to 127.0.0.1 (DNS rebinding) and
read what is served there; the browser then still sends the stranger's name. An address cannot be turned like that.
"""

import importlib.resources
import ipaddress
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Final

from aiohttp import web

from specdec_operator.display.next_step import steps
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.web.fleet import FleetFilter, FleetRow, chosen, concern_of, filter_of
from specdec_operator.web.fleet_page import fleet_page
from specdec_operator.web.html import Frame, el, page
from specdec_operator.web.service_page import service_page
from specdec_operator.web.store import SeenService, ServiceStore

_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


def is_known(host: str, names: Collection[str]) -> bool:
    """Whether a request with this Host header is meant for this server: an address, localhost, or one of the names."""
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = (match["six"] or match["name"]).lower()
    return name == "localhost" or name in {each.lower() for each in names} or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def fleet_data(rows: Sequence[FleetRow], wanted: FleetFilter) -> str:
    """The rows that are asked for, all of them, as JSON."""
    found = (
        asdict(row) | {"concern": row.concern.word, "since": row.since.isoformat() if row.since else None}
        for row in chosen(rows, wanted)
    )
    return json.dumps({"services": [*found]})


def service_data(seen: SeenService, now: datetime) -> str:
    """One service as it is shown, as JSON: without engine.env, engine.args, pod and resources."""
    service = Untrusted(seen.body)
    view = {
        "concern": concern_of(service).word,
        "next": [asdict(step) for step in steps(service, now)],
        "pods": [{"name": pod.name, "revision": pod.revision, "ready": pod.ready} for pod in seen.pods],
    }
    return json.dumps({**seen.body, **view})


_LOG = logging.getLogger(__name__)
_HTML, _JSON = "text/html", "application/json"
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
_NOTHING: Final = "Page not found. Deleted services, and namespaces that this operator does not watch, are not shown."
_READING: Final = ("GET", "HEAD")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebServer:
    """The page. names: host names by which browsers may call it, in addition to addresses and localhost.

    clock: returns epoch seconds.
    """

    def __init__(self, store: ServiceStore, *, names: tuple[str, ...] = (), clock: Callable[[], float]) -> None:
        self._store = store
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
            message = "SPECDEC_WEB_ADDRESS=%s SPECDEC_WEB_PORT=%s: %s: the web page is not served; set a free port"
            _LOG.error(message, address, port, error)

    async def stop(self) -> None:
        """Stops listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._guarded])
        application.on_response_prepare.append(_secured)
        rows = self._store.rows
        answers: dict[str, tuple[str, Callable[[web.Request], str]]] = {
            "/": (_HTML, lambda asked: fleet_page(rows(), filter_of(asked.query), self._frame(asked))),
            "/services/{namespace}/{name}": (_HTML, lambda asked: service_page(self._one(asked), self._frame(asked))),
            "/api/v1/services": (_JSON, lambda asked: fleet_data(rows(), filter_of(asked.query))),
            "/api/v1/services/{namespace}/{name}": (_JSON, lambda asked: service_data(self._one(asked), self._now())),
        }
        folder = importlib.resources.files("specdec_operator.web")
        for name, kind in _FILES.items():
            text = folder.joinpath(name).read_text(encoding="utf-8")
            answers[f"/{name}"] = (kind, partial(_always, text))
        for path, (kind, text_of) in answers.items():
            application.router.add_get(path, _handler(kind, text_of))
        return application

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Only reading, and only for those who call this server by a name of its own."""
        if request.method not in _READING:
            message = f"{request.method}: this page is read-only: use GET"
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, message, Allow="GET, HEAD")
        if not is_known(request.headers.get("Host", ""), self._names):
            message = "the Host header has another name than this server: use localhost, or set SPECDEC_WEB_HOSTS"
            return _refused(HTTPStatus.FORBIDDEN, message)
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return self._missing(request)

    def _missing(self, request: web.Request) -> web.Response:
        if request.path.startswith("/api/"):
            return _refused(HTTPStatus.NOT_FOUND, _NOTHING)
        back = el("p", el("a", "All services", href=self._frame(request).root))
        text = page(self._frame(request), "Not found", el("h1", "Not found"), el("p", _NOTHING), back)
        return web.Response(text=text, content_type=_HTML, status=HTTPStatus.NOT_FOUND)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _frame(self, request: web.Request) -> Frame:
        return Frame(depth=request.rel_url.raw_path.count("/") - 1, now=self._now())

    def _one(self, request: web.Request) -> SeenService:
        """Raises HTTPNotFound where there is no such service."""
        service = self._store.one(request.match_info["namespace"], request.match_info["name"])
        if service is None:
            raise web.HTTPNotFound
        return service


async def _secured(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


def _always(text: str, _: web.Request) -> str:
    return text


def _handler(kind: str, text_of: Callable[[web.Request], str]) -> _Handler:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=text_of(request), content_type=kind)

    return answer


def _refused(status: HTTPStatus, message: str, **headers: str) -> web.Response:
    return web.Response(text=f"{message}\n", status=status, headers=headers)
