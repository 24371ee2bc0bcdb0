"""A rollback without an effect on clients: two replicas are rolled over under traffic, and no request is lost."""

import asyncio
import time

from specdec_operator import names
from tests.node import client
from tests.node.asking import Client
from tests.node.film import Film
from tests.node.service import Service
from tests.wire.api import POD


async def test_a_rollback_of_two_replicas_loses_no_request(service: Service, film: Film) -> None:
    """RollingUpdate with surge: >= 500 requests from before the decision until only baseline pods serve. None fails."""
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
