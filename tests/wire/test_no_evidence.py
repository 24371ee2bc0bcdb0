"""Missing data is not failure: nothing here may lead to a rollback."""

import signal

import aiohttp
import pytest

from tests.wire.api import DEPLOYMENT, ISVC, SIS, Refused
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, PREDICTOR, World, is_speculative, sis

TOKENS = 400.0


async def _watched(world: World, *engines: EngineStandIn, **spec: object) -> list[str]:
    await world.apply(sis(**spec))
    pods = await world.roll_out(await world.child(), *engines)
    await world.phase("Watching")
    return pods


async def _verdict(world: World, *wanted: str) -> str:
    async def there() -> str | None:
        reason = (await world.status())["guard"].get("reason")
        return reason if reason in wanted else None

    return await world.until(f"verdict {wanted}", there)


async def _still_speculating(world: World) -> None:
    status = await world.status()
    assert "rollback" not in status["guard"]
    assert status["phase"] == "Watching"
    assert is_speculative(await world.child())


async def test_no_traffic_is_inconclusive(world: World, operator: OperatorProcess) -> None:
    """Flat counters prove nothing, for as long as they are flat."""
    await _watched(world, EngineStandIn(), guard={"window": "1s", "failureLimit": 1})
    await _verdict(world, "NoTraffic")
    await world.read_again(4)
    await _still_speculating(world)
    await world.condition("GuardPassing", "Unknown")


async def test_too_few_tokens_are_inconclusive(world: World, operator: OperatorProcess) -> None:
    """A trickle that is never accepted proves nothing."""
    await _watched(world, EngineStandIn(tokens_per_second=2, acceptance=0.0), guard={"failureLimit": 1})
    assert await _verdict(world, "FewTokens", "AcceptanceRateLow") == "FewTokens"
    await _still_speculating(world)


async def test_an_operator_that_restarts_inside_a_window_keeps_count(world: World, operator: OperatorProcess) -> None:
    """Failing windows that were counted are kept; the broken window is not counted; the phase goes on."""
    engine = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.0)
    await _watched(world, engine, guard={"failureLimit": 3, "window": "3s"})

    async def failed_once() -> bool:
        return (await world.status())["guard"]["failures"] == 1

    await world.until("one failing window", failed_once)
    await operator.stop(signal.SIGKILL)
    engine.acceptance = 0.9
    await operator.start()
    assert (await world.status())["guard"]["failures"] == 1
    assert (await world.status())["phase"] == "Watching"
    await _verdict(world, "Accepted")
    await _still_speculating(world)


async def test_a_restarted_engine_does_not_count(world: World, operator: OperatorProcess) -> None:
    """Counters that begin again inside a window make it inconclusive."""
    engine = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.8)
    await _watched(world, engine, guard={"window": "3s"})
    await _verdict(world, "Accepted")
    engine.restart()
    await _verdict(world, "Restarted")
    await _still_speculating(world)
    await _verdict(world, "Accepted")


async def test_metrics_that_hang_do_not_count(world: World, operator: OperatorProcess) -> None:
    """A pod that does not answer is not judged, and hanging it for long changes nothing."""
    engine = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.8)
    await _watched(world, engine)
    await _verdict(world, "Accepted")
    engine.acceptance, engine.hangs = 0.0, True
    await _verdict(world, "ScrapeFailed")
    await _still_speculating(world)
    (said,) = [each for each in (await world.status())["conditions"] if each["type"] == "GuardPassing"]
    assert "no answer within 5 s; a NetworkPolicy may block the operator" in said["message"]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{operator.metrics_port}/metrics") as response,
    ):
        page = await response.text()
    assert f'specdec_pods_without_metrics{{name="{NAME}",namespace="{world.namespace}"}} 1.0' in page


async def test_a_good_pod_and_a_broken_one_do_not_condemn_the_draft(world: World, operator: OperatorProcess) -> None:
    """Pooled, the broken pod would pull both below the threshold; the verdict names the pods instead."""
    good = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.8)
    broken = EngineStandIn(tokens_per_second=TOKENS, acceptance=0.0)
    await _watched(world, good, broken, replicas=2)
    await _verdict(world, "PodSkew")
    await _still_speculating(world)


async def test_a_deleted_inference_service_is_made_again(world: World, operator: OperatorProcess) -> None:
    """The new one has the same flags: a deletion does not count against the draft."""
    await _watched(world, EngineStandIn(tokens_per_second=TOKENS))
    before = await world.child()
    await world.api.delete(ISVC, world.namespace, NAME)

    async def made_again() -> bool:
        found = await world.api.get(ISVC, world.namespace, NAME)
        return found is not None and found["metadata"]["uid"] != before["metadata"]["uid"]

    await world.until("the InferenceService again", made_again)
    assert (await world.child())["spec"] == before["spec"]
    await _still_speculating(world)


async def test_a_changed_inference_service_is_put_back(world: World, operator: OperatorProcess) -> None:
    """Flags that another client edits on the InferenceService do not stay."""
    await _watched(world, EngineStandIn(tokens_per_second=TOKENS))
    before = await world.child()
    edit = {"spec": {"predictor": {"minReplicas": 7, "maxReplicas": 7}}}
    await world.api.merge(ISVC, world.namespace, NAME, edit)

    async def put_back() -> bool:
        return (await world.child())["spec"] == before["spec"]

    await world.until("the flags as they were", put_back)


async def test_a_deleted_deployment_does_not_count_against_the_draft(world: World, operator: OperatorProcess) -> None:
    """KServe makes another one, whose pods are not up: nothing serves, Ready shows it, speculation is not blamed."""
    await _watched(world, EngineStandIn(tokens_per_second=TOKENS))
    await world.api.delete(DEPLOYMENT, world.namespace, PREDICTOR)
    await world.condition("Ready", "False")
    await world.turned(operator)
    await _still_speculating(world)


async def test_an_unknown_field_is_refused_by_name(world: World) -> None:
    """As kubectl asks it: strictly."""
    with pytest.raises(Refused, match=r'unknown field "spec\.speculatoin"'):
        await world.api.create(SIS, world.namespace, sis(speculatoin={}), strict=True)
