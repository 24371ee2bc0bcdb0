"""The main job on every KServe that can be built here, except the default version."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hack.cluster import kserve, kubectl, lifecycle
from hack.cluster.versions import KSERVE
from hack.kserve.versions import SUMS

from tests.node.service import Service
from tests.node.test_story import serve_watch_roll_back

OTHERS = tuple(each for each in sorted(SUMS) if each != KSERVE)
_OPERATOR = ("deployment/specdec-operator", "--namespace=specdec-system")


def switch(version: str) -> None:
    """Replace the running version of KServe. The operator is restarted: it reads the version every five minutes."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KSERVE", version)
        lifecycle.up(print)
    kubectl.run(kubectl.config(), "rollout", "restart", *_OPERATOR)
    kubectl.wait(kubectl.config(), "rollout", "status", *_OPERATOR)


@pytest.fixture(params=OTHERS)
async def other(request: pytest.FixtureRequest, cluster: object) -> AsyncIterator[str]:
    """Another version of KServe on the node; the default one afterwards."""
    await asyncio.to_thread(switch, request.param)
    try:
        yield request.param
    finally:
        await asyncio.to_thread(switch, KSERVE)


async def test_a_draft_serves_and_a_bad_one_is_taken_out(other: str, service: Service) -> None:
    """Same as on the default version; the status box shows which KServe runs."""
    assert kserve.running() == other
    await serve_watch_roll_back(service)
