"""The one client of the Kubernetes API: plain objects in and out, and every path written out.

The operator comes as its service account, the command `specdec` as the user of a kubeconfig.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Self

import aiohttp
from kubernetes.aio import config

from specdec_operator import __version__, metrics, names
from specdec_operator.errors import TooLarge, Unavailable
from specdec_operator.kube import request
from specdec_operator.kube.request import ApiError, ApiRequests, Manifest, translated, unless_gone

_PLURALS: Final[Mapping[str, str]] = {
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "InferenceService": "inferenceservices",
    "Job": "jobs",
    "Pod": "pods",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Secret": "secrets",
}


def path_of(manifest: Mapping[str, Any]) -> str:
    """The path of an object of a namespace, of one of the kinds that the operator makes or is referred to."""
    version, meta = manifest["apiVersion"], manifest["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{base}/namespaces/{meta['namespace']}/{_PLURALS[manifest['kind']]}/{meta['name']}"


def eviction(namespace: str, pod: str) -> tuple[str, dict[str, Any]]:
    """The path and the body of the request to evict a pod, which respects every PodDisruptionBudget."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    metadata = {"name": pod, "namespace": namespace}
    return path, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}


__all__ = ["ApiError", "ApiServer", "KubeClient", "Manifest", "version_of"]

_APPLY: Final = "application/apply-patch+yaml"
_JSON_PATCH: Final = "application/json-patch+json"
_MERGE: Final = "application/merge-patch+json"
_NAMES: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_MOST_FOUND: Final = 256 * 1024
"""Bytes of an object that is read whole: those of a service are smaller, and of others only the owner matters."""
_PAGE: Final = 250
_NAMES_A_PAGE: Final = 100
"""Objects in a page of metadata: any user may add annotations of 256 KiB to each."""
_MOST_LABELS: Final = 256
"""Labels of an object that are kept; those of nodes are fewer."""
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_TIMEOUT: Final = 30.0
_USERS_TIMEOUT: Final = 10.0
_SILENCE: Final = 300.0
"""Seconds without a byte after which a streamed answer counts as lost."""
_SELECTORS: Final = {"field_selector": "fieldSelector", "label_selector": "labelSelector"}
_LOG_BYTES: Final = 2000


class KubeClient:
    """An API server. Every method raises ApiError. server: its address; namespace: that of the kubeconfig's context."""

    def __init__(self, requests: ApiRequests, *, namespace: str = "default") -> None:
        self._requests = requests
        self._renewing: asyncio.Task[None] | None = None
        self.server = str(requests.settings.host)
        self.namespace = namespace

    @classmethod
    async def as_operator(cls, *, timeout: float, patience: float | None = None) -> Self:
        """As the pod's service account, or else by KUBECONFIG; see Requests. Raises Unavailable without either."""
        agent = f"specdec-operator/{__version__}"
        return cls(ApiRequests(await request.own_settings(), agent=agent, timeout=timeout, patience=patience))

    @classmethod
    async def as_user(
        cls, kubeconfig: str | None, context: str | None = None, *, timeout: float = _USERS_TIMEOUT
    ) -> Self:
        """As the user of a kubeconfig. None: KUBECONFIG or ~/.kube/config. Raises Unavailable if it has no cluster."""
        requests, loader = await request.user_requests(kubeconfig, context, timeout)
        made = cls(requests, namespace=str(loader.current_context["context"].get("namespace") or "default"))
        made._renewing = asyncio.create_task(config.refresh_token(loader, requests.settings))
        return made

    async def close(self) -> None:
        """Closes the connections."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        await self._requests.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(self, path: str, **query: str) -> Manifest:
        """What lies at a path; query: in the API's own names."""
        return await self._requests.json("GET", path, query=query)

    async def get_bounded(
        self, path: str, most: int | None, query: Mapping[str, str], *, accept: str = "application/json"
    ) -> Manifest:
        """As get; most: see `ApiRequests.json`."""
        return await self._requests.json("GET", path, accept=accept, query=query, most=most)

    async def table(self, path: str) -> Manifest:
        """A list as `kubectl get` shows it."""
        return await self._requests.json("GET", path, accept=_TABLE)

    async def pages(self, path: str, *, accept: str, most: int = _PAGE, **query: str) -> AsyncIterator[Manifest]:
        """A list in pages, so that what is brought at once stays small. most: objects of one."""
        query = {**query, "limit": str(most)}
        while True:
            page = await self._requests.json("GET", path, query=query, accept=accept)
            yield page
            if not (following := page.get("metadata", {}).get("continue")):
                return
            query["continue"] = following

    async def find(self, path: str, **query: str) -> Manifest | None:
        """As get; None where there is nothing."""
        with unless_gone():
            return await self.get(path, **query)
        return None

    async def text(self, path: str, **query: str) -> str:
        """A page that is not JSON: metrics through the proxy, or a log."""
        async with self._requests.answer("GET", path, query=query) as answer:
            return await answer.text(errors="replace")

    async def create(self, path: str, body: Manifest) -> Manifest:
        """Makes an object in the list at a path."""
        return await self._requests.json("POST", path, body=body)

    async def apply(self, path: str, body: Manifest, manager: str, *, force: bool = True) -> Manifest:
        """Server-side apply; returns the object as it is now. force: also over what others have set."""
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        return await self._requests.json("PATCH", path, body=body, content_type=_APPLY, query=query)

    async def merge(self, path: str, body: Manifest, manager: str = "specdec") -> Manifest:
        """A merge patch; returns the object as it is now."""
        query = {"fieldManager": manager}
        return await self._requests.json("PATCH", path, body=body, content_type=_MERGE, query=query)

    async def patch(self, path: str, changes: Sequence[Manifest], manager: str, *, dry_run: bool = False) -> Manifest:
        """A JSON patch; returns the object as it is now. dry_run: as it would be, and nothing is stored."""
        query = {"fieldManager": manager, **({"dryRun": "All"} if dry_run else {})}
        return await self._requests.json("PATCH", path, body=list(changes), content_type=_JSON_PATCH, query=query)

    async def delete(self, path: str, uid: str = "") -> None:
        """Deletes an object with what it owns; an absent one is not an error. uid: of the only one that is meant."""
        only = {"preconditions": {"uid": uid}} if uid else {}
        with unless_gone():
            await self._requests.json("DELETE", path, body={"propagationPolicy": "Background", **only})

    @asynccontextmanager
    async def stream(self, path: str, body: Manifest) -> AsyncIterator[aiohttp.StreamReader]:
        """The answer to a POST as it comes.

        The request is sent in chunks: behind the end of a body with a length the API server's proxy reads again, and
        where the engine has begun to answer by then, it drops the answer (7 of 1,564 on a busy machine; 0 of 1,300 so).
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_USERS_TIMEOUT, sock_read=_SILENCE)
        async with self._requests.answer("POST", path, body=body, chunked=True, timeout=timeout) as answer:
            yield answer.content


class ApiServer:
    """See Cluster. Raises Invalid for what the API server refuses, Unavailable for other trouble.

    may_write: whether this replica may write about a namespace now, asked before each write.
    """

    def __init__(self, client: KubeClient, may_write: Callable[[str], bool] = lambda _: True) -> None:
        self._client = client
        self._may_write = may_write
        self.server = client.server

    @classmethod
    async def connect(cls, may_write: Callable[[str], bool]) -> Self:
        """Connects as the operator."""
        return cls(await KubeClient.as_operator(timeout=_TIMEOUT, patience=0.0), may_write)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def apply(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        self._refuse(manifest["metadata"]["namespace"])
        path = path_of(manifest)
        with _written(path, manifest, "patch"):
            return await self._client.apply(path, manifest, names.CHILD_MANAGER, force=force)

    async def find(self, manifest: Manifest) -> Manifest | None:
        path = path_of(manifest)
        with translated(path, manifest, unless=(404,)), metrics.requested("get"):
            try:
                return await self._client.get_bounded(path, _MOST_FOUND, {})
            except TooLarge:
                return await self._client.get_bounded(path, _MOST_FOUND, {}, accept=_METADATA)
        return None

    async def patch(self, manifest: Manifest, changes: Sequence[Manifest], *, dry_run: bool = False) -> Manifest:
        self._refuse(manifest["metadata"]["namespace"])
        path = path_of(manifest)
        with _written(path, manifest, "patch"):
            return await self._client.patch(path, changes, names.GUARD_MANAGER, dry_run=dry_run)

    async def annotate(self, manifest: Manifest, name: str, text: str | None) -> None:
        meta = manifest["metadata"]
        self._refuse(meta["namespace"])
        path, body = path_of(manifest), {"metadata": {"uid": meta["uid"], "annotations": {name: text}}}
        with translated(path, manifest, unless=(404, 409)), metrics.requested("patch"):
            await self._client.merge(path, body, names.GUARD_MANAGER)

    async def set_managers(self, manifest: Manifest, entries: Sequence[Manifest]) -> Manifest:
        meta = manifest["metadata"]
        self._refuse(meta["namespace"])
        path, body = path_of(manifest), {"resourceVersion": meta["resourceVersion"], "managedFields": list(entries)}
        with _written(path, manifest, "patch"):
            return await self._client.merge(path, {"metadata": body}, names.CHILD_MANAGER)

    async def remove(self, manifest: Manifest) -> None:
        self._refuse(manifest["metadata"]["namespace"])
        path = path_of(manifest)
        with _written(path, manifest, "delete"):
            await self._client.delete(path, manifest["metadata"].get("uid", ""))

    async def evict(self, namespace: str, pod: str) -> None:
        self._refuse(namespace)
        path, body = eviction(namespace, pod)
        with _written(path, body, "post", unless=(404,)):
            await self._client.create(path, body)

    async def read(self, path: str, *, most: int | None = None, **selectors: str) -> Manifest | None:
        query = {_SELECTORS.get(name, name): value for name, value in selectors.items()}
        with translated(path, unless=(403, 404)), metrics.requested("get"):
            return await self._client.get_bounded(path, most, query)
        return None

    async def log_end(self, namespace: str, pod: str) -> str:
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        try:
            return await self._client.text(path, tailLines="3", limitBytes=str(_LOG_BYTES))
        except ApiError:  # a container that has not started has no log
            return ""

    async def apply_status(self, namespace: str, name: str, status: Manifest) -> int:
        path = f"{names.services_path(namespace, name)}/status"
        meta = {"name": name, "namespace": namespace}
        body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": meta, "status": status}
        self._refuse(namespace)
        with _written(path, body, "patch", unless=(404,)):
            return version_of(await self._client.apply(path, body, names.STATUS_MANAGER))
        return 0

    async def list_metadata(self, path: str, label_selector: str) -> list[Manifest] | None:
        found: list[Manifest] = []
        with translated(path, unless=(403,)), metrics.requested("get"):
            with unless_gone():
                async for page in self._client.pages(
                    path, accept=_NAMES, most=_NAMES_A_PAGE, labelSelector=label_selector
                ):
                    found += [_short(each["metadata"]) for each in page.get("items") or ()]
            return found
        return None

    async def post_event(self, namespace: str, event: Manifest) -> None:
        path = f"/api/v1/namespaces/{namespace}/events"
        self._refuse(namespace)
        with _written(path, {"kind": "Event", **event}, "post"):
            await self._client.create(path, event)

    def _refuse(self, namespace: str) -> None:
        if not self._may_write(namespace):
            raise Unavailable("NotLeading", "another replica may be the leader now, so nothing is written")


@contextmanager
def _written(path: str, body: Manifest, verb: str, *, unless: tuple[int, ...] = ()) -> Iterator[None]:
    """One write of the operator: counted, and translated if it is refused."""
    with metrics.writing(body["kind"]), translated(path, body, unless=unless), metrics.requested(verb):
        yield


def _short(meta: Manifest) -> Manifest:
    """Metadata without what any user can make large: owners of fields, values of annotations, hundreds of labels."""
    small = {name: each for name, each in meta.items() if name not in ("managedFields", "annotations", "labels")}
    if len(labels := meta.get("labels") or {}) in range(1, _MOST_LABELS):
        small["labels"] = labels
    if annotations := meta.get("annotations"):
        small["annotations"] = {name: "" for name in annotations if name.startswith(names.ANNOTATION_PREFIX)}
    if any(each.get("manager") == names.GUARD_MANAGER for each in meta.get("managedFields") or ()):
        small["managedFields"] = [{"manager": names.GUARD_MANAGER}]
    return small


def version_of(body: Mapping[str, Any]) -> int:
    """The version of an object, which grows with each change; 0 where the API server counts in another way."""
    version = str(body["metadata"].get("resourceVersion", ""))
    return int(version) if version.isdecimal() else 0
