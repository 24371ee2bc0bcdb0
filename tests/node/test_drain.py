"""The drain of a node without an effect on clients: two replicas are evicted under traffic, and no request is lost."""

import asyncio
import time
from http import HTTPStatus

from specdec_operator import names
from tests.node import client
from tests.node.asking import Client
from tests.node.film import Film
from tests.node.service import Service
from tests.wire.api import POD, Refused
from tests.wire.faults.table import Part, fault

BUDGET = "policy/v1", "poddisruptionbudgets"
PAUSE = 5.0
"""Seconds after which `kubectl drain` asks for an eviction again that a budget forbade."""


@fault(
    part=Part.CLUSTER,
    when="a node drain evicts both pods of a service under traffic",
    then="one eviction at a time; no request fails",
)
async def test_a_drain_of_two_replicas_loses_no_request(service: Service, film: Film) -> None:
    """Both pods are asked to go at once, by the eviction API: one has to wait until the other's successor serves."""
    await service.apply(None, {"replicas": 2, "rollout": {"strategy": "Surge", "deadline": "10m"}})
    await film.phase("Serving", 0, 560)
    await service.until("the budget counted", lambda: _allowed(service), 60)
    before = await _engines(service)
    assert len(before) == 2
    asking = Client(service, film)
    await asking.start("drift")
    begun = time.monotonic()
    try:
        await asyncio.sleep(5.0)
        refused = await asyncio.gather(*(_evict(service, name) for name in before))
        await service.until("two other pods ready", lambda: _renewed(service, before), 240)
        await asyncio.sleep(max(client.PAUSES.values()) + 1)
        tally = await asking.tally()
    finally:
        await asking.stop()
    print(f"{time.monotonic() - begun:.1f} s, evictions refused {sorted(refused)} times; {tally}")
    assert tally["failed"] == 0, tally["faults"]
    assert sorted(refused)[0] == 0
    assert sorted(refused)[1] > 0, "the second one had to wait"
    answered = [tally[kind] for kind in client.PAUSES]
    assert sum(answered) >= 100
    assert min(answered) > 0


async def _evict(service: Service, pod: str) -> int:
    """What `kubectl drain` does about one pod; returns how often that was refused."""
    path = f"{service.api.path(POD, service.namespace, pod)}/eviction"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": service.namespace}}
    for refused in range(100):
        try:
            await service.api.call("post", path, body, patience=0.0)
        except Refused as error:
            if error.status != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            await asyncio.sleep(PAUSE)
        else:
            return refused
    raise AssertionError(f"{pod} was never evicted")


async def _allowed(service: Service) -> bool:
    """Whether the budget lets one pod go."""
    found = await service.api.get(BUDGET, service.namespace, f"{service.name}-specdec")
    return found is not None and found.get("status", {}).get("disruptionsAllowed") == 1


async def _engines(service: Service) -> list[str]:
    """Pods of the service that are ready and stay."""
    pods = await service.api.items(POD, service.namespace)
    ours = [each for each in pods if names.OWNER_LABEL in each["metadata"].get("labels", {})]
    return [
        each["metadata"]["name"]
        for each in ours
        if "deletionTimestamp" not in each["metadata"]
        and any((some["type"], some["status"]) == ("Ready", "True") for some in each["status"].get("conditions", ()))
    ]


async def _renewed(service: Service, before: list[str]) -> bool:
    pods = await service.api.items(POD, service.namespace)
    left = any(each["metadata"]["name"] in before for each in pods)
    return not left and len(await _engines(service)) == 2
