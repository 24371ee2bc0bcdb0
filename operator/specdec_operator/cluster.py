"""The only place that talks to the API server: server-side apply, deletion, and reading what no watch tells.

The operator comes as its service account, the command `specdec` as the user of a kubeconfig.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, Self

import yaml
from kubernetes.aio import client, config
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.config.kube_config import ENV_KUBECONFIG_PATH_SEPARATOR, KubeConfigLoader
from kubernetes.aio.dynamic import DynamicClient

from specdec_operator import __version__, metrics, names
from specdec_operator.connection import connection
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.request import asked, said, words

Manifest = dict[str, Any]

_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_TIMEOUT: Final = 30.0
_USERS_TIMEOUT: Final = 10.0
_NOT_FOUND: Final = "NotFound"
_NO_KSERVE: Final = (
    "this cluster does not know InferenceServices: install KServe, its CRDs and its controller; "
    "this service goes on by itself once they are there"
)
_PLURALS: Final[Mapping[str, str]] = {
    "InferenceService": "inferenceservices",
    "Job": "jobs",
    "Pod": "pods",
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

    async def apply_status(self, namespace: str, name: str, status: Manifest) -> int:
        """Makes the status of a sis be this. Returns the version of the sis that has it; 0: the sis is gone."""


class ApiServer:
    """A cluster behind a real API server. server: its address."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._dynamic = DynamicClient(api)
        self.server = str(api.configuration.host)

    @classmethod
    async def connect(cls) -> Self:
        """Connects as the pod's service account, or else as KUBECONFIG says."""
        return cls(await connection())

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

    async def apply_status(self, namespace: str, name: str, status: Manifest) -> int:
        """See Cluster. A sis that is gone takes no status; that is no error."""
        path = f"/apis/{names.API_VERSION}/namespaces/{namespace}/{names.PLURAL}/{name}/status"
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": name, "namespace": namespace},
            "status": status,
        }
        try:
            return version_of(await self._patch(path, body, names.STATUS_MANAGER))
        except Unavailable as error:
            if error.reason != _NOT_FOUND:
                raise
            return 0

    async def _patch(self, path: str, body: Manifest, manager: str) -> Manifest:
        try:
            return await self._ask(
                "patch", path, body=body, content_type=_APPLY, field_manager=manager, force_conflicts=True
            )
        except ApiException as error:
            raise _translated(error, path, body) from error

    async def _ask(self, method: str, path: str, **more: Any) -> Manifest:
        with metrics.requested(method):
            return await asked(self._dynamic, method, path, _request_timeout=_TIMEOUT, **more)


def version_of(body: Mapping[str, Any]) -> int:
    """The version of an object, which grows with each change; 0 where the API server counts in another way."""
    version = str(body["metadata"].get("resourceVersion", ""))
    return int(version) if version.isdecimal() else 0


class Refused(Unavailable):
    """The API server answered a user with an error; the message is its own. status: HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__("Refused", message)
        self.status = status


class AsUser:
    """A cluster as the user of a kubeconfig sees it. server: its address; namespace: that of the context."""

    def __init__(self, api: client.ApiClient, loader: KubeConfigLoader) -> None:
        self._api = api
        self._dynamic = DynamicClient(api)
        self._renewing = asyncio.create_task(config.refresh_token(loader, api.configuration))
        self.server = str(api.configuration.host)
        self.namespace = str(loader.current_context["context"].get("namespace") or "default")

    @classmethod
    async def connect(cls, kubeconfig: str | None, context: str | None) -> Self:
        """Connects as a kubeconfig says. None: as KUBECONFIG or ~/.kube/config says, in its current context.

        Raises Unavailable where that says nothing.
        """
        places = kubeconfig or config.KUBE_CONFIG_DEFAULT_LOCATION
        if not any(Path(each).expanduser().is_file() for each in places.split(ENV_KUBECONFIG_PATH_SEPARATOR) if each):
            raise Unavailable(
                "NoKubeconfig", f"there is no kubeconfig at {places}: set KUBECONFIG, or use --kubeconfig"
            )
        settings = client.Configuration()
        try:
            loader = await config.load_kube_config(places, context, settings, persist_config=False)
            api = client.ApiClient(settings)
        except (config.ConfigException, yaml.YAMLError, OSError, ValueError) as error:
            raise Unavailable("NoKubeconfig", f"the kubeconfig {places} cannot be used: {said(error)}") from error
        except (TypeError, LookupError, AttributeError) as error:  # the loader takes any YAML for a kubeconfig
            raise Unavailable("NoKubeconfig", f"the kubeconfig {places} cannot be used: it is none") from error
        api.user_agent = f"specdec/{__version__}"
        return cls(api, loader)

    async def close(self) -> None:
        """Closes the connections."""
        self._renewing.cancel()
        await asyncio.gather(self._renewing, return_exceptions=True)
        await self._api.close()

    async def get(self, path: str, *, table: bool = False) -> Manifest:
        """What lies at a path; table: a list as `kubectl get` shows it. Raises Refused, or Unavailable."""
        return await self._ask("get", path, header_params={"Accept": _TABLE} if table else {})

    async def merge(self, path: str, body: Manifest) -> Manifest:
        """A merge patch; returns the object as it is now. Raises as get does."""
        return await self._ask("patch", path, body=body, content_type=_MERGE, field_manager="specdec")

    async def _ask(self, method: str, path: str, **more: Any) -> Manifest:
        try:
            return await asked(self._dynamic, method, path, _request_timeout=_USERS_TIMEOUT, **more)
        except ApiException as error:
            raise Refused(error.status or 0, words(error)) from error


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
        return Unavailable("KServeMissing", _NO_KSERVE)
    if error.status == 404:
        return Unavailable(_NOT_FOUND, f"{path} is gone")
    if error.status == 403:
        return Unavailable("Forbidden", f"{words(error)}: grant it (manifests/operator/rbac.yaml, or the Helm chart's)")
    return Unavailable("ApiServerRefused", f"HTTP {error.status} for {path}: {said}", after=_patience(error))


def _patience(error: ApiException) -> float:
    """Seconds that the answer's Retry-After asks for; 0 without one."""
    said = str((error.headers or {}).get("Retry-After", ""))
    return float(said) if said.isdecimal() else 0.0
