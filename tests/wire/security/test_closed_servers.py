"""Prometheus servers that no administrator has allowed: the operator sends requests to none of them."""

import asyncio

from tests.hostile_http import HostileServer, answering
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, sis


async def test_no_server_is_asked_that_the_administrator_did_not_name(world: World, operator: OperatorProcess) -> None:
    """By default a guard may name none: the service is refused with the setting, and no server gets a request."""
    async with HostileServer(answering(b"{}")) as server:
        await world.apply(sis(guard={"interval": "1s", "source": {"prometheus": {"url": server.url}}}))

        async def refused() -> str | None:
            conditions = (await world.status()).get("conditions", [])
            return next((each["message"] for each in conditions if each["type"] == "Stalled"), None)

        words = await world.until("a refusal", refused)
        await asyncio.sleep(3)
        assert server.asked == 0
    assert server.url in words
    assert "SPECDEC_PROMETHEUS_URLS" in words
    assert "prometheusUrls" in words
