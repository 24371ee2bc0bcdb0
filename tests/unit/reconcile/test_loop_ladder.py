"""The reconcile loop and the guard's steps: a pod is restarted, fewer tokens, the last good speculation, none."""

from typing import Any

from tests.unit.builders import DRAFT
from tests.unit.stage import Stage, busy, is_speculative, watching

from specdec_operator.errors import Unavailable

WINDOW, WARMUP, LIMIT = 10.0, 4.0, 3
"""The guard of tests.unit.builders."""
BOTH: dict[str, Any] = {"guard": {"response": ["ReduceTokens", "RollBack"], "regretBudget": 0.1}}


def removed(stage: Stage) -> list[str]:
    """The pods that were evicted."""
    return [name for verb, name in stage.cluster.calls if verb == "evict"]


async def test_a_pod_far_below_its_sibling_is_restarted_once_and_the_draft_stays() -> None:
    """Evicted after its status was written; the pod in its place is well, and nothing else is done."""
    stage, _ = await watching(busy(), busy(acceptance=0.0), replicas=2)
    await stage.until("WarmingUp", (LIMIT + 1) * WINDOW)
    assert removed(stage) == ["pod-2"]
    assert stage.cluster.calls[-2:] == [("status", "WarmingUp"), ("evict", "pod-2")]
    assert stage.events[-1].reason == "RestartingPod"
    assert stage.events[-1].message.startswith("pod-2: pod-2 fails: acceptance 0.00 < 0.40")
    await stage.run(WARMUP + 6 * WINDOW)
    assert removed(stage) == ["pod-2"]
    assert stage.phases == ["RollingOut", "WarmingUp", "Watching", "WarmingUp", "Watching"]
    status = stage.cluster.status["guard"]
    assert (status["restarts"], status["rollbacks"], status["verdict"]) == (1, 0, "Pass")
    assert "restarting" not in status
    assert is_speculative(stage.cluster.child)


async def test_pods_that_stay_broken_are_restarted_twice_and_then_speculation_goes() -> None:
    """A restart that does not help is not tried for ever."""
    stage, _ = await watching(busy(), busy(acceptance=0.0), replicas=2)
    stage.spares = [busy(acceptance=0.0), busy(acceptance=0.0)]
    await stage.until("Responding", 4 * (LIMIT + 1) * WINDOW)
    assert removed(stage) == ["pod-2", "pod-3"]
    assert stage.cluster.status["guard"]["rollback"]["reason"] == "PodSkew"
    assert not is_speculative(stage.cluster.child)


async def test_a_pod_that_a_budget_keeps_is_restarted_once_the_budget_allows_it() -> None:
    """Asked for again every half minute, and nothing else waits for it."""
    stage, _ = await watching(busy(), busy(acceptance=0.0), replicas=2)
    kept = "Cannot evict pod as it would violate the pod's disruption budget."
    stage.cluster.failing["evict"] = Unavailable("NotEvicted", kept)
    await stage.until("WarmingUp", (LIMIT + 1) * WINDOW)
    assert (stage.cluster.asked_to_evict, removed(stage)) == (1, [])
    results = [await stage.turn() for _ in range(5)]
    assert not any(each.failed for each in results)
    await stage.run(29.0)
    assert stage.cluster.asked_to_evict == 1
    await stage.run(2.0)
    assert stage.cluster.asked_to_evict == 2
    stage.cluster.failing.clear()
    await stage.run(31.0)
    assert removed(stage) == ["pod-2"]
    await stage.run(WARMUP + 2 * WINDOW)
    assert stage.cluster.status["phase"] == "Watching"
    assert "restarting" not in stage.cluster.status["guard"]


async def test_an_operator_that_dies_before_it_evicts_a_pod_evicts_it_after_its_restart() -> None:
    """The status names the pod; a new operator finds it there."""
    stage, _ = await watching(busy(), busy(acceptance=0.0), replicas=2)
    stage.cluster.failing["evict"] = Unavailable("ApiServerUnavailable", "the API server did not answer")
    await stage.until("WarmingUp", (LIMIT + 1) * WINDOW)
    assert stage.cluster.status["guard"]["restarting"] == ["pod-2"]
    stage.cluster.failing.clear()
    stage.restart()
    await stage.run(WARMUP + 2 * WINDOW)
    assert removed(stage) == ["pod-2"]
    assert stage.cluster.status["guard"]["restarts"] == 1
    assert [event.reason for event in stage.events].count("RestartingPod") == 1, "told once its status is written"


async def test_fewer_tokens_are_rolled_out_where_they_would_have_passed() -> None:
    """Only the first positions of the draft are accepted: K=2 of 4 passes, and is watched like any other."""
    stage, engine = await watching(busy(falls=0.2), **BOTH)
    engine.acceptance = 0.25
    await stage.until("Responding", (LIMIT + 1) * WINDOW)
    assert stage.flags()["num_speculative_tokens"] == 2
    guard = stage.cluster.status["guard"]
    assert (guard["reduced"]["tokens"], guard["reduced"]["reason"]) == (2, "AcceptanceRateLow")
    assert [(row["tokens"], row["rate"], row["passes"]) for row in guard["fewerTokens"]] == [
        (1, 0.8, True),
        (2, 0.48, True),
        (3, 0.33, False),
        (4, 0.25, False),
    ]
    assert guard["recommendation"]["tokens"] == 2
    assert (stage.events[-1].reason, stage.events[-1].warning) == ("ReducingTokens", True)
    stage.roll_out(busy(acceptance=0.48, tokens=2, falls=0.2))
    await stage.until("Watching")
    await stage.run(2 * WINDOW)
    status = stage.cluster.status
    assert (status["reason"], status["serving"]["tokens"]) == ("Accepted", 2)
    assert stage.conditions()["RolledBack"]["reason"] == "TokensReduced"
    assert status["guard"]["rollbacks"] == 0


async def worse(**sis: Any) -> Stage:
    """K=4 passed its windows; K=2 was asked for instead, and its draft is not accepted."""
    stage, _ = await watching(**sis)
    await stage.run(2 * WINDOW)
    (good,) = stage.cluster.status["guard"]["lastGood"]
    assert (good["tokens"], good["rate"]) == (4, 0.8)
    stage.sis |= {"speculation": DRAFT | {"tokens": 2}, "generation": 2}
    await stage.until("RollingOut")
    stage.roll_out(busy(acceptance=0.0, tokens=2))
    await stage.until("Watching")
    await stage.until("Responding", (LIMIT + 1) * WINDOW)
    return stage


async def test_a_worse_speculation_goes_back_to_the_last_good_one() -> None:
    """With its own flags. It is watched, and the requested speculation is kept for a retry."""
    stage = await worse()
    assert stage.flags()["num_speculative_tokens"] == 4
    assert stage.events[-1].message.startswith("to LastGood: AcceptanceRateLow")
    stage.roll_out(busy())
    await stage.until("Watching")
    await stage.run(3 * WINDOW)
    status = stage.cluster.status
    assert (status["phase"], status["reason"], status["serving"]["tokens"]) == ("Watching", "Accepted", 4)
    assert (status["guard"]["rollback"]["to"], status["guard"]["rollbacks"]) == ("LastGood", 1)
    assert stage.conditions()["RolledBack"]["status"] == "True"
