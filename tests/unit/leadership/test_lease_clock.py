"""When a Lease that another replica holds may be taken: by seconds that pass, not by the wall clock."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kubernetes.aio import client
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from tests.hostile_http import Asked, HostileServer, replying

from specdec_operator.leadership.lease import DURATION, Lease


class Kept:
    """The Lease on the API server, as another replica holds it. taken: how often another replica wrote to it since."""

    def __init__(self) -> None:
        self.version = 1
        self.taken = 0

    def body(self) -> dict[str, Any]:
        at = "2026-11-22T01:00:00.000001Z"
        spec = {"holderIdentity": "other", "leaseDurationSeconds": DURATION, "acquireTime": at, "renewTime": at}
        meta = {"name": "l", "namespace": "n", "resourceVersion": str(self.version)}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}

    def reply(self, asked: Asked) -> tuple[int, str]:
        self.taken += asked.method == "PUT"
        return 200, json.dumps(self.body())


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
async def api(kept: Kept) -> AsyncIterator[client.ApiClient]:
    server = HostileServer(replying(kept.reply, b"Content-Type: application/json"))
    async with server, client.ApiClient(client.Configuration(host=server.url)) as made:
        yield made


def _election(lease: Lease) -> LeaderElection:
    async def begin() -> None:
        """Nothing is to be done."""

    config = Config(
        lease,
        lease_duration=DURATION,
        renew_deadline=6,
        retry_period=2,
        onstarted_leading=begin,
        onstopped_leading=begin,
    )
    return LeaderElection(config)


@pytest.mark.parametrize("wall", [0.0, 3600.0, -3600.0])
async def test_a_lease_is_taken_when_its_seconds_are_over(
    api: client.ApiClient, kept: Kept, monkeypatch: pytest.MonkeyPatch, wall: float
) -> None:
    """Whatever the wall clock shows by then: set ahead, it would cause two leaders; set back, no leader for an hour."""
    real, ahead = 100.0, 0.0
    lease = Lease("n", "l", "me", api, clock=lambda: real)
    election = _election(lease)
    monkeypatch.setattr("kubernetes.aio.leaderelection.leaderelection.time.time", lambda: 1e9 + real + ahead)
    assert not await election.try_acquire_or_renew()
    ahead, real = wall, real + DURATION - 0.1
    assert not await election.try_acquire_or_renew()
    assert kept.taken == 0
    real += 0.2
    assert await election.try_acquire_or_renew()
    assert (kept.taken, lease.held()) == (1, True)


async def test_a_lease_that_its_holder_renews_is_never_taken(api: client.ApiClient, kept: Kept) -> None:
    """Each renewal gives it the whole time again."""
    real = 100.0
    election = _election(Lease("n", "l", "me", api, clock=lambda: real))
    for _ in range(5):
        assert not await election.try_acquire_or_renew()
        real += DURATION - 1
        kept.version += 1
    assert kept.taken == 0
