"""What the operator tells of itself, to the kubelet and to Prometheus."""

import aiohttp

from tests.wire.api import SIS
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, sis


async def _page(port: int, path: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return await answer.text()


async def _tasks(operator: OperatorProcess) -> float:
    lines = (await _page(operator.metrics_port, "/metrics")).splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("specdec_tasks "))


async def test_every_loop_is_counted_by_one_and_the_same_counter(world: World, operator: OperatorProcess) -> None:
    """kopf gives each object a copy of what the handlers share: a counter in the copy never gets beyond one."""
    names = ("one", "two")
    for name in names:
        await world.api.apply(SIS, world.namespace, sis() | {"metadata": {"name": name}})

    async def two() -> bool:
        metrics = await _page(operator.metrics_port, "/metrics")
        return "\nspecdec_loops 2.0\n" in metrics and "2 loops, last turn" in await _page(
            operator.health_port, "/healthz"
        )

    await world.until("two loops, on both pages", two)
    with_two = await _tasks(operator)
    for name in names:
        await world.api.delete(SIS, world.namespace, name)

    async def none() -> bool:
        metrics = await _page(operator.metrics_port, "/metrics")
        return "\nspecdec_loops 0.0\n" in metrics and "0 loops" in await _page(operator.health_port, "/healthz")

    await world.until("no loop", none)

    async def fewer() -> bool:
        return await _tasks(operator) < with_two

    await world.until("fewer tasks than with two loops", fewer, 90)  # what a start takes besides is gone by then
