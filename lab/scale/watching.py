"""InferenceServices of the fleet as they change, through whatever an API server does while it starts."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
from kubernetes.aio import client, watch
from kubernetes.aio.client.exceptions import ApiException
from tests.wire.api import Object


async def inference_services(connection: client.ApiClient, namespace: str = "") -> AsyncIterator[Object]:
    """Each one of a namespace, or of all, that is there, that comes, or that changes; some twice."""
    objects, place = client.CustomObjectsApi(connection), (namespace,) if namespace else ()
    asked = objects.list_namespaced_custom_object if namespace else objects.list_custom_object_for_all_namespaces
    while True:
        try:
            stream = watch.Watch().stream(asked, "serving.kserve.io", "v1beta1", *place, "inferenceservices")
            async for event in stream:
                if event["type"] in ("ADDED", "MODIFIED"):
                    yield event["object"]
        except (ApiException, aiohttp.ClientError, TimeoutError):
            await asyncio.sleep(0.2)
