"""The guard's other answers on real parts: the never-slower gate, fewer tokens, a node without room."""

from typing import Any

import pytest

from tests.node.service import Crowd, Service, Traffic
from tests.wire.api import Object

DRAFT = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}


FASTER: dict[str, Any] = {"acceptanceRate": {"min": 0}, "speedup": {"min": 0.9}, "baseline": "MeasureFirst"}


@pytest.mark.alone
async def test_speculation_has_to_beat_the_baseline_at_the_same_load(service: Service) -> None:
    """Plain is measured first; on the same prompts the draft is faster and stays."""
    await service.apply(DRAFT, **FASTER)
    await service.condition("Ready", "Serving")
    async with Traffic(service, "code"):
        await service.phase("RollingOut")
    status = await service.drafts()
    (baseline, *_) = status["guard"]["baseline"]
    assert baseline["load"] == 1
    assert status["performance"]["speedup"] > 1.0


async def test_fewer_tokens_are_tried_before_none(service: Service) -> None:
    """What K' would have done is read off the positions of K; the engine then does as it was foreseen, or better.

    Better: with fewer tokens there are more steps, and the additional ones probably lie in runs that the draft guesses.
    """
    # the beginnings of answers: the first position is guessed rightly far more often than the fourth; the minimum lies
    # in the middle, and windows are long: neither comes near it by chance
    answers = {"response": ["ReduceTokens", "RollBack"], "regretBudget": 0.01, "window": "60s"}
    answers |= {"dial": {"mode": "Off"}}  # tests/node/test_dialled_pods.py has the same in the running pod
    await service.apply(DRAFT, acceptanceRate={"min": 0.01}, **answers)
    await service.phase("Watching")
    async with Crowd(service, "code", 2, max_tokens=12):
        foreseen = await foreseen_rates(service)
        one, four = foreseen[0]["rate"], foreseen[3]["rate"]
        assert one > four
        await service.apply(DRAFT, acceptanceRate={"min": (one + four) / 2}, **answers)
        status = await service.phase("Responding", seconds=300)
        assert "reduced" in status["guard"], (one, four, status["guard"]["fewerTokens"], status["guard"]["rollback"])
        tokens, foreseen = status["guard"]["reduced"]["tokens"], status["guard"]["fewerTokens"]
        assert tokens < 4
    await service.phase("Watching")
    async with Crowd(service, "code", 2, max_tokens=12):  # the pods were replaced, and no pod answered meanwhile
        status = await service.until("a window with fewer tokens", lambda: _measured(service, tokens), 300)
    (row,) = [each for each in foreseen if each["tokens"] == tokens]
    assert -0.1 < status["acceptance"]["rate"] - row["rate"] < 0.2, (status["acceptance"], row)
    args = (await service.child())["model"]["args"]
    assert any(f'"num_speculative_tokens":{tokens}' in each for each in args)


async def foreseen_rates(service: Service) -> list[Object]:
    """What fewer tokens would do, by a window that has passed."""

    async def rows() -> list[Object] | None:
        guard = (await service.status()).get("guard", {})
        found: list[Object] = guard.get("fewerTokens", [])
        return found if guard.get("verdict") == "Pass" else None

    found: list[Object] = await service.until("what fewer tokens would do", rows, 300)
    return found


async def _measured(service: Service, tokens: int) -> Object | None:
    status = await service.status()
    rate = len(status.get("acceptance", {}).get("perPosition", []))
    return status if rate == status["serving"]["tokens"] == tokens else None


@pytest.mark.alone
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
