"""InferenceServices of the fleet as they change, through whatever an API server does while it starts."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
from kubernetes.aio import client, watch
from kubernetes.aio.client.exceptions import ApiException

from tests.wire.api import Object


async def inference_services(connection: client.ApiClient, namespace: str) -> AsyncIterator[Object]:
    """Each one that is there, that comes, or that changes; some twice."""
    asked = client.CustomObjectsApi(connection).list_namespaced_custom_object
    while True:
        try:
            stream = watch.Watch().stream(asked, "serving.kserve.io", "v1beta1", namespace, "inferenceservices")
            async for event in stream:
                if event["type"] in ("ADDED", "MODIFIED"):
                    yield event["object"]
        except (ApiException, aiohttp.ClientError, TimeoutError):
            await asyncio.sleep(0.2)
