"""What the operator reports about itself, to the kubelet and to Prometheus."""

import json

import aiohttp

from tests.wire.api import SIS
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, sis


async def _page(port: int, path: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return await answer.text()


async def _services(operator: OperatorProcess) -> int:
    return int(json.loads(await _page(operator.health_port, "/healthz"))["services"])


async def test_every_service_is_counted_on_both_pages(world: World, operator: OperatorProcess) -> None:
    """When it comes and when it goes."""
    names = ("one", "two")
    for name in names:
        await world.api.apply(SIS, world.namespace, sis() | {"metadata": {"name": name}})

    async def two() -> bool:
        metrics = await _page(operator.metrics_port, "/metrics")
        return "\nspecdec_loops 2.0\n" in metrics and await _services(operator) == 2

    await world.until("two services, on both pages", two)
    for name in names:
        await world.api.delete(SIS, world.namespace, name)

    async def none() -> bool:
        metrics = await _page(operator.metrics_port, "/metrics")
        return "\nspecdec_loops 0.0\n" in metrics and await _services(operator) == 0

    await world.until("no service", none)
