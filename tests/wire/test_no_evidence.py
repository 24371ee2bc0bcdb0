"""Missing data is not failure: nothing here may lead to a rollback."""

import aiohttp

from tests.wire.api import DEPLOYMENT
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, PREDICTOR, World, is_speculative, sis

TOKENS = 400.0


async def _watched(world: World, *engines: EngineStandIn, **spec: object) -> list[str]:
    await world.apply(sis(**spec))
    pods = await world.roll_out(await world.child(), *engines)
    await world.phase("Watching")
    return pods


async def _still_speculating(world: World) -> None:
    status = await world.status()
    assert "rollback" not in status["guard"]
    assert status["phase"] == "Watching"
    assert is_speculative(await world.child())


async def test_no_traffic_is_inconclusive(world: World, operator: OperatorProcess) -> None:
    """Flat counters prove nothing, for as long as they are flat."""
    await _watched(world, EngineStandIn(), guard={"window": "1s", "failureLimit": 1})
    await world.verdict("NoTraffic")
    await world.read_again(4)
    await _still_speculating(world)
    await world.condition("GuardPassing", "Unknown")


async def test_too_few_tokens_are_inconclusive(world: World, operator: OperatorProcess) -> None:
    """A trickle that is never accepted proves nothing."""
    await _watched(world, EngineStandIn(tokens_per_second=2, acceptance=0.0), guard={"failureLimit": 1})
    assert (await world.verdict("FewTokens", "AcceptanceRateLow"))["guard"]["reason"] == "FewTokens"
    await _still_speculating(world)


async def test_a_restarted_engine_does_not_count(world: World, operator: OperatorProcess) -> None:
    """Counters that begin again inside a window make it inconclusive."""
    engine = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.8)
    await _watched(world, engine, guard={"window": "3s"})
    await world.verdict("Accepted")
    engine.restart()
    await world.verdict("Restarted")
    await _still_speculating(world)
    await world.verdict("Accepted")


async def test_metrics_that_hang_do_not_count(world: World, operator: OperatorProcess) -> None:
    """A pod that does not answer is not judged, and hanging it for long changes nothing."""
    engine = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.8)
    await _watched(world, engine)
    await world.verdict("Accepted")
    engine.acceptance, engine.hangs = 0.0, True
    await world.verdict("ScrapeFailed")
    await _still_speculating(world)
    await world.told("GuardPassing", "no answer within 5 s; a NetworkPolicy may block the operator")
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{operator.metrics_port}/metrics") as response,
    ):
        page = await response.text()
    assert f'specdec_pods_without_metrics{{name="{NAME}",namespace="{world.namespace}"}} 1.0' in page


async def test_a_deleted_deployment_does_not_count_against_the_draft(world: World, operator: OperatorProcess) -> None:
    """KServe makes another one, whose pods are not up: nothing serves, Ready shows it, speculation is not blamed."""
    await _watched(world, EngineStandIn(tokens_per_second=TOKENS))
    await world.api.delete(DEPLOYMENT, world.namespace, PREDICTOR)
    await world.condition("Ready", "False")
    await world.turned(operator)
    await _still_speculating(world)
