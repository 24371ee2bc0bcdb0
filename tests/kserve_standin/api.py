"""The stand-in's only road to the API server: plain requests by path, through the official client.

It decides nothing and retries nothing; a refusal of the API server comes back as ApiError.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kubernetes.aio import client, config, dynamic
from kubernetes.aio.client.exceptions import ApiException

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.kserve_standin.model import Manifest

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
NOT_FOUND = 404
CONFLICT = 409  # somebody else wrote, or made, the object first
TOO_MANY_REQUESTS = 429  # also said by a resource whose CRD was just installed or changed
SERVER_ERROR = 500
FIELD_MANAGER = "kserve-stand-in"
_PLURALS = {
    "ClusterServingRuntime": "clusterservingruntimes",
    "ClusterStorageContainer": "clusterstoragecontainers",
    "ConfigMap": "configmaps",
    "CustomResourceDefinition": "customresourcedefinitions",
    "Deployment": "deployments",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "InferenceService": "inferenceservices",
    "Namespace": "namespaces",
    "Pod": "pods",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "ServingRuntime": "servingruntimes",
}


class ApiError(Exception):
    """The API server refused a request; `message` is its own sentence."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"HTTP {code}: {message}")
        self.code = code
        self.message = message


def path_of(manifest: Manifest, *, collection: bool = False, subresource: str = "") -> str:
    """Return the path of an object, of the collection that it belongs to, or of one of its subresources."""
    version, meta = manifest["apiVersion"], manifest["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = f"/namespaces/{meta['namespace']}" if meta.get("namespace") else ""
    path = f"{root}{namespace}/{_PLURALS[manifest['kind']]}"
    if collection:
        return path
    return f"{path}/{meta['name']}{f'/{subresource}' if subresource else ''}"


class Api:
    """One connection pool to one API server."""

    def __init__(self, connection: dynamic.DynamicClient) -> None:
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def connect(cls, kubeconfig: Path) -> AsyncIterator[Api]:
        """Open the connection that a kubeconfig describes and close it in the end."""
        settings = client.Configuration()
        await config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)
        async with client.ApiClient(settings) as connection:
            connection.user_agent = FIELD_MANAGER
            yield cls(dynamic.DynamicClient(connection))

    async def get(self, path: str) -> Manifest:
        """Return one object."""
        return await self._send("get", path)

    async def find(self, path: str) -> Manifest | None:
        """Return one object, or None where there is none."""
        try:
            return await self.get(path)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return None

    async def list(self, version: str, plural: str, label: str) -> list[Manifest]:
        """Return all objects of a resource that have a label, none when the resource is not there at all."""
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            found = await self._send("get", f"{root}/{plural}", label_selector=label or None)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return []
        return list(found["items"])

    async def create(self, manifest: Manifest) -> Manifest:
        """Create an object and return it as stored."""
        return await self._send("post", path_of(manifest, collection=True), manifest)

    async def replace(self, manifest: Manifest, *, subresource: str = "", dry_run: bool = False) -> Manifest:
        """Replace an object, or only pretend to, and return it as it is, or would be, stored."""
        path = path_of(manifest, subresource=subresource)
        return await self._send("put", path, manifest, dry_run="All" if dry_run else None)

    async def patch(self, manifest: Manifest, patch: Manifest) -> Manifest:
        """Merge a patch into an object."""
        return await self._send("patch", path_of(manifest), patch, content_type=MERGE_PATCH)

    async def apply(self, manifest: Manifest) -> Manifest:
        """Apply an object on the server's side, as its owner."""
        options = {"content_type": APPLY_PATCH, "field_manager": FIELD_MANAGER, "force_conflicts": True}
        return await self._send("patch", path_of(manifest), manifest, **options)

    async def delete(self, manifest: Manifest, *, grace_seconds: int | None = None) -> None:
        """Delete an object; one that is gone already is fine."""
        options: Manifest = {"propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            await self._send("delete", path_of(manifest), options)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise

    async def _send(self, method: str, path: str, body: Manifest | None = None, **options: Any) -> Manifest:
        try:
            answer = await self._connection.request(
                method, path, body, serializer=lambda _, data: data, _request_timeout=30, **options
            )
        except ApiException as error:
            raise ApiError(int(error.status or 0), _message(error)) from error
        return dict(answer)


def _message(error: ApiException) -> str:
    try:
        return str(json.loads(error.body or "")["message"])
    except (KeyError, TypeError, ValueError):
        return str(error.reason)
