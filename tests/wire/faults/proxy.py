"""A real HTTP proxy on loopback between the operator and the API server, which handles each request by a rule.

    async with Proxy(kubeconfig) as proxy:
        own = proxy.through(operator_kubeconfig, tmp_path / "through")   # what the operator is started with
        proxy.rule = lambda asked: Refuse(status=503) if asked.writes else Pass()
        ...
        proxy.cut()            # every running watch breaks off
        proxy.requests         # every request so far, in order, with what was done with it

Plain HTTP on the operator's side, TLS on the other; the operator's own token goes through as it is.
"""

import asyncio
import base64
import json
import pathlib
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from tests.wire.faults.deeds import Asked, Deed, Drop, Hang, Pass, Refuse, Rule, let_pass, resource
from tests.wire.waiting import until

_OF_ONE_HOP: Final = frozenset({"connection", "host", "content-length", "transfer-encoding", "keep-alive"})
_GONE: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


@dataclass(slots=True, kw_only=True)
class Request:
    """A request and what was done with it. status: what the operator was answered; 0: nothing."""

    asked: Asked
    deed: Deed
    status: int = 0


class Proxy:
    """See above. rule: asked about each request when it comes; change it at any time. requests: all so far."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        self.rule: Rule = let_pass
        self.requests: list[Request] = []
        self._kubeconfig = yaml.safe_load(kubeconfig.read_text())
        self._cluster = self._kubeconfig["clusters"][0]["cluster"]
        self._watches: dict[web.StreamResponse, web.BaseRequest] = {}
        self._mute: set[web.StreamResponse] = set()
        self._session: aiohttp.ClientSession | None = None
        self._sockets: list[socket.socket] = []
        self._runner = web.ServerRunner(web.Server(self._serve, handler_cancellation=True), shutdown_timeout=0.1)
        self.url = ""

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        connector = aiohttp.TCPConnector(ssl=_trusting(self._cluster), limit=0, socket_factory=self._socket)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        # A request that was broken off ends its TLS connection when the server has answered, and no close waits for
        # that: a loop that ends sooner leaves the socket open, and the garbage collector reports it in a later test.
        await until("every connection closed", self._closed)

    async def _closed(self) -> bool:
        return all(each.fileno() == -1 for each in self._sockets)

    def _socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        self._sockets = [each for each in self._sockets if each.fileno() != -1]
        self._sockets.append(socket.socket(*address[:3]))
        return self._sockets[-1]

    def through(self, kubeconfig: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
        """A kubeconfig of the same user that leads through this proxy."""
        content = yaml.safe_load(kubeconfig.read_text())
        for each in content["clusters"]:
            each["cluster"] = {"server": self.url}
        target.write_text(yaml.safe_dump(content))
        return target

    @property
    def writes(self) -> list[Asked]:
        """The requests so far that change something, in order."""
        return [each.asked for each in self.requests if each.asked.writes]

    @property
    def watching(self) -> list[str]:
        """Resources that are being watched now."""
        return sorted(resource(each.path) for each in self._watches.values())

    def cut(self) -> None:
        """Resets the connection of every running watch."""
        for request in list(self._watches.values()):
            _reset(request)

    async def cut_in_a_line(self) -> None:
        """Sends every running watch the half of an event, then resets it."""
        await self._say(b'{"type":"MODIFIED","object":{"kind":"Po')
        self.cut()

    async def garble(self) -> None:
        """Sends every running watch a line that is not JSON, and goes on."""
        await self._say(b'{"type":"MODIFIED","object":{"kind":"Po\n')

    async def expire(self) -> None:
        """Sends every running watch an error in its stream, HTTP 410 (resource version too old), and ends it."""
        await self._say(_GONE)
        self.cut()

    async def fail(self, code: int, *, what: str = "") -> None:
        """Sends every running watch an internal error of the API server, and ends it. what: only this resource's."""
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
        event = {"type": "ERROR", "object": status | {"message": "a test's proxy"}}
        await self._say(json.dumps(event).encode() + b"\n", what)
        if not what:
            self.cut()

    def mute(self) -> None:
        """From now on nothing comes through the running watches, not even their end; those begun later are heard."""
        self._mute |= set(self._watches)

    async def _say(self, words: bytes, what: str = "") -> None:
        for answer in [each for each, of in self._watches.items() if what in ("", resource(of.path))]:
            await answer.write(words)
        await asyncio.sleep(0.1)  # what is written must leave before the connection is reset

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = await _asked(request)
        deed = self.rule(asked)
        noted = Request(asked=asked, deed=deed)
        self.requests.append(noted)
        match deed:
            case Pass():
                await asyncio.sleep(deed.after)
                return await self._forward(request, noted)
            case Refuse():
                noted.status = deed.status
                headers = {} if deed.retry_after is None else {"Retry-After": str(deed.retry_after)}
                return web.json_response(deed.body(), status=deed.status, headers=headers)
            case Hang() | Drop():
                if deed.done:
                    await self._do(request, asked)
                if isinstance(deed, Drop):
                    _reset(request)
                elif deed.then is not None:
                    deed.then()
                return await _never()

    async def _do(self, request: web.BaseRequest, asked: Asked) -> None:
        """Lets the API server do it; its answer goes nowhere."""
        async with self._to_server(request, asked) as theirs:
            await theirs.read()

    async def _forward(self, request: web.BaseRequest, noted: Request) -> web.StreamResponse:
        try:
            async with self._to_server(request, noted.asked) as theirs:
                noted.status = theirs.status
                answer = web.StreamResponse(status=theirs.status, headers=_kept(theirs.headers))
                await answer.prepare(request)
                if noted.asked.watch:
                    self._watches[answer] = request
                async for part in theirs.content.iter_any():
                    if answer not in self._mute:
                        await answer.write(part)
                if answer in self._mute:
                    return await _never()
                await answer.write_eof()
                return answer
        except aiohttp.ClientError:  # the API server or the operator has closed the connection: no answer is possible
            _reset(request)
            return await _never()
        finally:
            self._watches = {each: of for each, of in self._watches.items() if of is not request}

    @asynccontextmanager
    async def _to_server(self, request: web.BaseRequest, asked: Asked) -> AsyncIterator[aiohttp.ClientResponse]:
        assert self._session is not None
        url = URL(self._cluster["server"] + request.raw_path, encoded=True)
        headers = _kept(request.headers)
        async with self._session.request(asked.method, url, headers=headers, data=asked.body or None) as theirs:
            yield theirs


async def _asked(request: web.BaseRequest) -> Asked:
    return Asked(
        at=time.monotonic(),
        method=request.method,
        path=request.path,
        what=resource(request.path),
        watch=request.query.get("watch", "") in ("1", "true"),
        agent=request.headers.get("User-Agent", ""),
        content_type=request.content_type,
        body=await request.read(),
        dry_run="dryRun" in request.query,
    )


async def _never() -> web.StreamResponse:
    """Waits for the operator to hang up, which ends the request."""
    await asyncio.Event().wait()
    raise AssertionError("nothing ends this wait")


def _reset(request: web.BaseRequest) -> None:
    if isinstance(request.transport, asyncio.Transport):
        request.transport.abort()


def _kept(headers: Any) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _OF_ONE_HOP}


def _trusting(cluster: dict[str, Any]) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
