"""The only place that talks to the API server: server-side apply, deletion, and reading what no watch tells."""

from collections.abc import Mapping
from typing import Any, Final, Protocol, Self

from kubernetes.aio import client, config
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient

from specdec_operator import __version__, names
from specdec_operator.errors import Invalid, Unavailable

Manifest = dict[str, Any]

_APPLY: Final = "application/apply-patch+yaml"
_TIMEOUT: Final = 30.0
_NOT_FOUND: Final = "NotFound"
_PLURALS: Final[Mapping[str, str]] = {
    "InferenceService": "inferenceservices",
    "Job": "jobs",
    "PersistentVolumeClaim": "persistentvolumeclaims",
}
_LOG_BYTES: Final = 2000


class Cluster(Protocol):
    """What the loop needs of a cluster."""

    async def apply(self, manifest: Manifest) -> Manifest:
        """Makes an object be as the manifest says; returns it as it is now."""

    async def remove(self, manifest: Manifest) -> None:
        """Deletes an object with what it owns; one that is gone is no error."""

    async def read(self, path: str, **selectors: str) -> Manifest | None:
        """What lies at a path of the API. None: it is not there, or this operator may not read it.

        selectors: field_selector and label_selector, for a list.
        """

    async def log_end(self, namespace: str, pod: str) -> str:
        """The last lines of a pod's log; empty where there is none."""

    async def apply_status(self, namespace: str, name: str, status: Manifest) -> None:
        """Makes the status of a sis be this."""


class ApiServer:
    """A cluster behind a real API server."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._dynamic = DynamicClient(api)

    @classmethod
    async def connect(cls) -> Self:
        """Connects as the pod's service account, or else as KUBECONFIG says."""
        try:
            config.load_incluster_config()
        except config.ConfigException:
            await config.load_kube_config()
        api = client.ApiClient()
        api.user_agent = f"specdec-operator/{__version__}"
        return cls(api)

    async def close(self) -> None:
        """Closes the connections."""
        await self._api.close()

    async def apply(self, manifest: Manifest) -> Manifest:
        """See Cluster. Raises Invalid when the API server refuses the object, Unavailable when it cannot be asked."""
        return await self._patch(_path(manifest), manifest, names.CHILD_MANAGER)

    async def remove(self, manifest: Manifest) -> None:
        """See Cluster."""
        try:
            await self._ask("delete", _path(manifest), body={"propagationPolicy": "Background"})
        except ApiException as error:
            if error.status != 404:
                raise _translated(error, _path(manifest), manifest) from error

    async def read(self, path: str, **selectors: str) -> Manifest | None:
        """See Cluster."""
        try:
            return await self._ask("get", path, **selectors)
        except ApiException as error:
            if error.status in (403, 404):
                return None
            raise _translated(error, path, {}) from error

    async def log_end(self, namespace: str, pod: str) -> str:
        """See Cluster."""
        core = client.CoreV1Api(self._api)
        try:
            said = await core.read_namespaced_pod_log(
                pod, namespace, tail_lines=3, limit_bytes=_LOG_BYTES, _request_timeout=_TIMEOUT
            )
        except (ApiException, TimeoutError, OSError):  # a container that has not started has no log
            return ""
        return str(said or "")

    async def apply_status(self, namespace: str, name: str, status: Manifest) -> None:
        """See Cluster. A sis that is gone takes no status; that is no error."""
        path = f"/apis/{names.API_VERSION}/namespaces/{namespace}/{names.PLURAL}/{name}/status"
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": name, "namespace": namespace},
            "status": status,
        }
        try:
            await self._patch(path, body, names.STATUS_MANAGER)
        except Unavailable as error:
            if error.reason != _NOT_FOUND:
                raise

    async def _patch(self, path: str, body: Manifest, manager: str) -> Manifest:
        try:
            return await self._ask(
                "patch", path, body=body, content_type=_APPLY, field_manager=manager, force_conflicts=True
            )
        except ApiException as error:
            raise _translated(error, path, body) from error

    async def _ask(self, method: str, path: str, **more: Any) -> Manifest:
        try:
            answer: Manifest = await self._dynamic.request(
                method, path, serializer=lambda _, data: data, _request_timeout=_TIMEOUT, **more
            )
        except (TimeoutError, OSError, client.exceptions.ApiTypeError) as error:
            raise Unavailable("ApiServerUnavailable", f"the API server did not answer: {error!r}") from error
        return answer


def _path(manifest: Manifest) -> str:
    version, meta = manifest["apiVersion"], manifest["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{base}/namespaces/{meta['namespace']}/{_PLURALS[manifest['kind']]}/{meta['name']}"


def _translated(error: ApiException, path: str, body: Manifest) -> Exception:
    said = str(error.body or error.reason)[:1000]
    if error.status in (400, 422):
        what = f"{body.get('kind', path)} {body.get('metadata', {}).get('name', '')}".rstrip()
        return Invalid(what, error.status, f"the API server refused it: {said}")
    if error.status == 404 and "inferenceservices" in path:
        return Unavailable("KServeMissing", "the API server does not know InferenceServices: install KServe")
    if error.status == 404:
        return Unavailable(_NOT_FOUND, f"{path} is gone")
    return Unavailable("ApiServerRefused", f"HTTP {error.status} for {path}: {said}")
