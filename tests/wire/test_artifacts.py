"""What becomes of artifacts on a real API server, without a node."""

from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, sis


async def test_an_image_volume_that_the_api_server_drops_is_noticed(world: World, operator: OperatorProcess) -> None:
    """This API server has no feature gate ImageVolume: it takes the Deployment and leaves volume and mount out."""
    await world.apply(
        sis(model={"uri": "oci+native://registry.example/llama:1"}, speculation={"method": "ngram", "tokens": 4})
    )
    child = await world.child()
    assert child["spec"]["predictor"]["volumes"][0]["image"]["reference"] == "registry.example/llama:1"
    await world.roll_out(child, EngineStandIn(tokens_per_second=200.0))
    status = await world.condition("ArtifactsStaged", "False")
    (staged,) = [each for each in status["conditions"] if each["type"] == "ArtifactsStaged"]
    assert staged["reason"] == "Dropped"
    assert "/mnt/target/model" in staged["message"]
    assert status["kserve"]["version"] == "0.20"
