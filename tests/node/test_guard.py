"""The guard's other answers on real parts: the never-slower gate, fewer tokens, a node without room."""

from typing import Any

from tests.node.service import Service, Traffic

DRAFT = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}


FASTER: dict[str, Any] = {"acceptanceRate": {"min": 0}, "speedup": {"min": 0.9}, "baseline": "MeasureFirst"}


async def test_speculation_has_to_beat_the_plain_service_at_the_same_load(service: Service) -> None:
    """Plain is measured first; on the same prompts the draft is faster and stays."""
    await service.apply(DRAFT, **FASTER)
    await service.condition("Ready", "Serving")
    async with Traffic(service, "code"):
        await service.phase("RollingOut")
    status = await service.drafts()
    (plain, *_) = status["guard"]["baseline"]
    assert plain["load"] == 1
    assert status["performance"]["speedup"] > 1.0


async def test_fewer_tokens_are_tried_before_none(service: Service) -> None:
    """What K' would have done is read off the positions of K; the engine then does as it was foreseen."""
    answers = {"response": ["ReduceTokens", "RollBack"], "regretBudget": 0.01}
    await service.apply(DRAFT, acceptanceRate={"min": 0.1}, **answers)
    (one, *_, four) = (await service.drafts())["guard"]["fewerTokens"]
    assert one["rate"] > four["rate"]  # how much is guessed rightly hangs on the processor that the pair was trained on
    await service.apply(DRAFT, acceptanceRate={"min": (one["rate"] + four["rate"]) / 2}, **answers)
    async with Traffic(service, "code"):
        status = await service.phase("Responding")
    tokens, foreseen = status["guard"]["reduced"]["tokens"], status["guard"]["fewerTokens"]
    assert tokens < 4
    status = await service.drafts()
    (row,) = [each for each in foreseen if each["tokens"] == tokens]
    assert abs(status["acceptance"]["rate"] - row["rate"]) < 0.1
    assert status["serving"]["tokens"] == tokens
    args = (await service.child())["model"]["args"]
    assert any(f'"num_speculative_tokens":{tokens}' in each for each in args)


async def test_a_node_without_room_for_two_pods_has_one_after_the_other(service: Service) -> None:
    """The new pod is begun beside the old one; the scheduler has no room for it, and the user lets the old one go."""
    rollout = {"whenNoRoom": "Replace", "noRoomAfter": "10s", "deadline": "5m"}
    parts = {"rollout": rollout, "resources": {"requests": {"cpu": "1100m"}}}
    await service.apply(None, parts)
    await service.phase("Serving")
    await service.apply(DRAFT, parts)
    status = await service.phase("Watching", seconds=240)
    assert [each["state"] for each in status["history"][:3]] == ["Watching", "WarmingUp", "RollingOut"]
    assert (await service.child())["deploymentStrategy"]["type"] == "Recreate"
