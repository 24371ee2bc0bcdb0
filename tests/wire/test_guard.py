"""The guard's actions other than taking a bad draft out: against a real API server, with engines that count."""

import asyncio
import time

from tests.wire.api import SIS, Object
from tests.wire.command import Command
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, is_speculative, sis

TOKENS = 400.0
"""Tokens a second of a busy engine, enough for a verdict in a window of two seconds."""
DRAFT: Object = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}


def engine(acceptance: float = 0.8, *, time_per_token: float = 0.02, speculative: bool = True) -> EngineStandIn:
    """A busy engine."""
    return EngineStandIn(
        tokens_per_second=TOKENS, acceptance=acceptance, token_time=time_per_token, speculative=speculative
    )


async def verdict(world: World, wanted: str, reason: str | None = None) -> Object:
    """Waits for a verdict; returns the status."""

    async def there() -> Object | None:
        status = await world.status()
        guard = status.get("guard", {})
        return status if guard.get("verdict") == wanted and guard.get("reason") == (reason or guard["reason"]) else None

    found: Object = await world.until(f"verdict {wanted} {reason or ''}", there)
    return found


async def annotate(world: World, **annotations: str | None) -> None:
    """What `kubectl annotate sis` does."""
    named = {f"specdec.io/{name}": value for name, value in annotations.items()}
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": named}})


async def plain(world: World, *engines: EngineStandIn) -> None:
    """The service comes up without speculation."""
    child = await world.child(speculative=False)
    await world.roll_out(child, *(engines or (engine(speculative=False),)))


async def test_the_baseline_is_measured_first_and_speculation_has_to_beat_it(
    world: World, operator: OperatorProcess
) -> None:
    """A draft that is accepted and slows the service is taken out, with both times; the baseline stays known."""
    await world.apply(sis(guard={"speedup": {"min": 1.0}, "baseline": "MeasureFirst"}))
    await plain(world, engine(speculative=False, time_per_token=0.02))
    await world.phase("MeasuringBaseline")
    child = await world.child(speculative=True)
    (known,) = (await world.status())["guard"]["baseline"]
    assert (known["load"], round(known["timePerOutputTokenMs"])) == (1, 20)
    busy = engine(time_per_token=0.01)
    await world.roll_out(child, busy)
    status = await verdict(world, "Pass")
    assert status["performance"]["speedup"] == 2.0
    busy.token_time = 0.03
    status = await world.phase("Responding")
    rollback = status["guard"]["rollback"]
    assert rollback["reason"] == "SlowerThanPlain"
    assert "baseline 20.0 ms" in rollback["message"]
    await plain(world)
    await world.phase("RolledBack")


async def test_a_pod_far_below_its_sibling_is_restarted_and_speculation_stays(
    world: World, operator: OperatorProcess
) -> None:
    """The one that fails is evicted, once; the other one and the InferenceService are left alone."""
    await world.apply(sis(replicas=2))
    good, _ = await world.roll_out(await world.child(speculative=True), engine(), engine(0.0))
    await world.allow_evictions(1)

    async def one_left() -> bool:
        return await world.pods() == [good]

    await world.until("the bad pod evicted", one_left)
    status = await world.status()
    assert (status["guard"]["restarts"], status["guard"].get("rollback")) == (1, None)
    await world.event("RestartingPod")
    assert is_speculative(await world.child())


async def test_a_held_service_is_measured_and_left_alone(world: World, operator: OperatorProcess) -> None:
    """The guard shows what it would do; released, it does it."""
    await world.apply(sis())
    await world.roll_out(await world.child(speculative=True), engine(0.0))
    await annotate(world, hold="on call")
    await world.condition("Held", "True")

    async def would() -> Object | None:
        return (await world.status())["guard"].get("would")

    said = await world.until("what it would do", would)
    assert (said["action"], said["reason"]) == ("RollBack", "AcceptanceRateLow")
    assert is_speculative(await world.child())
    await annotate(world, hold=None)
    await world.child(speculative=False)


async def test_a_user_rolls_back_and_tries_again_by_annotations(world: World, operator: OperatorProcess) -> None:
    """Each value acts once, however good the windows are; a rollback that was asked for is not retried by itself."""
    await world.apply(sis(guard={"retry": {"after": "1s", "limit": 5}}))
    await world.roll_out(await world.child(speculative=True), engine())
    await verdict(world, "Pass")
    await annotate(world, rollback="1")
    status = await world.phase("Responding")
    assert status["guard"]["rollback"]["reason"] == "Requested"
    await plain(world)
    status = await world.phase("RolledBack")
    assert (status["guard"]["handledRollback"], "nextRetry" in status["guard"]) == ("1", False)
    await asyncio.sleep(1.5)  # `retry.after`, by the clock: no object shows that it is over
    await world.turned(operator)
    assert (await world.status())["phase"] == "RolledBack"
    await annotate(world, retry="1")
    await world.roll_out(await world.child(speculative=True), engine())
    await world.phase("Watching")


async def test_speculation_is_tried_again_by_itself_and_not_more_often_than_allowed(
    world: World, operator: OperatorProcess
) -> None:
    """After `retry.after`; when the tries are used up, the user is asked."""
    await world.apply(sis(guard={"retry": {"after": "2s", "limit": 1}}))
    await world.roll_out(await world.child(speculative=True), engine(0.0))
    await plain(world)
    await world.roll_out(await world.child(speculative=True), engine(0.0))
    await plain(world)
    status = await world.phase("RolledBack")
    assert (status["guard"]["retries"], status["guard"]["rollbacks"]) == (1, 2)
    assert "nextRetry" not in status["guard"]
    await asyncio.sleep(4.5)  # twice `retry.after`, by the clock: no object shows that it is over
    await world.turned(operator)
    assert (await world.status())["phase"] == "RolledBack"


async def test_a_worse_speculation_goes_back_to_the_last_good_one(world: World, operator: OperatorProcess) -> None:
    """K=2 passed; K=4 does not: K=2 is served again, and watched; when that fails too, none."""
    good = DRAFT | {"tokens": 2}
    await world.apply(sis(speculation=good))
    await world.roll_out(await world.child(speculative=True), EngineStandIn(tokens_per_second=TOKENS, tokens=2))
    await verdict(world, "Pass")
    await world.apply(sis())
    await world.phase("RollingOut")
    await world.roll_out(await _child_with(world, 4), engine(0.0))
    status = await world.phase("Responding")
    assert (status["guard"]["rollback"]["to"], status["serving"]["tokens"]) == ("LastGood", 2)
    again = EngineStandIn(tokens_per_second=TOKENS, tokens=2)
    await world.roll_out(await _child_with(world, 2), again)
    status = await world.phase("Watching")
    conditions = {each["type"]: each for each in status["conditions"]}
    assert conditions["RolledBack"]["status"] == "True"
    assert "draft_model with 2 tokens" in conditions["RolledBack"]["message"]
    again.acceptance = 0.0
    await plain(world)
    status = await world.phase("RolledBack")
    assert (status["guard"]["rollback"]["to"], status["serving"]["tokens"]) == ("Baseline", 0)


async def test_pods_without_room_make_the_old_ones_go_first(world: World, operator: OperatorProcess) -> None:
    """The user allows that if the scheduler finds no room for some seconds; the status shows it."""
    rollout = {"whenNoRoom": "Replace", "noRoomAfter": "5s"}
    await world.apply(sis(rollout=rollout))
    child = await world.child(speculative=True)
    surge = {"maxSurge": "25%", "maxUnavailable": 0}
    assert child["spec"]["predictor"]["deploymentStrategy"]["rollingUpdate"] == surge
    await world.roll_out(child, engine())
    await world.phase("Watching")
    await world.apply(sis(rollout=rollout, speculation=DRAFT | {"tokens": 2}))
    await world.surge_in_vain(await _child_with(world, 2), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    status = await world.condition("Replacing", "True")

    async def replaced() -> bool:
        child = await world.child()
        return bool(child["spec"]["predictor"]["deploymentStrategy"]["type"] == "Recreate")

    await world.until("an InferenceService that replaces", replaced)
    assert status["phase"] == "RollingOut"
    await world.event("Replacing")


async def test_a_spec_that_cannot_run_leaves_the_guard_of_the_running_pods_on(
    world: World, operator: OperatorProcess
) -> None:
    """The status shows the mistake, and a draft that is no longer accepted is taken out all the same."""
    await world.apply(sis())
    busy = engine()
    await world.roll_out(await world.child(speculative=True), busy)
    await verdict(world, "Pass")
    await world.apply(sis(engine={"accelerator": "cpu", "args": ["--speculative_config={}"]}))
    await world.condition("Stalled", "True")
    busy.acceptance = 0.0
    begun = time.monotonic()
    child = await world.child(speculative=False)
    assert time.monotonic() - begun < 20
    assert child["metadata"]["generation"] > 1
    status = await world.status()
    assert status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    assert "the operator renders this flag" in status["message"]


async def _child_with(world: World, tokens: int) -> Object:
    async def there() -> Object | None:
        found = await world.child()
        args = found["spec"]["predictor"]["model"]["args"]
        return found if any(f'"num_speculative_tokens":{tokens}' in each for each in args) else None

    found: Object = await world.until(f"an InferenceService with K={tokens}", there)
    return found


async def test_the_command_and_the_operator_understand_each_other(
    world: World, operator: OperatorProcess, specdec: Command
) -> None:
    """`specdec rollback --wait` ends when it is done, `retry` brings it back, `status` shows it."""
    await world.apply(sis())
    await world.roll_out(await world.child(speculative=True), engine())
    await verdict(world, "Pass")
    said = await specdec("status", NAME)
    assert (said.code, "Watching" in said.out, "0.80" in said.out) == (0, True, True)
    rolling = asyncio.ensure_future(specdec("rollback", NAME, "--wait", "--reason", "on call"))
    await plain(world)
    assert (await rolling).code == 0
    said = await specdec("status", NAME)
    assert "on call" in said.out
    assert (await specdec("hold", NAME)).code == 0
    await world.condition("Held", "True")
    assert (await specdec("release", NAME)).code == 0
    retrying = asyncio.ensure_future(specdec("retry", NAME, "--wait"))
    await world.roll_out(await world.child(speculative=True), engine())
    assert (await retrying).code == 0
    assert (await world.status())["phase"] == "Watching"
