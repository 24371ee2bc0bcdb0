"""The Lease that one replica holds: what it believes where the API server does not answer, and as time goes by."""

import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.aio import client
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from tests.hostile_http import Asked, HostileServer, answering, silent

from specdec_operator.errors import OperatorError, Unavailable
from specdec_operator.kube.client import ApiServer
from specdec_operator.leadership.lease import DURATION, Lease
from specdec_operator.settings import read_settings

RECORD = LeaderElectionRecord("me", "15", "2026-11-21 10:00:00.000001", "2026-11-21 10:00:00.000001")
OBJECT = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "l", "namespace": "n"},
    "spec": {},
}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """A server that takes a Lease, and answers no question about one."""

    made = answering(json.dumps(OBJECT).encode(), b"Content-Type: application/json", status=b"201 Created")

    async def lease(asked: Asked, *connection: Any) -> None:
        await (made if asked.method == "POST" else silent)(asked, *connection)

    async with HostileServer(lease) as server:
        yield server.url


async def test_a_replica_does_not_stay_leader_when_the_server_does_not_answer(address: str) -> None:
    """A request of the election ends after two seconds, as one that failed."""
    async with client.ApiClient(client.Configuration(host=address)) as api:
        lease = Lease("n", "l", "me", api)
        async with asyncio.timeout(10):
            found, said = await lease.get("l", "n")
    assert not found
    assert "no answer" in said.reason


async def test_a_lease_is_held_until_shortly_before_others_may_take_it(address: str) -> None:
    """From before the request that made it, and not to its very end."""
    clock = Clock()
    async with client.ApiClient(client.Configuration(host=address)) as api:
        lease = Lease("n", "l", "me", api, clock=clock)
        assert not lease.held()
        assert await lease.create("l", "n", RECORD)
    assert lease.held()
    clock.now += DURATION - 2.1
    assert lease.held()
    clock.now += 0.2
    assert not lease.held()


BODY = {"metadata": {"namespace": "n"}}


@pytest.mark.parametrize("write", ["apply", "remove", "apply_status", "post_event"])
async def test_who_may_not_lead_writes_nothing(write: str) -> None:
    """The fence is asked before the cluster is; it fails where that is forgotten, for there is no cluster."""
    nobody: Any = SimpleNamespace(server="")
    fenced = ApiServer(nobody, lambda namespace: namespace != "n")
    asked = {"apply": (BODY,), "remove": (BODY,), "apply_status": ("n", "x", {}), "post_event": ("n", {})}[write]
    with pytest.raises(Unavailable, match="another replica may be the leader now"):
        await getattr(fenced, write)(*asked)


@pytest.mark.parametrize("text", ["specdec", "/x", "a/", "a/b/c"])
def test_a_lease_is_written_with_its_namespace(text: str) -> None:
    """Anything else is refused with the variable's name."""
    with pytest.raises(OperatorError, match="SPECDEC_LEADER_LEASE"):
        read_settings({"SPECDEC_LEADER_LEASE": text})
