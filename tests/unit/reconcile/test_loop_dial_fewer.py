"""The loop, when fewer tokens would pass in pods with a dial: those that run draft fewer, and are judged as that."""

from typing import Any

import pytest
from tests.unit.bodies import make_pod
from tests.unit.builders import DRAFT, Body
from tests.unit.reconcile.test_loop_dial_first import WINDOW, Dialled, K, tokens
from tests.unit.stage import busy, is_speculative

from specdec_operator.errors import Unavailable
from specdec_operator.names import DIAL_ANNOTATION

LATE = 0.3
"""Acceptance of four tokens, of which the first positions are by far the best: below the 0.40 that pass."""
GUARD: dict[str, Any] = {"response": ["ReduceTokens", "RollBack"], "regretBudget": 0.1, "retry": {"limit": 0}}


class Recorded(Dialled):
    """A stage that looks, before each write to a pod, for the decision in the status."""

    def __init__(self, **sis: Any) -> None:
        super().__init__(**sis)
        self.recorded: list[bool] = []

    async def _obeyed(self, manifest: Body, name: str, text: str | None) -> None:
        self.recorded.append("reduced" in self.cluster.status["guard"])
        await super()._obeyed(manifest, name, text)


async def failing(**guard: Any) -> tuple[Recorded, Any]:
    """A watched service whose draft guesses the first tokens well and the last ones badly, from now on."""
    stage, engine = Recorded(speculation=DRAFT, guard=GUARD | guard), busy(falls=0.2)
    await stage.turn()
    stage.roll_out(engine)
    await stage.until("Watching")
    await stage.run(2 * WINDOW)
    engine.acceptance = LATE
    return stage, engine


async def reduced(**guard: Any) -> tuple[Recorded, Any]:
    """The same with the decision taken."""
    stage, engine = await failing(**guard)
    await decided(stage)
    return stage, engine


async def decided(stage: Dialled) -> None:
    """Turns until fewer tokens are decided."""
    for _ in range(400):
        await stage.run(0.5)
        if "reduced" in stage.cluster.status["guard"]:
            return
    raise AssertionError(stage.cluster.status["guard"])


async def test_the_running_pods_draft_fewer_tokens_and_no_pod_is_replaced() -> None:
    """The decision is in the status before any pod gets its setting. The windows of fewer tokens pass."""
    stage, engine = await reduced()
    before = stage.revision
    assert stage.cluster.status["guard"]["reduced"].items() >= {"tokens": 2, "dialled": True}.items()
    assert (tokens(stage), engine.drafting) == ([2], 2)
    await stage.run(3 * WINDOW)
    status = stage.cluster.status
    assert (status["phase"], status["guard"]["verdict"], status["guard"]["reason"]) == ("Watching", "Pass", "Accepted")
    assert [status["dial"][each] for each in ("tokens", "inForce", "pods")] == [2, 1, 1]
    assert [status["serving"][each] for each in ("tokens", "drafted")] == [K, 2]
    assert [each["tokens"] for each in status["guard"]["fewerTokens"]] == [1, 2]
    condition = stage.conditions()["RolledBack"]
    assert (condition["status"], condition["reason"]) == ("False", "TokensReduced")
    assert "2 tokens per step, by the dial of the running pods" in condition["message"]
    (event,) = [each for each in stage.events if each.reason == "ReducingTokens"]
    assert event.message.startswith("2 tokens per step from now on, by the dial of the running pods: AcceptanceRateLow")
    assert (stage.revision, stage.flags()["num_speculative_tokens"]) == (before, K)


async def test_fewer_tokens_are_judged_and_remembered_as_what_they_are() -> None:
    """Two of them have to reach more than five do, and it is two that are good for a later speculation."""
    stage = Dialled(speculation=DRAFT | {"tokens": 5}, guard=GUARD)
    engine = busy(falls=0.2, tokens=5)
    await stage.turn()
    stage.roll_out(engine)
    await stage.until("Watching")
    await stage.run(2 * WINDOW)
    assert stage.cluster.status["guard"]["thresholds"]["acceptanceRate"] == pytest.approx(0.33, abs=0.01)
    engine.acceptance = 0.19
    await decided(stage)
    await stage.run(3 * WINDOW)
    guard = stage.cluster.status["guard"]
    assert (guard["reduced"]["tokens"], guard["reason"], guard["lastGood"][0]["tokens"]) == (2, "Accepted", 2)
    assert '"tokens":2' in guard["lastGood"][0]["block"]
    assert guard["thresholds"]["acceptanceRate"] == 0.4


async def test_it_is_recorded_before_a_pod_is_set_and_a_restarted_operator_goes_on() -> None:
    """The setting is not written again, and the windows of fewer tokens are judged again once the pods were read."""
    stage, _ = await reduced()
    assert stage.recorded == [True]
    stage.restart()
    await stage.run(3 * WINDOW)
    assert tokens(stage) == [2]
    assert stage.cluster.status["guard"]["reason"] == "Accepted"


async def test_nothing_is_judged_until_the_pods_follow() -> None:
    """What they drafted before that is not evidence about fewer tokens: it would fail."""
    stage, engine = await failing(failureLimit=1)
    stage.lag = 1.7 * WINDOW
    await decided(stage)
    await stage.run(1.5 * WINDOW)
    status = stage.cluster.status
    assert (engine.drafting, status["guard"]["reason"], "reduced" in status["guard"]) == (None, "Dialled", True)
    assert status["guard"].get("regret", 0) == 0
    await stage.run(1.5 * WINDOW)
    status = stage.cluster.status
    assert (engine.drafting, status["guard"]["reason"]) == (2, "Accepted")
    assert status["acceptance"]["rate"] == pytest.approx(0.58, abs=0.01)


async def test_fewer_tokens_that_fail_are_followed_by_the_next_step() -> None:
    """The rollback, without a retry that is left. The pods draft nothing until they are gone."""
    stage, engine = await reduced()
    await stage.run(2 * WINDOW)
    engine.acceptance = 0.02
    await stage.until("Responding")
    assert not is_speculative(stage.cluster.child)
    assert tokens(stage) == [2, 0]
    assert "reduced" not in stage.cluster.status["guard"]


async def test_with_retries_left_the_dial_goes_to_nothing_and_back_to_fewer_tokens() -> None:
    """The probes show what fewer tokens would accept."""
    stage, engine = await reduced(retry={"limit": 2}, dial={"settle": "120s"})
    await stage.run(2 * WINDOW)
    engine.acceptance = 0.02
    await stage.until("Dialled")
    engine.acceptance = LATE
    await stage.until("Watching", seconds=120)
    assert tokens(stage)[:5] == [2, 0, 2, 0, 2]
    assert (tokens(stage)[-1], engine.drafting) == (2, 2)
    assert stage.cluster.status["guard"]["reduced"]["dialled"]


async def test_pods_that_do_not_follow_are_replaced_by_pods_with_fewer_tokens() -> None:
    """After twenty seconds, as a rollout without a dial."""
    stage, _ = await failing()
    stage.follows = False
    await decided(stage)
    took = await stage.until("Responding")
    assert 18 <= took <= 36
    kept = stage.cluster.status["guard"]["reduced"]
    assert "the dial did not help: pod pod-1" in kept["message"]
    assert (kept["tokens"], "dialled" in kept, stage.flags()["num_speculative_tokens"]) == (2, False, 2)
    assert [each.reason for each in stage.events].count("ReducingTokens") == 2
    assert tokens(stage)[-1] == 2, "those that follow draft no more meanwhile"


async def test_without_the_permission_the_rollout_comes_at_once() -> None:
    """The message names the permission."""
    stage, _ = await failing()
    stage.cluster.failing["annotate"] = Unavailable("Forbidden", "HTTP 403: pods is forbidden")
    await stage.until("Responding")
    assert "rbac.dial" in stage.cluster.status["guard"]["reduced"]["message"]
    assert stage.flags()["num_speculative_tokens"] == 2


async def test_a_pod_that_comes_later_drafts_fewer_tokens_before_it_is_ready() -> None:
    """Its first window is one of fewer tokens."""
    stage, _ = await reduced()
    stage.engines["pod-9"] = busy(falls=0.2)
    stage.note("pod-9", make_pod("pod-9", revision=stage.revision, ready=False))
    await stage.turn()
    assert (stage.cluster.settings[-1][0], tokens(stage)[-1]) == ("pod-9", 2)


async def test_a_users_own_setting_goes_before_it_and_is_not_judged() -> None:
    """The guard's returns when it is removed."""
    stage, engine = await reduced()
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "3"}}
    await stage.run(3 * WINDOW)
    assert (engine.drafting, stage.cluster.status["guard"]["reason"]) == (3, "Dialled")
    stage.sis |= {"annotations": {}}
    await stage.run(3 * WINDOW)
    assert (engine.drafting, stage.cluster.status["guard"]["reason"]) == (2, "Accepted")


async def test_a_retry_by_a_user_ends_it_without_a_rollout() -> None:
    """As many tokens as the flags define, in the same pods."""
    stage, engine = await reduced()
    before = stage.revision
    stage.sis |= {"annotations": {"specdec.io/retry": "1"}}
    await stage.turn()
    await stage.until("Watching")
    assert (engine.drafting, stage.revision, tokens(stage)[-1]) == (None, before, None)
    assert "reduced" not in stage.cluster.status["guard"]


async def test_the_guards_own_retry_ends_it_without_a_rollout() -> None:
    """After retry.after. If it fails again, fewer tokens return."""
    stage, engine = await reduced(retry={"limit": 1, "after": "60s"})
    before = stage.revision
    await stage.run(65)
    assert (engine.drafting, stage.cluster.status["guard"]["retries"]) == (None, 1)
    await decided(stage)
    assert (engine.drafting, stage.revision) == (2, before)


async def test_a_hold_keeps_it() -> None:
    """And renews it."""
    stage, engine = await reduced()
    stage.sis |= {"annotations": {"specdec.io/hold": "true"}}
    await stage.run(2000)
    assert (engine.drafting, tokens(stage)) == (2, [2, 2])


async def test_pods_of_another_spec_have_the_fewer_tokens_in_their_flags() -> None:
    """They start anyway, so they need no dial for it."""
    stage, _ = await reduced()
    stage.sis |= {"pod": {"labels": {"team": "a"}}, "generation": 2}
    await stage.until("RollingOut")
    kept = stage.cluster.status["guard"]["reduced"]
    assert (kept["tokens"], "dialled" in kept) == (2, False)
    stage.roll_out(busy(acceptance=0.6, tokens=2, falls=0.2))
    await stage.until("Watching")
    await stage.run(2 * WINDOW)
    assert stage.cluster.status["guard"]["reason"] == "Accepted"
    assert "dial" not in stage.cluster.status


async def test_without_a_dial_in_the_pods_it_is_a_rollout() -> None:
    """As before."""
    stage, _ = await failing(dial={"mode": "Off"})
    await stage.until("Responding")
    assert (stage.flags()["num_speculative_tokens"], tokens(stage)) == (2, [])
