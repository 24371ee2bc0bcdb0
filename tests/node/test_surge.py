"""A rollback that nobody notices: two replicas are rolled over beside a running client, and no request is lost."""

import asyncio
import json
import pathlib
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hack import images

from specdec_operator import names
from tests.node import client
from tests.node.film import Film
from tests.node.service import Service
from tests.wire.api import POD


class Client:
    """The pod that asks, and its tally."""

    def __init__(self, service: Service, film: Film) -> None:
        self._service = service
        self._film = film
        self._namespace = service.namespace

    async def start(self, kind: str) -> None:
        """Starts asking about one kind of prompts, inside the cluster and by the service's own address."""
        found = await self._service.api.get(("v1", "services"), self._namespace, f"{self._service.name}-predictor")
        assert found is not None
        prompts = json.dumps([self._service.prompt(kind, number) for number in range(16)])
        program = pathlib.Path(client.__file__).read_text()
        words = ["python3", "-c", program, found["spec"]["clusterIP"], self._service.name, prompts]
        container = {"name": "client", "image": images.refs().runtime, "command": words}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "restartPolicy": "Never"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client"}, "spec": spec}
        await self._service.api.create(POD, self._namespace, pod)

    async def tally(self) -> dict[str, Any]:
        """What came of its requests so far."""
        path = self._service.api.path(POD, self._namespace, "client")
        found: dict[str, Any] = json.loads(await self._film.text(f"{path}/log?tailLines=1"))
        return found

    async def stop(self) -> None:
        """Removes it."""
        await self._service.api.delete(POD, self._namespace, "client")


@pytest.fixture
async def film(service: Service, cluster: pathlib.Path) -> AsyncIterator[Film]:
    """Watches the sis."""
    async with Film(cluster, service.namespace, service.name) as watching:
        yield watching


async def test_a_rollback_of_two_replicas_loses_no_request(service: Service, film: Film) -> None:
    """RollingUpdate with surge: >= 500 requests from before the decision until plain pods serve alone, none failed."""
    surge = {"replicas": 2, "rollout": {"strategy": "Surge", "deadline": "10m"}}
    await service.apply({"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}, surge)
    await film.phase("Watching", 0, 240)
    asking = Client(service, film)
    begun = time.monotonic()
    await asking.start("drift")
    try:
        decided = await film.phase("Responding", begun, 60)
        done = await film.phase("RolledBack", decided, 560)
        await service.until("the old pods gone", lambda: _two_left(service), 90)
        await asyncio.sleep(max(client.PAUSES.values()) + 1)
        tally = await asking.tally()
    finally:
        await asking.stop()
    print(f"decision {decided - begun:.1f} s, rolled back {done - decided:.1f} s later; {tally}")
    assert tally["failed"] == 0, tally["faults"]
    answered = [tally[kind] for kind in client.PAUSES]
    assert sum(answered) >= 500
    assert min(answered) > 0


async def _two_left(service: Service) -> bool:
    pods = await service.api.items(POD, service.namespace)
    return sum(names.OWNER_LABEL in each["metadata"].get("labels", {}) for each in pods) == 2
