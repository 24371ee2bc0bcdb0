"""One request to the API server: its address, the user of the request, and its message if it refuses.

kubernetes.aio reads kubeconfigs, certificates and tokens; aiohttp sends.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import aiohttp
import yaml
from kubernetes.aio import client, config
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config.kube_config import ENV_KUBECONFIG_PATH_SEPARATOR, KubeConfigLoader

from specdec_operator import __version__
from specdec_operator.errors import UNANSWERED, Invalid, TooLarge, Unavailable
from specdec_operator.kube.denial import denial, is_of_admission

Manifest = dict[str, Any]

_LOST: Final = (aiohttp.ClientError, TimeoutError, OSError, config.ConfigException)
_BUSY: Final = (429, 503)
_PATIENCE: Final = 10.0
_PAUSE: Final = 0.5
_LINE_BYTES: Final = 2**20
_MOST_WORDS: Final = 1000
_NO_KSERVE: Final = (
    "this cluster has no CRD of InferenceServices: install KServe, its CRDs and its controller; this service continues "
    "by itself after that"
)


class ApiError(Unavailable):
    """The API server refused, or did not answer. status: HTTP's, 0 without an answer. answer: its message."""

    def __init__(self, request: str, status: int, answer: str, *, after: float = 0.0) -> None:
        reason = "Refused" if status else UNANSWERED
        super().__init__(
            reason, f"{request}: HTTP {status}: {answer}" if status else answer, after=after, status=status
        )
        self.answer = answer


async def own_settings() -> client.Configuration:
    """The API server's address and the login, by a pod's service account or else by KUBECONFIG. Raises Unavailable."""
    settings = client.Configuration()
    try:
        config.load_incluster_config(settings)
    except config.ConfigException:
        try:
            await config.load_kube_config(client_configuration=settings)
        except config.ConfigException as error:
            raise Unavailable("NoKubeconfig", f"found no service account and no kubeconfig: {error}") from error
    return settings


class ApiRequests:
    """Asks one API server. Seconds: timeout, for a whole answer; patience, for which a busy server is asked again."""

    def __init__(
        self, settings: client.Configuration, *, agent: str, timeout: float, patience: float | None = None
    ) -> None:
        self.settings = settings
        self._base = str(settings.host).rstrip("/")
        self._timeout = timeout
        self._patience = _PATIENCE if patience is None else patience
        connector = aiohttp.TCPConnector(
            ssl=RESTClientObject(settings).ssl_context, limit=settings.connection_pool_maxsize
        )
        self._session = aiohttp.ClientSession(
            connector=connector, trust_env=True, read_bufsize=_LINE_BYTES, headers={"User-Agent": agent}
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._session.close()

    async def json(
        self, method: str, path: str, *, accept: str = "application/json", most: int | None = None, **more: Any
    ) -> Manifest:
        """The object that is answered; `more` as of answer. most: bytes that it may have, None: any number.

        A server that is busy, or does not serve a new kind yet, is asked again. Raises ApiError, and TooLarge.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + self._patience
        while True:
            try:
                async with self.answer(method, path, accept=accept, **more) as answer:
                    return _object(await answer.read() if most is None else await _at_most(answer, path, most))
            except ApiError as error:
                pause = max(error.after, _PAUSE)
                if error.status not in _BUSY or clock() + pause > until:
                    raise
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def answer(
        self,
        method: str,
        path: str,
        *,
        accept: str = "*/*",
        body: Any = None,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
        **options: Any,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to one request; options: aiohttp's. Raises ApiError, also for what breaks off in the block."""
        headers = {"Accept": accept} | ({} if body is None else {"Content-Type": content_type})
        options = {"timeout": aiohttp.ClientTimeout(total=self._timeout), **options}
        data = None if body is None else json.dumps(body).encode()
        try:
            more = await self._as_whom(headers)
            url = self._base + path
            async with self._session.request(method, url, params=query, data=data, **more, **options) as answer:
                if answer.status >= 400:
                    after = answer.headers.get("Retry-After", "")
                    seconds = float(after) if after.isdecimal() else 0.0
                    message = _message(await answer.text(errors="replace")) or str(answer.reason)
                    raise ApiError(f"{method} {path}", answer.status, message, after=seconds)
                yield answer
        except _LOST as error:
            raise ApiError(f"{method} {path}", 0, f"the API server did not answer: {_in_a_line(error)}") from error

    async def _as_whom(self, headers: dict[str, str]) -> dict[str, Any]:
        """Who asks, and how the server is reached. Tokens may change meanwhile."""
        settings = self.settings
        if token := await settings.get_api_key_with_prefix("BearerToken", alias="authorization"):
            headers["Authorization"] = token
        more: dict[str, Any] = {"headers": headers}
        if settings.proxy:
            more |= {"proxy": settings.proxy, "proxy_headers": settings.proxy_headers}
        if settings.tls_server_name:
            more["server_hostname"] = settings.tls_server_name
        return more


async def user_requests(
    kubeconfig: str | None, context: str | None, timeout: float
) -> tuple[ApiRequests, KubeConfigLoader]:
    """As a user. None: by KUBECONFIG, or ~/.kube/config if it is empty, in its current context.

    Raises Unavailable.
    """
    places = kubeconfig or config.KUBE_CONFIG_DEFAULT_LOCATION or str(Path.home() / ".kube" / "config")
    if not any(Path(each).expanduser().is_file() for each in places.split(ENV_KUBECONFIG_PATH_SEPARATOR) if each):
        raise Unavailable("NoKubeconfig", f"no kubeconfig exists at {places}: set KUBECONFIG, or use --kubeconfig")
    settings = client.Configuration(connection_pool_maxsize=0)  # no limit
    try:
        loader = await config.load_kube_config(places, context, settings, persist_config=False)
        return ApiRequests(settings, agent=f"specdec/{__version__}", timeout=timeout), loader
    except (config.ConfigException, yaml.YAMLError, OSError, ValueError) as error:
        raise Unavailable("NoKubeconfig", f"the kubeconfig {places} cannot be used: {_in_a_line(error)}") from error
    except (TypeError, LookupError, AttributeError) as error:  # the loader takes any YAML for a kubeconfig
        raise Unavailable("NoKubeconfig", f"{places} is not a kubeconfig") from error


async def _at_most(answer: aiohttp.ClientResponse, path: str, most: int) -> bytes:
    """The content of an answer. Raises TooLarge; then the rest was counted as it came, and not kept."""
    kept, size = bytearray(), 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size <= most:
            kept += chunk
        else:
            kept.clear()
    if size > most:
        raise TooLarge(path, size, most)
    return bytes(kept)


def _object(text: bytes) -> Manifest:
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise aiohttp.ClientPayloadError(f"not JSON: {_in_a_line(error)}") from error
    if not isinstance(answer, dict):
        raise aiohttp.ClientPayloadError("not a JSON object")
    return answer


def _message(text: str) -> str:
    """The message of a Kubernetes Status or of an engine's error; else the text itself."""
    try:
        answer = json.loads(text)
        message = str(answer.get("message") or answer["error"]["message"])
    except (ValueError, LookupError, TypeError, AttributeError):
        message = " ".join(text.split())
    return message[:_MOST_WORDS]


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def translated(
    path: str, body: Mapping[str, Any] = MappingProxyType({}), *, unless: tuple[int, ...] = ()
) -> Iterator[None]:
    """Raises Invalid and Unavailable as the operator understands them; nothing for the statuses of `unless`."""
    try:
        yield
    except ApiError as error:
        if error.status not in unless:
            raise _translation(error, path, body) from error


@contextmanager
def unless_gone() -> Iterator[None]:
    """Raises no ApiError of what is not there."""
    try:
        yield
    except ApiError as error:
        if error.status != 404:
            raise


_MADE_OF_A_SPEC: Final = frozenset({"InferenceService", "PersistentVolumeClaim", "Job"})


def _translation(error: ApiError, path: str, body: Mapping[str, Any]) -> Exception:
    what = f"{body.get('kind', path)} {body.get('metadata', {}).get('name', '')}".rstrip()
    match error.status:
        case 0:
            return error
        case 400 | 403 | 409 | 422 if error.status == 403 or is_of_admission(error.answer):
            return denial(error.answer, what, final=body.get("kind") in _MADE_OF_A_SPEC)
        case 400 | 422 if "metadata.uid:" not in error.answer:  # else another object has this name by now
            return Invalid(what, error.status, f"the API server rejected it: {error.answer}")
        case 404 if "/inferenceservices/" in path:
            return Unavailable("KServeMissing", _NO_KSERVE)
        case 404:
            return Unavailable("NotFound", f"{path} does not exist any more")
    # 500: several budgets name the pod, and none of them is asked
    budgets = path.endswith("/eviction") and error.status in (429, 500)
    reason = "NotEvicted" if budgets else "ApiServerRefused"
    words = f"HTTP {error.status} for {path}: {error.answer}"
    return Unavailable(reason, words, after=error.after, status=error.status)
