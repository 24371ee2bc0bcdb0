"""Who counts the pods, against a real API server: the scale subresource, and scalers that nothing here fights."""

from typing import Any

import pytest

from tests.wire.api import DEPLOYMENT, SIS, Object, Refused
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, PREDICTOR, World, sis

TOKENS = 400.0
HPA: Object = {"autoscaling": {"maxReplicas": 5}}
EXTERNAL: Object = {"autoscaling": {"autoscalerClass": "external"}}


def good() -> EngineStandIn:
    """Its draft is accepted."""
    return EngineStandIn(tokens_per_second=TOKENS)


async def scaled(world: World, number: int) -> Object:
    """What `kubectl scale sis` sends, and an HPA of the service."""
    return await world.api.merge(SIS, world.namespace, NAME, {"spec": {"replicas": number}}, "scale")


async def asked(world: World) -> tuple[Any, Any]:
    """The numbers in the InferenceService."""
    found = await world.child()
    return found["spec"]["predictor"].get("minReplicas"), found["spec"]["predictor"].get("maxReplicas")


async def test_kubectl_scale_sets_the_number_of_pods(world: World, operator: OperatorProcess) -> None:
    """By the scale subresource, which shows the number of pods and their selector; no pod is replaced by it."""
    await world.apply(sis())
    before = await world.child()
    await world.roll_out(before, good())
    await world.phase("Watching")
    scale = await world.api.call("get", world.api.path(SIS, world.namespace, NAME) + "/scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (1, 1)
    assert scale["status"]["selector"].startswith(f"serving.specdec.io/name={NAME},!")
    await scaled(world, 3)
    await world.replicas(3)
    after = await world.child()
    assert await asked(world) == (3, 3)
    assert before["spec"]["predictor"]["labels"] == after["spec"]["predictor"]["labels"]


async def test_kubectl_scale_is_refused_where_an_autoscaler_counts(world: World) -> None:
    """The error explains it: two components that set the number would undo each other's number."""
    await world.apply(sis(**HPA))
    with pytest.raises(Refused, match="autoscaling sets the number of pods"):
        await scaled(world, 3)


@fault(
    part=Part.CLUSTER,
    when="an autoscaler has scaled to three pods before a rollback",
    then="there are still three",
)
async def test_the_number_of_an_external_scaler_is_kept(world: World, operator: OperatorProcess) -> None:
    """This holds on a rollback and later: the InferenceService lacks the fields by which KServe sets the number."""
    await world.apply(sis(**EXTERNAL))
    await world.roll_out(await world.child(), good())
    await world.phase("Watching")
    assert await asked(world) == (None, None)
    await world.api.merge(DEPLOYMENT, world.namespace, PREDICTOR, {"spec": {"replicas": 3}})
    bad = [EngineStandIn(tokens_per_second=TOKENS, acceptance=0.02) for _ in range(3)]
    await world.roll_out(await world.child(), *bad)
    await world.phase("Responding")
    assert await asked(world) == (None, None)
    live = await world.api.get(DEPLOYMENT, world.namespace, PREDICTOR)
    assert live is not None
    assert live["spec"]["replicas"] == 3
    child = await world.child(speculative=False)
    assert child["metadata"]["annotations"]["serving.kserve.io/autoscalerClass"] == "external"
    await world.roll_out(child, *(EngineStandIn(tokens_per_second=TOKENS, speculative=False) for _ in range(3)))
    status = await world.phase("RolledBack")
    assert (status["replicas"], status["readyReplicas"]) == (3, 3)
