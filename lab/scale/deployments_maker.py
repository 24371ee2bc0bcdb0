"""A maker of Deployments, not KServe: a Deployment and a ready pod for each of many services.

It makes what the operator reads, as fast as the API server takes it. KServe's own cost would hide the operator's.
"""

import argparse
import asyncio
import pathlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kubernetes.aio import client, config
from tests.wire.api import DEPLOYMENT, POD, Api, Object, Refused
from tests.wire.world import replica_set_of

from lab.scale.engines_standin import address_of
from lab.scale.watching import inference_services

REVISION = "serving.specdec.io/revision"
_AT_ONCE = 16
MANAGER = "deployments-maker"


def index_of(name: str) -> int:
    """The number at the end of a service's name."""
    return int(name.rpartition("-")[2])


def deployment_of(child: Mapping[str, Any]) -> Object:
    """A Deployment for an InferenceService, with what the operator reads."""
    meta, predictor = child["metadata"], child["spec"]["predictor"]
    engine = {"name": "kserve-container", "image": "i", "volumeMounts": predictor["model"].get("volumeMounts", [])}
    selector = {"app": meta["name"]}
    pod = {
        "metadata": {"labels": predictor["labels"] | selector},
        "spec": {"containers": [engine], "volumes": predictor.get("volumes", [])},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"{meta['name']}-predictor", "labels": meta["labels"]},
        "spec": {"replicas": 1, "selector": {"matchLabels": selector}, "template": pod},
    }


def pod_of(child: Mapping[str, Any]) -> Object:
    """Its one pod."""
    meta, predictor = child["metadata"], child["spec"]["predictor"]
    name = f"{meta['name']}-{predictor['labels'][REVISION]}"
    container = {"name": "kserve-container", "image": "i"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": predictor["labels"],
            "ownerReferences": [replica_set_of(meta["name"], predictor["labels"][REVISION])],
        },
        "spec": {"containers": [container]},
    }


class Keeper:
    """Answers each InferenceService that is new, or has another template."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._made: dict[str, str] = {}
        self._pods: dict[str, str] = {}

    async def answer(self, child: Mapping[str, Any]) -> None:
        """Makes Deployment and pod be those of the InferenceService."""
        name = child["metadata"]["name"]
        revision = child["spec"]["predictor"]["labels"][REVISION]
        if self._made.get(name) == revision:
            return
        self._made[name] = revision
        async with self._places:
            await self._deploy(child)
            await self._run(name, child)

    async def _deploy(self, child: Mapping[str, Any]) -> None:
        body, namespace = deployment_of(child), child["metadata"]["namespace"]
        live = await self._api.apply(DEPLOYMENT, namespace, body, MANAGER)
        numbers = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
        status = {"observedGeneration": live["metadata"]["generation"], **numbers}
        await self._api.merge(DEPLOYMENT, namespace, body["metadata"]["name"], {"status": status}, "status")

    async def _run(self, name: str, child: Mapping[str, Any]) -> None:
        body, namespace = pod_of(child), child["metadata"]["namespace"]
        pod, old = body["metadata"]["name"], self._pods.get(name)
        with suppress(Refused):  # it is there from an earlier run
            await self._api.create(POD, namespace, body)
        address = address_of(index_of(name))
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        status |= {"conditions": [{"type": "Ready", "status": "True"}]}
        await self._api.merge(POD, namespace, pod, {"status": status}, "status")
        self._pods[name] = pod
        if old and old != pod:
            await self._api.delete(POD, namespace, old)


async def keep(kubeconfig: pathlib.Path, namespace: str) -> None:
    """Watches until it is stopped."""
    settings = client.Configuration()
    await config.load_kube_config(str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as connection, asyncio.TaskGroup() as tasks:
        keeper = Keeper(Api(connection))
        async for child in inference_services(connection, namespace):
            tasks.create_task(keeper.answer(child))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=pathlib.Path, required=True)
    parser.add_argument("--namespace", default="", help="all where it is not given")
    found = parser.parse_args()
    print("a maker of Deployments, not KServe", flush=True)
    asyncio.run(keep(found.kubeconfig, found.namespace))


if __name__ == "__main__":
    main()
