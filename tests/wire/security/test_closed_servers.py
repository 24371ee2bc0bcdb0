"""Prometheus servers that no administrator has allowed: the operator sends requests to none of them."""

import asyncio

from tests.hostile_http import HostileServer, answering
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, sis


async def test_no_server_is_asked_that_the_administrator_did_not_name(world: World, operator: OperatorProcess) -> None:
    """By default a guard may name none: the service is refused with the setting, and no server gets a request."""
    async with HostileServer(answering(b"{}")) as server:
        await world.apply(sis(guard={"interval": "1s", "source": {"prometheus": {"url": server.url}}}))
        await world.told("Stalled", server.url, "SPECDEC_PROMETHEUS_URLS", "prometheusUrls")
        await asyncio.sleep(3)
        assert server.asked == 0
