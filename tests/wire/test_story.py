"""The whole story against a real API server: serve, watch, roll back, and stay rolled back."""

import time

from tests.wire.api import ISVC
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, conditions, is_speculative, sis

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


async def test_a_draft_that_is_no_longer_accepted_is_taken_out(world: World, operator: OperatorProcess) -> None:
    """Good windows keep it; failureLimit bad ones in a row take it out, with numbers."""
    engine = EngineStandIn(tokens_per_second=TOKENS)
    await _watched(world, engine)
    assert (await world.verdict("Pass"))["acceptance"]["rate"] > 0.7
    engine.acceptance = 0.02
    status = await world.phase("Responding")
    child = await world.child(speculative=False)
    assert status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    assert "acceptance 0.02 < 0.40" in status["guard"]["rollback"]["message"]
    await world.roll_out(child, EngineStandIn(tokens_per_second=TOKENS, speculative=False))
    await world.phase("RolledBack")
    status = await world.condition("Ready", "True")
    assert {kind: each["status"] for kind, each in conditions(status).items()} == {
        "Ready": "True",
        "ArtifactsStaged": "True",
        "RolledBack": "True",
        "SpeculationActive": "False",
        "GuardPassing": "False",
    }
    assert (status["serving"]["speculating"], status["serving"]["tokens"]) == (False, 0)
    await world.event("RollingBack")
    await world.event("RolledBack")


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
