"""A service that is scaled by its load, on real parts: engines, Deployments, KServe's HorizontalPodAutoscaler, the
controller of Kubernetes that acts on it, and metrics-server. A rollback at three pods leaves three.
"""

import asyncio
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from hack.cluster import metrics, paths

from tests.node.service import Crowd, Service
from tests.node.test_baseline_pods import ready
from tests.node.test_guard import DRAFT
from tests.wire.api import DEPLOYMENT, Object

PARTS: Object = {
    "autoscaling": {"minReplicas": 1, "maxReplicas": 3, "scaleMetric": "cpu", "scaleTarget": 100},
    "resources": {"requests": {"cpu": "250m"}},
    "rollout": {"strategy": "Replace", "deadline": "10m"},
}
"""An engine that three clients keep busy takes a whole core, four times what it requests. Each of three engines on two
cores takes more than it requests. One without requests takes next to nothing.
"""
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


async def pods(service: Service, number: int, seconds: float = 240.0) -> None:
    """Waits until the autoscaler asks for as many pods, and as many are ready."""

    async def there() -> bool:
        asked = (await deployment(service))["spec"]["replicas"]
        return asked == len(await ready(service, baseline=False)) == number

    await service.until(f"{number} pods", there, seconds)


@pytest.fixture(scope="module")
def usage(cluster: pathlib.Path) -> Iterator[None]:
    """metrics-server, by which autoscalers count."""
    server = metrics.MetricsServer(layout=paths.layout(), say=print)
    server.start()
    try:
        yield
    finally:
        server.stop()


@pytest.mark.alone
@pytest.mark.usefixtures("usage")
async def test_load_scales_a_service_to_three_and_back_and_it_is_rolled_back_at_three(service: Service) -> None:
    """Each number of pods gets a verdict; only the autoscaler writes a number."""
    await service.apply(DRAFT, PARTS, **GUARD)
    await service.phase("Watching", seconds=300)
    async with Crowd(service, "code", 3, max_tokens=24):
        await pods(service, 3)

        async def measured() -> Object | None:
            status = await service.status()
            needed = status.get("scaling", {}).get("replicasNeeded")
            good = status["guard"].get("verdict") == "Pass" and status["acceptance"]["pods"] == needed == 3
            return status if good else None

        status = await service.until("a good window of three pods", measured, 180)
        print("three pods:", status["scaling"])
        assert (status["replicas"], status["readyReplicas"], status["phase"]) == (3, 3, "Watching")
    await pods(service, 1)
    await service.verdict("Pass", "code", 120)
    async with Crowd(service, "code", 3, max_tokens=24):
        await pods(service, 3)
    async with Count(service) as count, Crowd(service, "drift", 3, max_tokens=24):
        status = await service.phase("Responding", seconds=180)
        print("decided:", status["guard"]["rollback"]["message"])
        await service.phase("RolledBack", seconds=420)
        await pods(service, 3)
    assert count.seen == {3}
    await pods(service, 1)

    async def told() -> bool:
        return (await service.status())["readyReplicas"] == 1

    await service.until("one in the status", told, 30)
    status = await service.status()
    assert (status["guard"]["rollbacks"], status["phase"]) == (1, "RolledBack")
