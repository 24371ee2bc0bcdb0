"""The API server as the kubeconfig says: objects, and requests through its proxy. The shell's only way out."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import aiohttp
from kubernetes.aio import client, config
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, refresh_token

from specdec_operator import __version__
from specdec_operator.measure.errors import Unmeasurable

Object = dict[str, Any]

LOST: Final = (aiohttp.ClientError, TimeoutError, OSError)
"""What a broken or refused connection raises."""
_MERGE: Final = "application/merge-patch+json"
_LINE_BYTES: Final = 2**20
_TIMEOUT: Final = 60.0
_SILENCE: Final = 300.0
"""Seconds without a byte after which an answer counts as lost."""
_MOST_WORDS: Final = 500


class Refused(Unmeasurable):
    """The API server, or the engine behind it, answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__("Refused", message)
        self.status = status


class Connection:
    """One session as the kubeconfig's user. namespace: that of its context."""

    def __init__(self, settings: client.Configuration, session: aiohttp.ClientSession, namespace: str) -> None:
        self._settings = settings
        self._session = session
        self.namespace = namespace

    async def get(self, path: str, **query: str) -> Object | None:
        """An object or a list; None where there is none. Raises Refused, Unmeasurable where nobody answers."""
        try:
            return await self.call("GET", path, query=query)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    async def call(
        self, method: str, path: str, body: Object | None = None, query: Mapping[str, str] | None = None
    ) -> Object:
        """One request with JSON both ways. Raises as get does; 404 as well."""
        found: Object = json.loads(await self._read(method, path, body, query))
        return found

    async def text(self, path: str) -> str:
        """A page. Raises as call does."""
        return await self._read("GET", path, None, None)

    @asynccontextmanager
    async def stream(self, path: str, body: Object) -> AsyncIterator[aiohttp.StreamReader]:
        """The answer to a POST as it comes. Raises Refused for an error status.

        The request is sent in chunks: behind the end of a body with a length the API server's proxy reads again, and
        where the engine has begun to answer by then, it drops the answer (7 of 1,564 on a busy machine; 0 of 1,300 so).
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_TIMEOUT, sock_read=_SILENCE)
        more = await self._dressed()
        async with self._session.post(path, json=body, chunked=True, timeout=timeout, **more) as answer:
            await _checked(answer, "POST", path)
            yield answer.content

    async def _read(self, method: str, path: str, body: Object | None, query: Mapping[str, str] | None) -> str:
        more = await self._dressed()
        if body is not None:
            more["data"] = json.dumps(body)
            more["headers"] |= {"Content-Type": _MERGE if method == "PATCH" else "application/json"}
        try:
            async with self._session.request(method, path, params=query, **more) as answer:
                await _checked(answer, method, path)
                return await answer.text()
        except LOST as error:
            message = f"{method} {path}: the API server does not answer: {type(error).__name__} {error}".rstrip()
            raise Unmeasurable("ApiServerUnavailable", message) from error

    async def _dressed(self) -> dict[str, Any]:
        """What each request carries: who asks, and how the server is reached. Tokens may change meanwhile."""
        token = await self._settings.get_api_key_with_prefix("BearerToken", alias="authorization")
        dressed: dict[str, Any] = {"headers": {"Authorization": token} if token else {}}
        if self._settings.proxy:
            dressed["proxy"] = self._settings.proxy
        if self._settings.tls_server_name:
            dressed["server_hostname"] = self._settings.tls_server_name
        return dressed


@asynccontextmanager
async def connected(kubeconfig: str | None) -> AsyncIterator[Connection]:
    """A connection as a kubeconfig says; None: KUBECONFIG, or ~/.kube/config. Raises Unmeasurable without one."""
    settings = client.Configuration()
    try:
        loader = await config.load_kube_config(kubeconfig, client_configuration=settings)
    except (ConfigException, OSError) as error:
        message = f"kubeconfig {kubeconfig or 'of KUBECONFIG or ~/.kube/config'} cannot be used: {error}"
        raise Unmeasurable("NoKubeconfig", message) from error
    namespace = loader.current_context["context"].get("namespace") or "default"
    connector = aiohttp.TCPConnector(ssl=RESTClientObject(settings).ssl_context, limit=0)
    renewing = asyncio.create_task(refresh_token(loader, settings))  # of users whose token a program makes
    session = aiohttp.ClientSession(
        settings.host,
        connector=connector,
        read_bufsize=_LINE_BYTES,
        timeout=aiohttp.ClientTimeout(total=_TIMEOUT),
        headers={"User-Agent": f"specdec/{__version__}"},
    )
    try:
        async with session:
            yield Connection(settings, session, namespace)
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing


async def _checked(answer: aiohttp.ClientResponse, method: str, path: str) -> None:
    if answer.status >= 400:
        words = _words(await answer.text())
        raise Refused(answer.status, f"{method} {path}: HTTP {answer.status}: {words}")


def _words(text: str) -> str:
    """The message of a Kubernetes Status or of an OpenAI error; else the text itself."""
    try:
        found = json.loads(text)
        said = found.get("message") or found["error"]["message"]
    except (ValueError, KeyError, TypeError, AttributeError):
        said = " ".join(text.split())
    return str(said)[:_MOST_WORDS]
