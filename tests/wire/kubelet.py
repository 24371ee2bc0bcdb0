"""Plays the kubelet in a namespace: the test sets the status of each pod, and a server answers at its address.

The pods are made, replaced and removed by the real controllers, for a Deployment that the real KServe made. KWOK is not
used for their lives: each test decides for each pod when it is ready, which engine answers at its address in
127.0.0.0/8, and how it crashes. KWOK's stages are templates over the pod alone, and all pods of one ReplicaSet look the
same. A test would have to configure a stage for each pod: the same writes, with one more program.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tests.wire.api import DEPLOYMENT, ISVC, POD, Api, Object
from tests.wire.pods import EngineStandIn, PodServer
from tests.wire.waiting import until

REPLICA_SET: Final = "apps/v1", "replicasets"
_HASH: Final = "pod-template-hash"
Fits = Callable[[Object], bool]
"""Whether a Deployment is the one that is waited for."""


class Kubelet:
    """The pods of a namespace that have an engine."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self.servers: dict[str, PodServer] = {}

    async def stop(self) -> None:
        """Stops all engines."""
        for server in self.servers.values():
            await server.stop()

    async def current(self, name: str, fits: Fits = bool) -> tuple[Object, Object]:
        """Waits for a Deployment that fits and whose controller has seen it; returns it with its newest ReplicaSet."""

        async def there() -> tuple[Object, Object] | None:
            deployment = await self._api.get(DEPLOYMENT, self._namespace, name)
            if deployment is None or not fits(deployment) or not _observed(deployment):
                return None
            newest = await self._newest_of(deployment)
            return (deployment, newest) if newest is not None else None

        found: tuple[Object, Object] = await until(f"Deployment {name} as it is asked for", there, state=self._said)
        return found

    async def bring(self, name: str, engines: Sequence[EngineStandIn], *, ready: bool, fits: Fits = bool) -> list[str]:
        """Binds one engine to each pod of a Deployment's newest ReplicaSet; returns the pods, in the engines' order.

        Pods of that ReplicaSet with other engines are removed first, so that it makes new ones. With `ready` every pod
        becomes ready, and the rollout is waited for; without, pods beyond the surge of a rollout may not come.
        """
        await self.forget()
        deployment, newest = await self.current(name, fits)
        _same_number(deployment, engines)
        for pod in await self.pods_of(newest):
            server = self.servers.get(pod["metadata"]["name"])
            if server is not None and not any(server.engine is each for each in engines):
                await self.remove(pod["metadata"]["name"])
        bound = await self._bound(name, fits, engines, ready=ready)
        if ready:
            await self.current(name, lambda found: fits(found) and _rolled_out(found))
        await self.forget()
        return [bound[id(each)] for each in engines if id(each) in bound]

    async def pods_of(self, replica_set: Object) -> list[Object]:
        """The pods that a ReplicaSet made, oldest first."""
        uid = replica_set["metadata"]["uid"]
        found = [each for each in await self._api.items(POD, self._namespace) if _owner(each) == uid]
        return sorted(found, key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"]))

    async def run(self, pod: Object, engine: EngineStandIn, *, ready: bool) -> None:
        """The containers of a pod run; ready: its engine answers."""
        name = pod["metadata"]["name"]
        if name not in self.servers:
            server = self.servers[name] = PodServer(engine)
            await server.start()
        await self.say(name, running(pod, self.servers[name].address, ready=ready))

    async def say(self, pod: str, status: Object) -> None:
        """Writes some of a pod's status."""
        await self._api.merge(POD, self._namespace, pod, {"status": status}, "status")

    async def remove(self, name: str) -> None:
        """Deletes a pod, and stops its engine. One that no node has goes at once."""
        await self._api.delete(POD, self._namespace, name)
        if server := self.servers.pop(name, None):
            await server.stop()

    async def forget(self) -> None:
        """Stops the engines of the pods that are gone."""
        there = {each["metadata"]["name"] for each in await self._api.items(POD, self._namespace)}
        for name in self.servers.keys() - there:
            await self.servers.pop(name).stop()

    async def _bound(self, name: str, fits: Fits, engines: Sequence[EngineStandIn], *, ready: bool) -> dict[int, str]:
        """The pod of each engine. A rollout may make some of the pods only once those before them are ready."""
        bound: dict[int, str] = {}

        async def enough() -> bool:
            deployment = await self._api.get(DEPLOYMENT, self._namespace, name)
            if deployment is None or not fits(deployment) or not _observed(deployment):
                return False
            newest = await self._newest_of(deployment)
            if newest is None:
                return False
            pods = await self.pods_of(newest)
            for pod in pods:
                await self._bind(pod, engines, bound, ready=ready)
            wanted = len(engines) if ready else newest["spec"]["replicas"]
            return len(bound) >= wanted and len(pods) >= wanted

        await until(f"{len(engines)} pods of Deployment {name}", enough, state=self._said)
        return bound

    async def _bind(self, pod: Object, engines: Sequence[EngineStandIn], bound: dict[int, str], *, ready: bool) -> None:
        name = pod["metadata"]["name"]
        if name in bound.values():
            return
        server = self.servers.get(name)
        free = [each for each in engines if id(each) not in bound and (server is None or server.engine is each)]
        if not free:
            return
        bound[id(free[0])] = name
        if not (server is not None and ready and _is_ready(pod)):
            await self.run(pod, free[0], ready=ready)

    async def _said(self) -> list[object]:
        """For the message of a failure: the status of the objects of KServe and of the controllers."""
        found = [
            each for kind in (ISVC, DEPLOYMENT, REPLICA_SET) for each in await self._api.items(kind, self._namespace)
        ]
        return [(each["metadata"]["name"], each.get("status")) for each in found]

    async def _newest_of(self, deployment: Object) -> Object | None:
        """The ReplicaSet of a Deployment's present template."""
        uid, template = deployment["metadata"]["uid"], deployment["spec"]["template"]
        sets = [each for each in await self._api.items(REPLICA_SET, self._namespace) if _owner(each) == uid]
        return next((each for each in sets if _same(each["spec"]["template"], template)), None)


def running(pod: Object, address: str, *, ready: bool) -> Object:
    """The status that a kubelet writes of a pod whose containers run."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    done = {"terminated": {"exitCode": 0, "startedAt": now, "finishedAt": now}}
    state = {"running": {"startedAt": now}}
    spec, said = pod["spec"], "True" if ready else "False"
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "initContainerStatuses": [_container(each, done, ready=True) for each in spec.get("initContainers", ())],
        "containerStatuses": [_container(each, state, ready=ready) for each in spec["containers"]],
        "conditions": [
            {"type": kind, "status": value, "lastTransitionTime": now}
            for kind, value in (("Initialized", "True"), ("ContainersReady", said), ("Ready", said))
        ],
    }


def _container(container: Object, state: Object, *, ready: bool) -> Object:
    image = {"image": container["image"], "imageID": ""}
    return {"name": container["name"], "ready": ready, "started": ready, "restartCount": 0, "state": state} | image


def _same(made: Object, asked: Object) -> bool:
    """Whether a ReplicaSet's template is a Deployment's."""
    labels = {name: value for name, value in made["metadata"]["labels"].items() if name != _HASH}
    return bool(labels == asked["metadata"]["labels"] and made["spec"] == asked["spec"])


def _observed(deployment: Object) -> bool:
    """Whether its controller has seen it as it is."""
    seen: int = deployment.get("status", {}).get("observedGeneration", 0)
    return bool(seen >= deployment["metadata"]["generation"])


def _rolled_out(deployment: Object) -> bool:
    """Whether all of its pods are new, and ready."""
    status, wanted = deployment["status"], deployment["spec"]["replicas"]
    return all(status.get(each, 0) == wanted for each in ("replicas", "updatedReplicas", "availableReplicas"))


def _is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def _same_number(deployment: Object, engines: Sequence[Any]) -> None:
    """Fails where a test brings more or fewer engines than there are pods."""
    name, wanted = deployment["metadata"]["name"], deployment["spec"]["replicas"]
    assert wanted == len(engines), (
        f"Deployment {name} asks for {wanted} pods, and the test brings {len(engines)} engines: give the sis as many "
        "replicas"
    )


def _owner(body: Object) -> str:
    """The uid of what controls an object."""
    owners = body["metadata"].get("ownerReferences", ())
    return next((str(each["uid"]) for each in owners if each.get("controller")), "")
