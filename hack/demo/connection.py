"""A connection to the API server of the local cluster: TLS by the kubeconfig's client certificate, and watches."""

import asyncio
import base64
import json
import pathlib
import ssl
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import aiohttp
import yaml

from hack.cluster.errors import ClusterError

_WATCH_SECONDS = 300
_PAUSE = 0.5
_PATIENCE = 60.0
LOST = (aiohttp.ClientError, TimeoutError, OSError)
"""What a broken or refused connection raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One message of a watch: ADDED, MODIFIED or DELETED with one object, or LISTED with all of them."""

    verb: str
    objects: tuple[dict[str, Any], ...]


class Connection:
    """One HTTP session to the API server."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def get(self, path: str) -> dict[str, Any]:
        """Read an object or a list. A server that asks for patience, as with a CRD of a moment ago, gets it."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            async with self.session.get(path) as answer:
                if answer.status != HTTPStatus.TOO_MANY_REQUESTS or time.monotonic() > deadline:
                    return await _object(path, answer)
                pause = float(answer.headers.get("Retry-After", _PAUSE))
            await asyncio.sleep(pause)

    async def delete(self, path: str) -> None:
        """Delete an object; an absent one is fine."""
        async with self.session.delete(path) as answer:
            if answer.status not in (200, 202, 404):
                words = (await answer.text())[:300]
                raise ClusterError(f"DELETE {path}: the API server answers {answer.status}: {words}")

    async def watch(self, path: str, selector: str) -> AsyncIterator[Change]:
        """Follow a collection for ever: a list first, then each change; after a lost connection a list again."""
        while True:
            try:
                listed = await self.get(f"{path}?{selector}")
                yield Change(verb="LISTED", objects=tuple(listed["items"]))
                version = listed["metadata"]["resourceVersion"]
                async for change in self._changes(f"{path}?watch=1&{selector}&resourceVersion={version}"):
                    yield change
            except LOST:
                await asyncio.sleep(_PAUSE)

    async def _changes(self, url: str) -> AsyncIterator[Change]:
        timeout = aiohttp.ClientTimeout(total=None, sock_read=_WATCH_SECONDS)
        async with self.session.get(url, timeout=timeout) as answer:
            async for line in answer.content:
                message = json.loads(line)
                if message["type"] == "ERROR":
                    return
                yield Change(verb=message["type"], objects=(message["object"],))


async def _object(path: str, answer: aiohttp.ClientResponse) -> dict[str, Any]:
    if answer.status != HTTPStatus.OK:
        raise ClusterError(f"GET {path}: the API server answers {answer.status}: {(await answer.text())[:300]}")
    found: dict[str, Any] = await answer.json()
    return found


def open_session(kubeconfig: pathlib.Path) -> aiohttp.ClientSession:
    """Open a session as the kubeconfig's only user."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    connector = aiohttp.TCPConnector(ssl=_tls(cluster, user), limit=0)
    # A watched object may be longer than the 64 KiB that a line may have by default.
    return aiohttp.ClientSession(
        cluster["server"], connector=connector, read_bufsize=2**20, timeout=aiohttp.ClientTimeout(total=60)
    )


def _tls(cluster: dict[str, str], user: dict[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=_decoded(cluster["certificate-authority-data"]).decode())
    # Python loads keys from files only; these are gone before the function returns.
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = pathlib.Path(folder) / "client.crt", pathlib.Path(folder) / "client.key"
        certificate.write_bytes(_decoded(user["client-certificate-data"]))
        key.write_bytes(_decoded(user["client-key-data"]))
        context.load_cert_chain(certificate, key)
    return context


def _decoded(text: str) -> bytes:
    return base64.b64decode(text)
