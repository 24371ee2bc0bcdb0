"""An API server with one KServe and the controllers of Kubernetes; no node. What KServe made of a namespace."""

import asyncio
import pathlib
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from hack.kserve.versions import KServeChoice
from tests.wire.api import DEPLOYMENT, EVENT, ISVC, POD, Api, Object, Refused, connected
from tests.wire.controllers import IMAGE_VOLUMES, install_runtimes, kserve, kubernetes_controllers
from tests.wire.server import SAVING, api_server

from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.staging.kserve import KServe

GROUP: Final = "/apis/serving.kserve.io/v1alpha1"
_CONTAINER: Final = f"{GROUP}/clusterstoragecontainers/default"
_PATIENCE: Final = 120.0
_AT_ONCE: Final = 8
_CONFLICT: Final = "the object has been modified"


@asynccontextmanager
async def bare(folder: pathlib.Path) -> AsyncIterator[tuple[Api, pathlib.Path]]:
    """An API server and the controllers of Kubernetes, without KServe: a client, and the kubeconfig."""
    with api_server(folder, IMAGE_VOLUMES, variables=SAVING) as kubeconfig, kubernetes_controllers(kubeconfig):
        async with connected(kubeconfig) as api:
            yield api, kubeconfig


@asynccontextmanager
async def cluster(version: str, folder: pathlib.Path) -> AsyncIterator[Api]:
    """The same with a KServe, and with the operator's runtime for CPUs."""
    async with bare(folder) as (api, kubeconfig):
        with kserve(kubeconfig, KServeChoice(version=version)):
            install_runtimes(kubeconfig)
            yield api


async def allow_lists(api: Api) -> None:
    """The patch by which users of KServe 0.17 have its download container take several URIs."""
    body = {"spec": {"supportsMultiModelDownload": True}}
    await api.call("patch", _CONTAINER, body, content_type="application/merge-patch+json")


async def detected(api: Api) -> KServe:
    """The cluster's KServe, as the operator reads it."""
    return await ClusterInfo(_Reader(api), clock=time.monotonic, namespace="kserve").kserve()  # type: ignore[arg-type]


class _Reader:
    """The part of a cluster that ClusterInfo asks."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def read(self, path: str) -> Object | None:
        """What is at a path."""
        try:
            return await self._api.call("get", path)
        except Refused:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The result for one InferenceService. words: the error if it was refused; by: the component that refused it."""

    isvc: Object | None = None
    deployment: Object | None = None
    pod: Object | None = None
    by: str = ""
    words: str = ""

    @property
    def settled(self) -> bool:
        """Whether the result is final: a pod exists, or a component refused it."""
        return bool(self.pod or self.words)


@dataclass(slots=True)
class Namespace:
    """A namespace in which InferenceServices are made at once. refused: by name, what admission answered."""

    api: Api
    name: str
    refused: dict[str, str] = field(default_factory=dict)

    async def create(self, manifests: list[Object]) -> None:
        """Makes the namespace and everything in it."""
        await self.api.create_namespace(self.name)
        some = asyncio.Semaphore(_AT_ONCE)

        async def one(manifest: Object) -> None:
            async with some:
                try:
                    await self.api.apply(ISVC, self.name, manifest)
                except Refused as error:
                    self.refused[manifest["metadata"]["name"]] = str(error)

        await asyncio.gather(*(one(each) for each in manifests))

    async def made(self, names: list[str]) -> dict[str, Made]:
        """Waits until every one of these is settled; those that are not after two minutes are returned as they are."""
        until = time.monotonic() + _PATIENCE
        while True:
            found = await self.now(names)
            if all(each.settled for each in found.values()) or time.monotonic() > until:
                return found
            await asyncio.sleep(0.3)

    async def now(self, names: list[str]) -> dict[str, Made]:
        """What there is of these. The pods are read first, then their Deployments, then their services: a controller
        makes them in the other order, so that what made an object that is found is found too.
        """
        label = "serving.kserve.io/inferenceservice"
        pods = {each["metadata"]["labels"].get(label): each for each in await self.api.items(POD, self.name)}
        events, deployments, isvcs = [
            {each["metadata"]["name"]: each for each in await self.api.items(kind, self.name)}
            for kind in (EVENT, DEPLOYMENT, ISVC)
        ]
        return {
            name: self._one(name, isvcs.get(name), deployments.get(f"{name}-predictor"), pods.get(name), events)
            for name in names
        }

    def _one(
        self, name: str, isvc: Object | None, deployment: Object | None, pod: Object | None, events: dict[str, Object]
    ) -> Made:
        if name in self.refused:
            return Made(by=speaker(self.refused[name]), words=sentence(self.refused[name]))
        if pod is not None:
            return Made(isvc=isvc, deployment=deployment, pod=pod)
        if deployment is not None:
            failure = _condition(deployment, "ReplicaFailure")
            words = failure.get("message", "")
            by = speaker(words) if words else ""
            return Made(isvc=isvc, deployment=deployment, by=by, words=sentence(words))
        words = _condition(isvc or {}, "PredictorReady").get("message") or _event(name, events)
        return Made(isvc=isvc, by="KServe's controller" if words else "", words=sentence(words))


def speaker(words: str) -> str:
    """Who refused an object, by the words of the API server."""
    if "pod-mutator" in words or "mutate-pods" in words:
        return "KServe's pod webhook"
    return "KServe's webhook" if "admission webhook" in words else "the API server"


def sentence(words: str) -> str:
    """The essence of a message on one line: without the prefix of a webhook, names of this run, and repetitions."""
    text = " ".join(words.split())
    text = re.sub(r'^.*admission webhook "[^"]*" denied the request: ', "", text)
    text = re.sub(r"\br[0-9]{2}-[a-z0-9]+-[ls]\b", "NAME", text)
    text = re.sub(r"NAME-predictor-[a-z0-9]+-?", "NAME-predictor", text)
    text = re.sub(r"v1\.Volume(Mount)?\{.*?\}+:? ?", "", text)
    return text if len(text) <= 400 else f"{text[:397]}..."


def _condition(item: Object, kind: str) -> dict[str, Any]:
    conditions = item.get("status", {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind and each["status"] != "Unknown"), {})


def _event(name: str, events: dict[str, Object]) -> str:
    """The controller's complaint; it repeats what failed after its own prefix. It tries again after a lost race."""
    told = [
        each["message"]
        for each in events.values()
        if each["involvedObject"]["name"] == name and each["type"] == "Warning" and _CONFLICT not in each["message"]
    ]
    return str(told[-1]) if told else ""
