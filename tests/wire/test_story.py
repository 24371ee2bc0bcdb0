"""The whole story against a real API server: serve, watch, roll back, and what brings speculation back."""

import time

from tests.wire.api import ISVC, SIS
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, is_speculative, sis

TOKENS = 400.0
"""Tokens a second of a busy engine, enough for a verdict in a window of two seconds."""


async def _watched(world: World, engine: EngineStandIn, **spec: object) -> None:
    await world.apply(sis(**spec))
    await world.roll_out(await world.child(), engine)
    await world.phase("Watching")


async def _rolled_back(world: World, engine: EngineStandIn) -> None:
    await _watched(world, engine)
    engine.acceptance = 0.0
    await world.roll_out(await world.child(speculative=False), EngineStandIn(speculative=False))
    await world.phase("RolledBack")


async def test_a_sis_becomes_an_inference_service_that_it_owns(world: World, operator: OperatorProcess) -> None:
    """The InferenceService carries plain vLLM flags, the owner's label and a controlling owner reference."""
    made = await world.apply(sis())
    child = await world.child()
    args = child["spec"]["predictor"]["model"]["args"]
    assert '--speculative-config={"method":"draft_model","model":"/mnt/draft/model","num_speculative_tokens":4}' in args
    assert child["metadata"]["labels"]["serving.specdec.io/name"] == NAME
    (owner,) = child["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (made["metadata"]["uid"], True)


async def test_a_draft_that_is_no_longer_accepted_is_taken_out(world: World, operator: OperatorProcess) -> None:
    """Good windows keep it; failureLimit bad ones in a row take it out, with numbers."""
    engine = EngineStandIn(tokens_per_second=TOKENS)
    await _watched(world, engine)

    async def passing() -> bool:
        return (await world.status())["guard"].get("verdict") == "Pass"

    await world.until("a passing window", passing)
    assert (await world.status())["acceptance"]["rate"] > 0.7
    engine.acceptance = 0.02
    status = await world.phase("Responding")
    child = await world.child(speculative=False)
    assert status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    assert "acceptance 0.02 < 0.40" in status["guard"]["rollback"]["message"]
    await world.roll_out(child, EngineStandIn(tokens_per_second=TOKENS, speculative=False))
    await world.phase("RolledBack")
    status = await world.condition("Ready", "True")
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == {
        "Ready": "True",
        "ArtifactsStaged": "True",
        "RolledBack": "True",
        "SpeculationActive": "False",
        "GuardPassing": "False",
    }
    assert (status["serving"]["speculating"], status["serving"]["tokens"]) == (False, 0)

    async def told() -> bool:
        return {"RollingBack", "RolledBack"} <= set(await world.events())

    await world.until("Events", told)


async def test_an_unchanged_sis_that_is_applied_again_stays_rolled_back(
    world: World, operator: OperatorProcess
) -> None:
    """`kubectl apply` and `kubectl replace` of the same file do not undo a decision."""
    engine = EngineStandIn(tokens_per_second=TOKENS)
    await _rolled_back(world, engine)
    await world.apply(sis())
    await world.replace(sis())
    await operator.stop()
    await operator.start()
    time_to_be_wrong = time.monotonic() + 4
    while time.monotonic() < time_to_be_wrong:
        assert (await world.status())["phase"] == "RolledBack"
        assert not is_speculative(await world.child())
        await world.api.items(ISVC, world.namespace)


async def test_a_changed_speculation_starts_again(world: World, operator: OperatorProcess) -> None:
    """Another K is another question."""
    await _rolled_back(world, EngineStandIn(tokens_per_second=TOKENS))
    draft = {"uri": "pvc://models/draft"}
    await world.apply(sis(speculation={"method": "draft_model", "tokens": 2, "draft": draft}))
    child = await world.child(speculative=True)
    assert any('"num_speculative_tokens":2' in arg for arg in child["spec"]["predictor"]["model"]["args"])
    status = await world.phase("RollingOut")
    assert "rollback" not in status["guard"]
    assert status["guard"]["rollbacks"] == 1


async def test_a_retry_annotation_asks_once(world: World, operator: OperatorProcess) -> None:
    """A new value brings speculation back; the same value again does not."""
    engine = EngineStandIn(tokens_per_second=TOKENS)
    await _rolled_back(world, engine)
    nonce = {"metadata": {"annotations": {"specdec.io/retry": "1"}}}
    await world.api.merge(SIS, world.namespace, NAME, nonce)
    child = await world.child(speculative=True)
    assert (await world.status())["guard"]["handledRetry"] == "1"
    await world.roll_out(child, EngineStandIn(tokens_per_second=TOKENS, acceptance=0.0))
    await world.phase("Responding")
    await world.api.merge(SIS, world.namespace, NAME, nonce)
    assert (await world.status())["guard"]["rollbacks"] == 2
