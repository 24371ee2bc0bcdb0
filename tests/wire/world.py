"""One namespace in which the test plays KServe's controller and the kubelet, by hand and visibly.

It makes the Deployment and the pods of an InferenceService with the labels and the status that the real ones have
(tests/data/kserve), so that each test can say what the cluster looks like. The node tests have the real ones.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, Self

from tests.wire.api import DEPLOYMENT, EVENT, ISVC, POD, SIS, Api, Object, Refused
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn, PodServer
from tests.wire.waiting import until

NAME = "llama"
BUDGET = "policy/v1", "poddisruptionbudgets"
ARM = f"{NAME}-predictor-plain"
REVISION = "serving.specdec.io/revision"


def sis(*, speculation: Object | None = None, guard: Object | None = None, **spec: Any) -> Object:
    """A sis with windows of a second or two."""
    quick = {"interval": "1s", "window": "2s", "warmup": "1s", "failureLimit": 2, "minDraftTokens": 50}
    asked = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
    return {
        "apiVersion": SIS[0],
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": NAME},
        "spec": {
            "model": {"uri": "pvc://models/target"},
            "speculation": asked if speculation is None else speculation,
            "engine": {"accelerator": "cpu"},
            "guard": quick | (guard or {}),
        }
        | spec,
    }


class World:
    """The namespace, and what was put into it."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self._servers: dict[str, PodServer] = {}
        self._made = 0

    @classmethod
    async def fresh(cls, api: Api) -> Self:
        """A world in a new namespace."""
        namespace = f"wire-{uuid.uuid4().hex[:8]}"
        await api.create_namespace(namespace)
        return cls(api, namespace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers.values():
            await server.stop()
        for each in await self.api.items(SIS, self.namespace):  # lets a dead operator's finalizer not keep it
            await self.api.merge(SIS, self.namespace, each["metadata"]["name"], {"metadata": {"finalizers": None}})

    async def until(self, what: str, probe: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
        """Waits until the probe gives something; fails with what the sis says."""
        return await until(what, probe, seconds, state=self.status)

    async def read_again(self, times: int, *engines: EngineStandIn, seconds: float = 120.0) -> None:
        """Waits until the counters of these engines, or of all pods, were read so often more: once in an interval."""
        read = engines or tuple(server.engine for server in self._servers.values())
        enough = {id(each): each.asked + times for each in read}

        async def looked() -> bool:
            return all(each.asked >= enough[id(each)] for each in read)

        await until(f"{times} more readings of each pod", looked, seconds, state=self.status)

    async def turned(self, *operators: OperatorProcess) -> Object:
        """Waits until each operator has looked at the whole sis, in a turn that began after this call.

        For a service whose pods are not being read: else turns come by themselves too. Returns the sis as it was when
        the last of these turns was asked for. A turn that is under way is woken again, hence two.
        """
        touched: Object = {}
        for _ in range(2):
            before = {each: await each.metric("specdec_turn_seconds_count") for each in operators}
            self._made += 1
            note = {"metadata": {"annotations": {"specdec.io/touched-by-a-test": str(self._made)}}}
            touched = await self.api.merge(SIS, self.namespace, NAME, note)

            async def all_have(before: dict[OperatorProcess, float] = before) -> bool:
                return all([await each.metric("specdec_turn_seconds_count") > before[each] for each in operators])

            await self.until("another turn of the loop", all_have)
        return touched

    async def apply(self, body: Object) -> Object:
        """What a user does."""
        return await self.api.apply(SIS, self.namespace, body)

    async def replace(self, body: Object) -> None:
        """What `kubectl replace` does: the whole object, again when somebody wrote to it in between."""

        async def replaced() -> bool:
            now = (await self.sis())["metadata"]["resourceVersion"]
            whole = body | {"metadata": body["metadata"] | {"resourceVersion": now}}
            try:
                await self.api.call("put", self.api.path(SIS, self.namespace, NAME), whole)
            except Refused as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                return False
            return True

        await self.until("kubectl replace", replaced)

    async def sis(self) -> Object:
        """The sis as it is."""
        found = await self.api.get(SIS, self.namespace, NAME)
        assert found is not None, "the sis is gone"
        return found

    async def status(self) -> Object:
        """Its status."""
        return (await self.sis()).get("status", {})

    async def phase(self, *wanted: str, seconds: float = 60.0) -> Object:
        """Waits for a phase; returns the status."""

        async def there() -> Object | None:
            status = await self.status()
            return status if status.get("phase") in wanted else None

        return await self.until(f"phase {' or '.join(wanted)}", there, seconds)

    async def condition(self, kind: str, wanted: str, seconds: float = 60.0) -> Object:
        """Waits for a condition; returns the status."""

        async def there() -> Object | None:
            status = await self.status()
            said = {each["type"]: each["status"] for each in status.get("conditions", ())}
            return status if said.get(kind) == wanted else None

        return await self.until(f"{kind}={wanted}", there, seconds)

    async def child(self, *, speculative: bool | None = None, seconds: float = 60.0) -> Object:
        """Waits for the InferenceService, with or without speculation in its flags."""

        async def there() -> Object | None:
            found = await self.api.get(ISVC, self.namespace, NAME)
            return found if found and (speculative is None or is_speculative(found) is speculative) else None

        return await self.until(f"InferenceService, speculative={speculative}", there, seconds)

    async def roll_out(self, child: Object, *engines: EngineStandIn, ready: bool = True) -> list[str]:
        """Plays KServe and kubelet: a Deployment on the child's revision, and its pods instead of all older ones."""
        revision = child["spec"]["predictor"]["labels"][REVISION]
        await self._deployment(child, revision, len(engines), ready=len(engines) if ready else 0)
        for pod in await self.api.items(POD, self.namespace):
            await self.remove_pod(pod["metadata"]["name"])
        return [await self._pod(child, revision, engine, ready=ready) for engine in engines]

    async def arm(self, seconds: float = 60.0) -> Object:
        """Waits until the operator has made the plain arm; returns its Deployment."""

        async def there() -> Object | None:
            return await self.api.get(DEPLOYMENT, self.namespace, ARM)

        found: Object = await self.until("a plain arm", there, seconds)
        return found

    async def bring_arm(self, *engines: EngineStandIn) -> list[str]:
        """Plays the controller of Deployments and the kubelet: the plain arm's pods come up."""
        labels = (await self.arm())["spec"]["template"]["metadata"]["labels"]
        names = [await self._pod_of(f"{ARM}-{labels[REVISION]}", labels, each, ready=True) for each in engines]
        count = len(engines)
        status = {"replicas": count, "updatedReplicas": count, "readyReplicas": count, "availableReplicas": count}
        await self.api.merge(DEPLOYMENT, self.namespace, ARM, {"status": status | {"observedGeneration": 1}}, "status")
        return names

    async def come_up_in_turn(self, child: Object, engines: Sequence[EngineStandIn], pause: float) -> None:
        """Plays a rollout whose pods become ready one after the other, `pause` seconds apart."""
        revision = child["spec"]["predictor"]["labels"][REVISION]
        await self._deployment(child, revision, len(engines), ready=0)
        names = [await self._pod(child, revision, each, ready=False) for each in engines]
        for number, name in enumerate(names, start=1):
            await asyncio.sleep(pause)
            up = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
            await self.api.merge(POD, self.namespace, name, up, "status")
            await self._deployment(child, revision, len(engines), ready=number)

    async def surge_in_vain(self, child: Object, words: str) -> None:
        """Plays a full cluster: the Deployment goes for the child's revision, and no node has room for its new pod."""
        revision = child["spec"]["predictor"]["labels"][REVISION]
        await self._deployment(child, revision, 1, ready=0)
        name = await self._pod(child, revision, EngineStandIn(), ready=False)
        long_ago = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words} | long_ago
        status = {"phase": "Pending", "podIP": None, "podIPs": None, "conditions": [scheduled]}
        await self.api.merge(POD, self.namespace, name, {"status": status}, "status")

    async def budget(self) -> Object | None:
        """The PodDisruptionBudget that the operator made."""
        return await self.api.get(BUDGET, self.namespace, f"{NAME}-specdec")

    async def allow_evictions(self, number: int) -> None:
        """Plays the controller of PodDisruptionBudgets: so many pods may be evicted."""
        found = await self.until("a PodDisruptionBudget", self.budget)
        status = {
            "observedGeneration": found["metadata"]["generation"],
            "disruptionsAllowed": number,
            "currentHealthy": 1 + number,
            "desiredHealthy": 1,
            "expectedPods": 2,
        }
        await self.api.merge(BUDGET, self.namespace, found["metadata"]["name"], {"status": status}, "status")

    async def remove_pod(self, name: str) -> None:
        """Takes a pod away."""
        await self.api.delete(POD, self.namespace, name)
        if server := self._servers.pop(name, None):
            await server.stop()

    async def refuse(self, pod: str, message: str, *, exit_code: int = 78) -> None:
        """Lets the engine of a pod end as a refused preflight does."""
        ended = {"exitCode": exit_code, "reason": "Error", "message": message}
        state = {"name": "kserve-container", "ready": False, "restartCount": 0, "state": {"terminated": ended}}
        state |= {"image": "i", "imageID": ""}
        await self.api.merge(POD, self.namespace, pod, {"status": {"containerStatuses": [state]}}, "status")

    def address(self, pod: str) -> str:
        """Where a pod serves."""
        return self._servers[pod].address

    def asked(self) -> int:
        """How often the pods' metrics were read."""
        return sum(server.engine.asked for server in self._servers.values())

    async def events(self) -> list[str]:
        """Reasons of all Events about the sis, oldest first."""
        found = await self.api.items(EVENT, self.namespace)
        ours = [each for each in found if each["involvedObject"]["name"] == NAME]
        return [each["reason"] for each in sorted(ours, key=lambda each: each["metadata"]["creationTimestamp"])]

    async def event(self, reason: str) -> None:
        """Waits for an Event: they are posted after what they tell of, and may come late."""

        async def there() -> bool:
            return reason in await self.events()

        await self.until(f"an Event {reason}", there)

    async def _deployment(self, child: Object, revision: str, replicas: int, *, ready: int) -> None:
        predictor = child["spec"]["predictor"]
        flags = ["--port=8080", *predictor["model"]["args"]]
        mounts = predictor["model"]["volumeMounts"]
        engine = {"name": "kserve-container", "image": "i", "args": flags, "volumeMounts": mounts}
        pod = {
            "metadata": {"labels": predictor["labels"] | {"app": "x"}},
            "spec": {"containers": [engine], "volumes": predictor["volumes"]},
        }
        name = f"{NAME}-predictor"
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "labels": child["metadata"]["labels"]},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": pod},
        }
        live = await self.api.apply(DEPLOYMENT, self.namespace, body, "plays-kserve")
        status = {
            "observedGeneration": live["metadata"]["generation"],
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
        }
        await self.api.merge(DEPLOYMENT, self.namespace, name, {"status": status}, "status")

    async def _pod(self, child: Object, revision: str, engine: EngineStandIn, *, ready: bool) -> str:
        made_by, labels = f"{NAME}-predictor-{revision}", child["spec"]["predictor"]["labels"]
        return await self._pod_of(made_by, labels, engine, ready=ready)

    async def bring_pod(self, made_by: str, labels: Object, engine: EngineStandIn, *, container: Object) -> str:
        """A pod of the ReplicaSet `made_by` comes up, with a container of somebody else's."""
        return await self._pod_of(made_by, labels, engine, ready=True, container=container)

    async def _pod_of(
        self, made_by: str, labels: Object, engine: EngineStandIn, *, ready: bool, container: Object | None = None
    ) -> str:
        """A pod of the ReplicaSet `made_by`."""
        self._made += 1
        name = f"{made_by}-{self._made}"
        server = self._servers[name] = PodServer(engine)
        await server.start()
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": labels,
                "ownerReferences": [_made_by(made_by)],
            },
            "spec": {"containers": [container or {"name": "kserve-container", "image": "i"}]},
        }
        await self.api.create(POD, self.namespace, body)
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {
            "phase": "Running",
            "podIP": server.address,
            "podIPs": [{"ip": server.address}],
            "conditions": conditions,
        }
        await self.api.merge(POD, self.namespace, name, {"status": status}, "status")
        return name


def replica_set_of(sis: str, revision: str) -> Object:
    """The entry of ownerReferences that a pod of a sis has; nobody makes the ReplicaSet itself here."""
    return _made_by(f"{sis}-predictor-{revision}")


def _made_by(name: str) -> Object:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"uid-of-{name}", "controller": True}


def is_speculative(child: Object) -> bool:
    """Whether an InferenceService asks for speculation."""
    return any(arg.startswith("--speculative-config") for arg in child["spec"]["predictor"]["model"]["args"])
