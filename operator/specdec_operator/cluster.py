"""The only place that talks to the API server: server-side apply of objects and of status. Nothing is read here."""

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


class Cluster(Protocol):
    """What the loop needs of a cluster."""

    async def apply(self, manifest: Manifest) -> Manifest:
        """Makes the InferenceService be as the manifest says; returns it as it is now."""

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
        meta = manifest["metadata"]
        base = f"/apis/{manifest['apiVersion']}/namespaces/{meta['namespace']}/inferenceservices/{meta['name']}"
        return await self._patch(base, manifest, names.CHILD_MANAGER)

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
            live: Manifest = await self._dynamic.request(
                "patch",
                path,
                body=body,
                content_type=_APPLY,
                field_manager=manager,
                force_conflicts=True,
                serializer=lambda _, data: data,
                _request_timeout=_TIMEOUT,
            )
        except ApiException as error:
            raise _translated(error, path, body) from error
        except (TimeoutError, OSError, client.exceptions.ApiTypeError) as error:
            raise Unavailable("ApiServerUnavailable", f"the API server did not answer: {error!r}") from error
        return live


def _translated(error: ApiException, path: str, body: Manifest) -> Exception:
    said = str(error.body or error.reason)[:1000]
    if error.status in (400, 422):
        return Invalid(
            f"InferenceService {body['metadata']['name']}", error.status, f"the API server refused it: {said}"
        )
    if error.status == 404 and "inferenceservices" in path:
        return Unavailable("KServeMissing", "the API server does not know InferenceServices: install KServe")
    if error.status == 404:
        return Unavailable(_NOT_FOUND, f"{path} is gone")
    return Unavailable("ApiServerRefused", f"HTTP {error.status} for {path}: {said}")
