"""Lets go of clients that hold their connection while the pod is on its way out: the next answer closes it.

A middleware of vLLM's server. A Kubernetes Service sends new connections to other pods, but does not move an open one.
A client that holds one would send requests to this pod until the pod is stopped in the middle of an answer.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdec_runtime.stop import STOP

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Message, Receive, Send], Awaitable[None]]

_CLOSE = (b"connection", b"close")


def mark() -> Path:
    """Return the file whose presence marks that this pod is leaving; drain makes it."""
    return Path(tempfile.gettempdir()) / "specdec-leaving"


class Leaving:
    """Adds `Connection: close` to every answer once the pod is leaving."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._mark = mark()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass one request on, and its answer back."""

        async def last(message: Message) -> None:
            if message["type"] == "http.response.start" and (STOP.asked or self._mark.exists()):
                message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
            await send(message)

        await self._app(scope, receive, last if scope["type"] == "http" else send)
