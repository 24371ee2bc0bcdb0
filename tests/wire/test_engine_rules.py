"""The findings of the engine's rules for a sis, as `kubectl` shows them."""

from tests.wire.api import ISVC
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, World, sis


async def test_what_the_engine_would_refuse_is_never_deployed(world: World, operator: OperatorProcess) -> None:
    """Stalled, with field, value, version and rule; no InferenceService is made."""
    await world.apply(sis(engine={"accelerator": "nvidia", "version": "0.14.0"}))
    status = await world.condition("Stalled", "True")
    (stalled,) = [each for each in status["conditions"] if each["type"] == "Stalled"]
    assert stalled["reason"] == "InvalidSpec"
    assert stalled["message"].startswith("spec.speculation.method: 'draft_model': ")
    assert "(rule DRAFT-MODEL-SINCE)" in stalled["message"]
    assert await world.api.get(ISVC, world.namespace, NAME) is None


async def test_a_warning_is_a_condition_and_one_event(world: World, operator: OperatorProcess) -> None:
    """It is deployed all the same; when the reason goes, the condition goes."""
    ngram = {"method": "ngram", "tokens": 3}
    await world.apply(sis(speculation=ngram, engine={"accelerator": "nvidia", "pipelineParallelSize": 2}))
    status = await world.condition("Warned", "True")
    (warned,) = [each for each in status["conditions"] if each["type"] == "Warned"]
    assert "spec.engine.pipelineParallelSize" in warned["message"]
    assert "(PP-RISK)" in warned["message"]
    assert await world.child()
    await world.event("Warned")
    await world.apply(sis(speculation=ngram, engine={"accelerator": "nvidia"}))

    async def gone() -> bool:
        conditions = (await world.status()).get("conditions", ())
        return "Warned" not in {each["type"] for each in conditions}

    await world.until("the condition is gone", gone)
    assert list(await world.events()).count("Warned") == 1
