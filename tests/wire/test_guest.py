"""An InferenceService of another owner is guarded: against a real API server, with the operator's own permissions."""

import asyncio
from typing import Any

import pytest

from specdec_operator.guest.patch import bring_back, taken_out
from tests.webhook import undoing
from tests.wire.api import DEPLOYMENT, ISVC, SIS, Object, Refused
from tests.wire.guests import SPECULATES, THEIRS, guest, serve
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.test_denials import policy
from tests.wire.world import NAME, World

ARGS = ["--model=/mnt/models", "--stop=<|im_end|>&", "--chat-template=a && b"]
"""The API server escapes `<`, `>` and `&`: a patch that compared these bytes would be refused each time."""


def engine(acceptance: float = 0.8, **more: Any) -> EngineStandIn:
    """A busy engine."""
    return EngineStandIn(tokens_per_second=400.0, acceptance=acceptance, **more)


async def touched(world: World, kind: tuple[str, str], name: str) -> Object:
    """Spec and metadata of an object, and who wrote them; not its status, and not what controllers wrote."""
    found = await world.api.get(kind, world.namespace, name)
    assert found is not None
    meta = {word: found["metadata"].get(word) for word in ("generation", "labels", "annotations")}
    writers = [each for each in found["metadata"]["managedFields"] if not each.get("subresource")]
    return {"spec": found["spec"], "writers": writers} | meta


async def test_an_inference_service_is_watched_judged_and_never_written(
    world: World, operator: OperatorProcess
) -> None:
    """Ten lines guard it. The status reports a draft that fails; no field of the InferenceService changes."""
    draft = engine()
    await serve(world, draft, args=[*ARGS, SPECULATES])
    before = await touched(world, ISVC, THEIRS)
    await world.apply(guest())
    status = await world.verdict("Pass")
    assert (status["serving"]["method"], status["serving"]["tokens"]) == ("ngram", 4)
    draft.acceptance = 0.0

    async def told() -> Object | None:
        return (await world.status())["guard"].get("would")

    would = await world.until("what would have been done", told)
    assert would["action"] == "RollBack"
    assert (await world.status())["phase"] == "Watching"
    assert await touched(world, ISVC, THEIRS) == before
    await world.api.delete(SIS, world.namespace, NAME)
    assert await touched(world, ISVC, THEIRS) == before


async def test_a_deployment_is_watched_and_never_written(world: World, operator: OperatorProcess) -> None:
    """There is no InferenceService at all."""
    await serve(world, engine(), args=[*ARGS, SPECULATES], made_by=THEIRS)
    before = await touched(world, DEPLOYMENT, THEIRS)
    await world.apply(guest("deploymentRef"))
    status = await world.verdict("Pass")
    assert status["serving"]["inferenceService"] == f"deployments.apps/{THEIRS}"
    assert await touched(world, DEPLOYMENT, THEIRS) == before


async def test_a_guest_that_comes_later_and_speculates_later(world: World, operator: OperatorProcess) -> None:
    """Missing, then without speculation, then with a draft: the status shows each, and none needs a manual step."""
    await world.apply(guest())
    status = await world.condition("Stalled", "True")
    assert status["reason"] == "GuestMissing"
    await serve(world, engine(speculative=False), args=ARGS)
    status = await world.phase("Serving")
    assert status["reason"] == "NothingToGuard"
    assert "--speculative-config" in status["message"]
    await serve(world, engine(), args=[*ARGS, SPECULATES])
    await world.phase("Watching")


async def flags(world: World) -> list[str]:
    """The args of their InferenceService."""
    found = await world.api.get(ISVC, world.namespace, THEIRS)
    assert found is not None
    args: list[str] = found["spec"]["predictor"]["model"]["args"]
    return args


async def has_flags(world: World, wanted: list[str]) -> None:
    """Waits until the args are these."""

    async def there() -> bool:
        return await flags(world) == wanted

    await world.until(f"args {wanted}", there)


async def is_free(world: World) -> None:
    """Waits until the guard owns no field."""

    async def free() -> bool:
        found = await world.api.get(ISVC, world.namespace, THEIRS)
        assert found is not None
        return "specdec-guard" not in {each["manager"] for each in found["metadata"]["managedFields"]}

    await world.until("fields that the guard gave up", free)


async def take_out(world: World) -> None:
    """A draft that fails is taken out, with its owner's permission; baseline pods start."""
    draft = engine()
    await serve(world, draft, args=[*ARGS, SPECULATES], leave=True)
    await world.apply(guest(guard={"mode": "Enforce"}))
    await world.verdict("Pass")
    draft.acceptance = 0.0
    await has_flags(world, ARGS)
    await serve(world, engine(speculative=False), args=ARGS, leave=True)
    await world.phase("RolledBack")


async def test_with_its_owners_leave_the_flag_is_taken_out_and_comes_back_with_retry(
    world: World, operator: OperatorProcess
) -> None:
    """The writer has its own name, and writes one field: the other fields that the owner applies stay the owner's."""
    await take_out(world)
    found = await world.api.get(ISVC, world.namespace, THEIRS)
    assert found is not None
    assert "specdec-guard" in {each["manager"] for each in found["metadata"]["managedFields"]}
    assert found["spec"]["predictor"]["model"]["storageUri"] == "pvc://models/target"
    await world.event("TakenOut")
    again = {"metadata": {"annotations": {"specdec.io/retry": "1"}}}
    await world.api.merge(SIS, world.namespace, NAME, again)
    await has_flags(world, [*ARGS, SPECULATES])
    await is_free(world)
    await serve(world, engine(), args=[*ARGS, "--seed=1", SPECULATES], leave=True)
    await world.phase("Watching")
    found = await world.api.get(ISVC, world.namespace, THEIRS)
    assert found is not None
    assert "specdec.io/taken-out" not in found["metadata"]["annotations"]


async def test_the_owners_server_side_apply_is_refused_while_the_flag_is_out_and_free_afterwards(
    world: World, operator: OperatorProcess
) -> None:
    """kubectl names the guard in the conflict. Once the flag is back, the owner changes it as before; that of a deleted
    service too.
    """
    await take_out(world)
    with pytest.raises(Refused, match='conflict with "specdec-guard"'):
        await serve(world, args=[*ARGS, SPECULATES], leave=True)
    await world.api.delete(SIS, world.namespace, NAME)
    await has_flags(world, [*ARGS, SPECULATES])
    await is_free(world)
    await serve(world, engine(), args=[*ARGS, "--seed=1", SPECULATES], leave=True)
    assert await flags(world) == [*ARGS, "--seed=1", SPECULATES]


@pytest.mark.parametrize("down", [False, True])
async def test_what_was_taken_out_comes_back_when_its_guard_is_deleted(
    world: World, operator: OperatorProcess, down: bool
) -> None:
    """At once; or, where the operator was down then, at its start."""
    await take_out(world)
    if down:
        await operator.stop()
    await world.api.delete(SIS, world.namespace, NAME)
    if down:
        assert await flags(world) == ARGS
        await operator.start()
    await has_flags(world, [*ARGS, SPECULATES])


async def test_what_an_operator_left_half_done_is_finished_at_the_next_start(
    world: World, operator: OperatorProcess
) -> None:
    """It restored the flag of a deleted service and ended. Nothing but the owner of the fields shows it."""
    await take_out(world)
    await operator.stop()
    await world.api.delete(SIS, world.namespace, NAME)
    live = await world.api.get(ISVC, world.namespace, THEIRS)
    assert live is not None
    taken = taken_out(live)
    assert taken is not None
    path, kind = world.api.path(ISVC, world.namespace, THEIRS), "application/json-patch+json"
    await world.api.call("patch", path, bring_back(live, taken), content_type=kind, field_manager="specdec-guard")
    with pytest.raises(Refused, match='conflict with "specdec-guard"'):
        await serve(world, args=[*ARGS, "--seed=1", SPECULATES], leave=True)
    await operator.start()
    await is_free(world)
    await serve(world, engine(), args=[*ARGS, "--seed=1", SPECULATES], leave=True)


async def failing(world: World) -> None:
    """A draft whose owner lets the guard act, and that fails from now on."""
    draft = engine()
    await serve(world, draft, args=[*ARGS, SPECULATES], leave=True)
    await world.apply(guest(guard={"mode": "Enforce"}))
    await world.verdict("Pass")
    draft.acceptance = 0.0


async def nothing_is_done(world: World, reason: str, words: str) -> None:
    """The status reports the failure and no rollback, and the InferenceService is as its owner wrote it."""
    said = await world.told("Enforcing", reason, words)
    assert said["status"] == "False"
    status = await world.status()
    told = {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}
    assert (status["phase"], status["guard"]["rollbacks"]) == ("Responding", 0)
    assert (told["RolledBack"], told["SpeculationActive"]) == (("False", "Responding"), ("True", "Drafting"))
    found = await world.api.get(ISVC, world.namespace, THEIRS)
    assert found is not None
    assert found["spec"]["predictor"]["model"]["args"] == [*ARGS, SPECULATES]
    assert "specdec.io/taken-out" not in found["metadata"]["annotations"]
    await world.event(reason)


async def test_a_policy_that_refuses_the_change_leaves_the_status_true(world: World, operator: OperatorProcess) -> None:
    """Its message is in the condition. The first tries are five seconds apart, the next ones five minutes."""
    args = "object.spec.predictor.model.args"
    async with policy(world, "UPDATE", f"{args} == {args.replace('object', 'oldObject', 1)}") as words:
        await failing(world)
        await nothing_is_done(world, "WriteRefused", words)
        await world.told("Enforcing", "WriteRefused", "failed 2 times")
        before = await operator.metric("specdec_api_errors_total")
        await asyncio.sleep(12)
        assert await operator.metric("specdec_api_errors_total") == before


async def test_a_webhook_that_undoes_the_change_leaves_the_status_true(world: World, operator: OperatorProcess) -> None:
    """Without it, the next try removes the flag, and the rollback counts once its pods serve."""
    args = "/spec/predictor/model/args"
    async with undoing(world.api, world.namespace, ISVC[0].partition("/")[0], ISVC[1], args, [*ARGS, SPECULATES]):
        await failing(world)
        await nothing_is_done(world, "WriteChanged", "an admission webhook")
    await operator.stop()
    await operator.start()
    await has_flags(world, ARGS)
    assert (await world.status())["guard"]["rollbacks"] == 0
    await serve(world, engine(speculative=False), args=ARGS, leave=True)
    status = await world.phase("RolledBack")
    assert status["guard"]["rollbacks"] == 1
