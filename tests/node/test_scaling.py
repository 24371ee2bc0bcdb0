"""A service that is scaled on real parts: real engines, real Deployments, a rollback at three pods.

The node has no metrics API, so KServe's HorizontalPodAutoscaler has nothing to count by there. The scaler is this test,
in the place of somebody else's (class external): it asks for three pods while clients ask, and for one when they have
gone. Which HPA KServe makes is in tests/wire/test_scaling.py.
"""

import asyncio
from typing import Any

from tests.node.service import Crowd, Service
from tests.node.test_arms import ready
from tests.node.test_guard import DRAFT
from tests.wire.api import DEPLOYMENT, Object

PARTS: Object = {
    "autoscaling": {"autoscalerClass": "external"},
    "rollout": {"strategy": "Replace", "deadline": "10m"},
}
GUARD: dict[str, Any] = {"acceptanceRate": {"min": 0.4}, "baseline": "None", "window": "10s"}


class Count:
    """The numbers of pods that the Deployment asked for, from one moment on."""

    def __init__(self, service: Service) -> None:
        self.seen: set[int] = set()
        self._service = service
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Count":
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            self.seen.add((await deployment(self._service))["spec"]["replicas"])
            await asyncio.sleep(0.3)


async def deployment(service: Service) -> Object:
    """That of the service's pods."""
    found = await service.api.get(DEPLOYMENT, service.namespace, f"{service.name}-predictor")
    assert found is not None
    return found


async def scale(service: Service, number: int, seconds: float = 300.0) -> None:
    """What a scaler writes; waits until as many pods, and no more, are ready."""
    name = f"{service.name}-predictor"
    await service.api.merge(DEPLOYMENT, service.namespace, name, {"spec": {"replicas": number}}, "scale")

    async def there() -> bool:
        return len(await ready(service, plain=False)) == number

    await service.until(f"{number} pods", there, seconds)


async def test_a_service_is_scaled_under_load_and_rolled_back_at_three_pods(service: Service) -> None:
    """From one to three and back to one, with a verdict on what serves; a rollback at three leaves three."""
    await service.apply(DRAFT, PARTS, **GUARD)
    await service.phase("Watching", seconds=300)
    async with Crowd(service, "code", 3, max_tokens=24):
        await scale(service, 3)

        async def measured() -> Object | None:
            status = await service.status()
            needed = status.get("scaling", {}).get("replicasNeeded")
            good = status["guard"].get("verdict") == "Pass" and status["acceptance"]["pods"] == needed == 3
            return status if good else None

        status = await service.until("a good window of three pods", measured, 180)
        print("three pods:", status["scaling"])
        assert (status["replicas"], status["readyReplicas"]) == (3, 3)
        assert status["phase"] == "Watching"
    await scale(service, 1)
    await service.verdict("Pass", "code", 120)
    await scale(service, 3)
    async with Count(service) as count:
        async with Crowd(service, "drift", 3, max_tokens=24):
            status = await service.phase("Responding", seconds=180)
            print("decided:", status["guard"]["rollback"]["message"])
        await service.phase("RolledBack", seconds=420)
        await service.until("three plain pods", lambda: _three(service), 240)
    assert count.seen == {3}

    async def told() -> bool:
        return (await service.status())["readyReplicas"] == 3

    await service.until("three in the status", told, 30)
    assert (await service.status())["guard"]["rollbacks"] == 1
    await scale(service, 1)
    assert (await service.status())["phase"] == "RolledBack"


async def _three(service: Service) -> bool:
    return len(await ready(service, plain=False)) == 3
