"""A maker of Deployments, not KServe: one for each InferenceService, and pods that are ready.

The Deployment's pods, and that what is owned goes with its owner, are the work of Kubernetes' own controllers.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
from tests.wire.api import DEPLOYMENT, ISVC, POD, Api, Object, Refused

from lab.scale.deployments_maker import MANAGER, deployment_of, index_of
from lab.scale.engines_standin import address_of

_OWNER = "serving.specdec.io/name"
_PAUSE = 1.0
_AT_ONCE = 16


def owned(child: Mapping[str, Any]) -> Object:
    """The Deployment of an InferenceService, with its owner."""
    body, meta = deployment_of(child), child["metadata"]
    owner = {"apiVersion": ISVC[0], "kind": "InferenceService", "name": meta["name"], "uid": meta["uid"]}
    body["metadata"]["ownerReferences"] = [owner | {"controller": True, "blockOwnerDeletion": True}]
    return body


class DeploymentsMaker:
    """Looks at everything again and again, so that it survives whatever happens to the API server."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._made: dict[str, Object] = {}

    async def keep(self) -> None:
        """Works until it is cancelled."""
        while True:
            try:
                await self._look()
            except (Refused, aiohttp.ClientError, TimeoutError, OSError):
                self._made.clear()
            await asyncio.sleep(_PAUSE)

    async def _look(self) -> None:
        children = await self._api.items(ISVC, self._namespace)
        live = {each["metadata"]["name"]: each for each in await self._api.items(DEPLOYMENT, self._namespace)}
        await asyncio.gather(*(self._deploy(child, live) for child in children))
        await asyncio.gather(*(self._run(pod) for pod in await self._api.items(POD, self._namespace)))

    async def _deploy(self, child: Object, live: Mapping[str, Object]) -> None:
        body = owned(child)
        name = body["metadata"]["name"]
        if name in live and self._made.get(name) == body:
            return
        async with self._places:
            await self._api.apply(DEPLOYMENT, self._namespace, body, MANAGER)
        self._made[name] = body

    async def _run(self, pod: Object) -> None:
        meta = pod["metadata"]
        if pod.get("status", {}).get("phase") == "Running" or "deletionTimestamp" in meta:
            return
        address = address_of(index_of(meta["labels"][_OWNER]))
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        status |= {"conditions": [{"type": "Ready", "status": "True"}]}
        async with self._places:
            try:
                await self._api.merge(POD, self._namespace, meta["name"], {"status": status}, "status")
            except Refused as error:
                if error.status != 404:  # it went meanwhile
                    raise
