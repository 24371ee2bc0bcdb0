"""One namespace in which the test plays only the user and the kubelet.

The real KServe makes the Deployment of an InferenceService, and the real controllers of Kubernetes make its pods; the
test sets the status of each pod (tests/wire/kubelet.py explains why). The node tests have a real kubelet.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, Self

from tests.wire.api import DEPLOYMENT, EVENT, ISVC, SIS, Api, Object, Refused
from tests.wire.kubelet import Kubelet
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.waiting import until

NAME = "llama"
BUDGET = "policy/v1", "poddisruptionbudgets"
PREDICTOR = f"{NAME}-predictor"
"""The Deployment that KServe makes."""
BASELINE = f"{PREDICTOR}-plain"
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
        self.kubelet = Kubelet(api, namespace)
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
        await self.kubelet.stop()

    async def until(self, what: str, probe: Callable[[], Awaitable[Any]]) -> Any:
        """Waits until the probe gives something; fails with the status of the sis."""
        return await until(what, probe, state=self.status)

    async def read_again(self, times: int, *engines: EngineStandIn) -> None:
        """Waits until the counters of these engines, or of all pods, were read so often more: once in an interval."""
        if not engines:
            await self.kubelet.forget()
        read = engines or tuple(server.engine for server in self.kubelet.servers.values())
        enough = {id(each): each.asked + times for each in read}

        async def looked() -> bool:
            return all(each.asked >= enough[id(each)] for each in read)

        await until(f"{times} more readings of each pod", looked, state=self.status)

    async def turned(self, *operators: OperatorProcess) -> Object:
        """Waits until each operator has reconciled the whole sis, in a reconcile that began after this call.

        For a service whose pods are not being read: otherwise reconciles happen by themselves too. Returns the sis as
        it was when the last of these reconciles was requested. A reconcile that is under way is woken again, so two.
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
        """What `kubectl replace` does: the whole object, again if another client wrote to it in between."""

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
        return dict((await self.sis()).get("status", {}))

    async def phase(self, *wanted: str) -> Object:
        """Waits for a phase; returns the status."""

        async def there() -> Object | None:
            status = await self.status()
            return status if status.get("phase") in wanted else None

        return dict(await self.until(f"phase {' or '.join(wanted)}", there))

    async def condition(self, kind: str, wanted: str) -> Object:
        """Waits for a condition; returns the status."""

        async def there() -> Object | None:
            status = await self.status()
            return status if conditions(status).get(kind, {}).get("status") == wanted else None

        return dict(await self.until(f"{kind}={wanted}", there))

    async def verdict(self, *wanted: str) -> Object:
        """Waits until the last window has one of these verdicts or reasons; returns the status."""

        async def there() -> Object | None:
            status = await self.status()
            guard = status.get("guard", {})
            return status if {guard.get("verdict"), guard.get("reason")} & {*wanted} else None

        return dict(await self.until(f"verdict {' or '.join(wanted)}", there))

    async def told(self, kind: str, *words: str) -> Object:
        """Waits until a condition has all of these words in its reason or message; returns the condition."""

        async def there() -> Object | None:
            found = conditions(await self.status()).get(kind)
            return found if found and all(each in f"{found['reason']}: {found['message']}" for each in words) else None

        return dict(await self.until(f"{kind} with {words}", there))

    async def gone(self, kind: tuple[str, str] = SIS, name: str = NAME) -> None:
        """Waits until an object is not there any more: the sis, if no other is named."""

        async def none() -> bool:
            return await self.api.get(kind, self.namespace, name) is None

        await until(f"{name} is gone", none)

    async def replicas(self, number: int) -> None:
        """Waits until the InferenceService asks for so many pods."""

        async def asked() -> bool:
            found = await self.api.get(ISVC, self.namespace, NAME)
            return found is not None and found["spec"]["predictor"].get("minReplicas") == number

        await self.until(f"{number} pods asked for", asked)

    async def child(self, *, speculative: bool | None = None) -> Object:
        """Waits for the InferenceService, with or without speculation in its flags."""

        async def there() -> Object | None:
            found = await self.api.get(ISVC, self.namespace, NAME)
            return found if found and (speculative is None or is_speculative(found) is speculative) else None

        return dict(await self.until(f"InferenceService, speculative={speculative}", there))

    async def roll_out(self, child: Object, *engines: EngineStandIn, ready: bool = True) -> list[str]:
        """Plays the kubelet while the real Deployment goes for the child's revision: one engine for each of its pods.

        With `ready` until no older pod is left. If another autoscaler sets the number of pods, the test plays that one
        too. Returns the new pods. Pods of that revision that have other engines are replaced.
        """
        of_child = of_revision(child)
        if child["metadata"].get("annotations", {}).get("serving.kserve.io/autoscalerClass") == "external":
            await self.kubelet.current(PREDICTOR, of_child)
            await self.api.merge(DEPLOYMENT, self.namespace, PREDICTOR, {"spec": {"replicas": len(engines)}}, "scale")
        return await self.kubelet.bring(PREDICTOR, engines, ready=ready, fits=of_child)

    async def deployment(self, child: Object) -> Object:
        """Waits until KServe's Deployment asks for the child's revision; returns it."""
        found, _ = await self.kubelet.current(PREDICTOR, of_revision(child))
        return found

    async def baseline_pods(self) -> Object:
        """Waits until the operator has made the Deployment of the baseline pods; returns it."""

        async def there() -> Object | None:
            return await self.api.get(DEPLOYMENT, self.namespace, BASELINE)

        found: Object = await self.until("baseline pods", there)
        return found

    async def bring_baseline_pods(self, *engines: EngineStandIn) -> list[str]:
        """Plays the kubelet for the baseline pods: they start."""
        await self.baseline_pods()
        return await self.kubelet.bring(BASELINE, engines, ready=True)

    async def come_up_in_turn(self, child: Object, engines: Sequence[EngineStandIn], pause: float) -> None:
        """Plays the kubelet of a rollout whose pods become ready one after the other, `pause` seconds apart."""
        await self.kubelet.bring(PREDICTOR, engines, ready=False, fits=of_revision(child))
        _, newest = await self.kubelet.current(PREDICTOR, of_revision(child))
        for pod in await self.kubelet.pods_of(newest):
            await asyncio.sleep(pause)
            await self.kubelet.run(pod, self.kubelet.servers[pod["metadata"]["name"]].engine, ready=True)

    async def budget(self) -> Object | None:
        """The PodDisruptionBudget that the operator made."""
        return await self.api.get(BUDGET, self.namespace, f"{NAME}-specdec")

    async def allow_evictions(self, number: int) -> None:
        """Plays the disruption controller, which is not run: each test sets how many pods may be evicted, and when."""
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
        """Takes a pod away. Its ReplicaSet makes another one, which nothing runs."""
        await self.kubelet.remove(name)

    async def end(self, pod: str, ended: Object) -> None:
        """Ends the engine of a pod with this state, as a kubelet reports it."""
        state = {"name": "kserve-container", "ready": False, "restartCount": 0, "state": {"terminated": ended}}
        await self.kubelet.say(pod, {"containerStatuses": [state | {"image": "i", "imageID": ""}]})

    async def pods(self) -> list[str]:
        """The names of the pods that have an engine and are there."""
        await self.kubelet.forget()
        return sorted(self.kubelet.servers)

    def address(self, pod: str) -> str:
        """Where a pod serves."""
        return self.kubelet.servers[pod].address

    def asked(self) -> int:
        """How often the pods' metrics were read."""
        return sum(server.engine.asked for server in self.kubelet.servers.values())

    async def events(self) -> list[str]:
        """Reasons of all Events about the sis, oldest first. KServe sends Events about its InferenceService."""
        found = await self.api.items(EVENT, self.namespace)
        sis_of_world = {"kind": "SpeculativeInferenceService", "name": NAME}
        ours = [each for each in found if sis_of_world.items() <= each["involvedObject"].items()]
        return [each["reason"] for each in sorted(ours, key=lambda each: each["metadata"]["creationTimestamp"])]

    async def event(self, reason: str) -> None:
        """Waits for an Event: the operator sends it after the change that it describes, and it may come late."""

        async def there() -> bool:
            return reason in await self.events()

        await self.until(f"an Event {reason}", there)


def conditions(status: Object) -> dict[str, Object]:
    """The conditions of a status by type."""
    return {each["type"]: each for each in status.get("conditions", ())}


def of_revision(child: Object) -> Callable[[Object], bool]:
    """Whether a Deployment asks for pods of an InferenceService's revision."""
    wanted = child["spec"]["predictor"]["labels"][REVISION]
    return lambda found: bool(found["spec"]["template"]["metadata"]["labels"].get(REVISION) == wanted)


def replica_set_of(sis: str, revision: str) -> Object:
    """The entry of ownerReferences of a pod of a sis, for a benchmark that makes pods without ReplicaSets."""
    name = f"{sis}-predictor-{revision}"
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"uid-of-{name}", "controller": True}


def is_speculative(child: Object) -> bool:
    """Whether an InferenceService asks for speculation."""
    return any(arg.startswith("--speculative-config") for arg in child["spec"]["predictor"]["model"].get("args", ()))
