"""One plain request to the API server over a connection that is there, and its words where it refuses."""

import json
from typing import Any

import aiohttp
from kubernetes.aio.client.exceptions import ApiException, ApiTypeError
from kubernetes.aio.dynamic import DynamicClient

from specdec_operator.errors import Unavailable


async def asked(dynamic: DynamicClient, method: str, path: str, **more: Any) -> dict[str, Any]:
    """The answer, as it was sent. Raises ApiException where the server refuses, Unavailable where it is silent."""
    try:
        answer: dict[str, Any] = await dynamic.request(method, path, serializer=lambda _, data: data, **more)
    except (TimeoutError, OSError, aiohttp.ClientError, ValueError, ApiTypeError) as error:
        raise Unavailable("ApiServerUnavailable", f"the API server did not answer: {said(error)}") from error
    return answer


def said(error: Exception) -> str:
    """What an exception says, in one line; what it is, where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def words(error: ApiException) -> str:
    """The message of the Status that the API server sent, or else what it sent."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, TypeError, LookupError):
        return str(error.body or error.reason)[:1000]
