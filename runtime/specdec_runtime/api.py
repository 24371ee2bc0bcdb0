"""The few requests that prove and drain send to the server beside it, each within what is left of one time limit."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


_WORDS = 300
"""Characters of an answer that are passed on."""


class NotAnsweredError(Exception):
    """The server did not answer, or not as a healthy one does; the message is the sentence to print.

    status: the HTTP status that it answered with, if it did.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True, slots=True)
class VllmServer:
    """A vLLM server on this host.

    deadline: when the answers must be there, by the monotonic clock. key: the API key that it wants, if any.
    """

    port: int
    deadline: float
    key: str | None = None
    host: str = "127.0.0.1"

    def get(self, path: str) -> str:
        """Return the text behind a path."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """Return the JSON object that a request is answered with."""
        text = self._ask("POST", path, json.dumps(body))
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise NotAnsweredError(f"{path} was not answered with JSON: {text[:200]!r}") from error
        if not isinstance(answer, dict):
            raise NotAnsweredError(f"{path} was not answered with an object: {text[:200]!r}")
        return answer

    def served_model(self) -> str:
        """Return the name of the first served model. Raises NotAnsweredError if there is none."""
        try:
            return str(json.loads(self.get("/v1/models"))["data"][0]["id"])
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise NotAnsweredError("/v1/models lists no served model") from error

    def _ask(self, verb: str, path: str, body: str | None) -> str:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise NotAnsweredError(f"no time was left for {path}")
        connection = http.client.HTTPConnection(self.host, self.port, timeout=left)
        try:
            connection.request(verb, path, body, self._headers())
            response = connection.getresponse()
            text = response.read().decode("utf-8", errors="replace")
        except ConnectionRefusedError as error:
            raise NotAnsweredError(f"nothing listens on port {self.port} yet") from error
        except (OSError, http.client.HTTPException) as error:
            raise NotAnsweredError(f"{verb} {path} failed: {error!r}") from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise NotAnsweredError(
                f"{verb} {path} was answered with {response.status}: {text[:_WORDS]}", response.status
            )
        return text

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
