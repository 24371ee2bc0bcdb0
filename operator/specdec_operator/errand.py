"""One short errand to the API server, for the programs that the chart runs beside the operator: plain requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Self

from kubernetes.aio import client, config
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient

from specdec_operator import names
from specdec_operator.connection import connection
from specdec_operator.errors import Unavailable
from specdec_operator.request import asked, words

Manifest = dict[str, Any]

_TIMEOUT: Final = 10.0
_PAUSE: Final = 0.5


class Errand:
    """A connection as the pod's service account, or outside of a cluster as KUBECONFIG says."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._dynamic = DynamicClient(api)

    @classmethod
    async def connect(cls) -> Self:
        """Connects. Raises Unavailable where there is neither a service account nor a kubeconfig."""
        try:
            return cls(await connection())
        except config.ConfigException as error:
            raise Unavailable("NoKubeconfig", f"no service account and no kubeconfig: {error}") from error

    async def close(self) -> None:
        """Closes the connections."""
        await self._api.close()

    async def get(self, path: str, **query: Any) -> Manifest | None:
        """What lies at a path of the API; None where nothing does. Raises Unavailable with the server's words."""
        return await self._ask("get", path, **query)

    async def merge(self, path: str, body: Manifest) -> Manifest | None:
        """A merge patch; None where there is nothing to patch. Raises Changed where its version is not the newest."""
        return await self._ask("patch", path, body=body, content_type="application/merge-patch+json")

    async def create(self, path: str, body: Manifest) -> Manifest:
        """Makes an object. Raises Unavailable where the kind is not known or the server refuses it."""
        made = await self._ask("post", path, body=body)
        if made is None:
            raise Unavailable("NotFound", f"POST {path}: HTTP 404: the CRD or the namespace is missing")
        return made

    async def delete(self, path: str) -> None:
        """Deletes an object with all that it owns; one that is gone is no error."""
        await self._ask("delete", path, body={"propagationPolicy": "Background"})

    async def _ask(self, method: str, path: str, **more: Any) -> Manifest | None:
        try:
            return await asked(self._dynamic, method, path, _request_timeout=_TIMEOUT, **more)
        except ApiException as error:
            if error.status == 404:
                return None
            kind = Changed if error.status == 409 else Unavailable
            raise kind("Refused", f"{method.upper()} {path}: HTTP {error.status}: {words(error)}") from error
        except Unavailable as error:
            raise Unavailable(error.reason, f"{method.upper()} {path}: {error.message}") from error


class Changed(Unavailable):
    """The object is there already, or another one has changed it meanwhile: read it again."""


def services_path(namespace: str, name: str = "") -> str:
    """The path of all sis of a namespace, or of one of them; of all of the cluster where no namespace is named."""
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{names.API_VERSION}{place}/{names.PLURAL}" + (f"/{name}" if name else "")


async def until(probe: Callable[[], Awaitable[str]], seconds: float) -> str:
    """Asks again and again until the probe says nothing; returns what it said last, empty where it is done."""
    said = "nothing was asked"
    try:
        async with asyncio.timeout(seconds):
            while said := await probe():
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        return said
    return ""
