"""A thin client of the API server for tests: plain dicts in and out, every path written out."""

import asyncio
import json
import pathlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, cast

import yaml
from kubernetes.aio import client, config
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient

Object = dict[str, Any]

SIS = "serving.specdec.io/v1alpha1", "speculativeinferenceservices"
ISVC = "serving.kserve.io/v1beta1", "inferenceservices"
DEPLOYMENT = "apps/v1", "deployments"
POD = "v1", "pods"
EVENT = "v1", "events"
_MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
_PATIENCE = 30.0


class Refused(Exception):
    """The API server refused; the text is its own."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Api:
    """One connection as administrator."""

    def __init__(self, connection: client.ApiClient) -> None:
        self._dynamic = DynamicClient(connection)

    async def call(
        self, method: str, path: str, body: Any = None, *, patience: float = _PATIENCE, **words: Any
    ) -> Object:
        """One request, repeated while a starting API server answers "too many requests", as kubectl does.

        patience: seconds for which the request is repeated. Raises Refused with the server's message.
        """
        until = time.monotonic() + patience
        while True:
            try:
                said = await self._dynamic.request(method, path, body=body, serializer=lambda _, data: data, **words)
                return cast("Object", said)
            except ApiException as error:
                if error.status != HTTPStatus.TOO_MANY_REQUESTS or time.monotonic() > until:
                    raise Refused(error.status, _said(error)) from error
            await asyncio.sleep(0.2)

    @staticmethod
    def path(kind: tuple[str, str], namespace: str, name: str = "") -> str:
        """The URL path of an object, or of all of its kind."""
        version, plural = kind
        root = "/api" if "/" not in version else "/apis"
        return f"{root}/{version}/namespaces/{namespace}/{plural}" + (f"/{name}" if name else "")

    async def served(self, crd: Object) -> None:
        """Waits until every version of a CRD is served.

        Condition Established comes first: for some moments after it the API server still answers "404 page not found".
        """
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
        async with asyncio.timeout(30):
            while not any(
                each["type"] == "Established" and each["status"] == "True"
                for each in (await self.call("get", path)).get("status", {}).get("conditions") or ()
            ):
                await asyncio.sleep(0.1)
            for version in (each["name"] for each in crd["spec"]["versions"] if each["served"]):
                while not await self._answers(f"/apis/{group}/{version}/{plural}"):
                    await asyncio.sleep(0.1)

    async def _answers(self, path: str) -> bool:
        try:
            await self.call("get", path)
        except Refused as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    async def create_namespace(self, name: str) -> None:
        """Makes a namespace."""
        await self.call("post", "/api/v1/namespaces", {"metadata": {"name": name}})

    async def get(self, kind: tuple[str, str], namespace: str, name: str) -> Object | None:
        """The object, or None where there is none."""
        try:
            return await self.call("get", self.path(kind, namespace, name))
        except Refused as error:
            if error.status == 404:
                return None
            raise

    async def items(self, kind: tuple[str, str], namespace: str) -> list[Object]:
        """All objects of a kind."""
        return list((await self.call("get", self.path(kind, namespace)))["items"])

    async def create(self, kind: tuple[str, str], namespace: str, body: Object, *, strict: bool = False) -> Object:
        """Creates an object; strict as kubectl does it."""
        query = [("fieldValidation", "Strict")] if strict else []
        return await self.call("post", self.path(kind, namespace), body, query_params=query)

    async def apply(self, kind: tuple[str, str], namespace: str, body: Object, manager: str = "a-user") -> Object:
        """Server-side apply, as `kubectl apply --server-side`."""
        path = self.path(kind, namespace, body["metadata"]["name"])
        return await self.call("patch", path, body, content_type=APPLY, field_manager=manager)

    async def merge(self, kind: tuple[str, str], namespace: str, name: str, body: Object, part: str = "") -> Object:
        """A merge patch, as `kubectl annotate` or `kubectl scale` send it."""
        path = self.path(kind, namespace, name) + (f"/{part}" if part else "")
        return await self.call("patch", path, body, content_type=_MERGE)

    async def delete(self, kind: tuple[str, str], namespace: str, name: str) -> None:
        """Deletes an object at once."""
        await self.call("delete", self.path(kind, namespace, name), {"gracePeriodSeconds": 0})


@asynccontextmanager
async def connected(kubeconfig: pathlib.Path) -> AsyncIterator[Api]:
    """A client with the rights of a kubeconfig."""
    settings = client.Configuration()
    await config.load_kube_config(str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as connection:
        yield Api(connection)


def _said(error: ApiException) -> str:
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.body)


def documents(text: str) -> list[Object]:
    """The objects in a YAML text."""
    return [each for each in yaml.safe_load_all(text) if each]
