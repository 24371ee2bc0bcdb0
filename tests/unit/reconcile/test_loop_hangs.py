"""Engines that hang, as users see them in status, Events and `rollbacks`: hostile stories in virtual time."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.unit.bodies import ended, make_deployment, make_pod, running
from tests.unit.builders import Body
from tests.unit.stage import Stage, is_speculative, watching
from tests.wire.pods import EngineStandIn

from specdec_operator.api.times import to_time

WINDOW, WARMUP, FOUND = 10.0, 4.0, 30.0
"""The guard of tests.unit.builders; the shortest hang."""
RETRY: dict[str, Any] = {"guard": {"retry": {"after": "6h", "limit": 3}}}
DAYS: dict[str, Any] = {"guard": {"interval": "15s", "window": "2m", "retry": {"after": "6h", "limit": 3}}}
"""Intervals as by default, for stories of hours."""


@dataclass
class HangingEngine(EngineStandIn):
    """An engine that can hang: its requests stay, and nothing is generated. /metrics answers all the time."""

    stuck: bool = False

    def spend(self, seconds: float) -> None:
        """Lets time pass."""
        if not self.stuck:
            super().spend(seconds)


def engine(*, stuck: bool = False, **changes: Any) -> HangingEngine:
    """A busy engine."""
    return HangingEngine(**({"tokens_per_second": 400.0, "stuck": stuck} | changes))


def plain(*, stuck: bool = False) -> HangingEngine:
    """One without speculation."""
    return engine(stuck=stuck, speculative=False)


def evicted(stage: Stage) -> list[str]:
    return [name for verb, name in stage.cluster.calls if verb == "evict"]


def told(stage: Stage, reason: str) -> list[str]:
    """The messages of all Events of a reason."""
    return [each.message for each in stage.events if each.reason == reason]


def guard(stage: Stage) -> Body:
    found: Body = stage.cluster.status["guard"]
    return found


def shows_no_rollback(stage: Stage) -> None:
    """In status, Events and the count."""
    assert (guard(stage)["rollbacks"], guard(stage).get("rollback")) == (0, None)
    assert stage.conditions()["RolledBack"]["status"] == "False"
    assert not {"RollingBack", "RolledBack"} & {each.reason for each in stage.events}


async def test_a_hang_of_fifty_seconds_each_hour_ends_the_pod_and_not_the_draft() -> None:
    """The pod is evicted each time, one Event each; nothing is held against the draft while loads are short."""
    stage, first = await watching(engine(), **DAYS)
    now = first
    for number in range(4):
        following = engine()
        stage.spares = [following]
        now.stuck = True
        await stage.run(60)
        assert len(evicted(stage)) == number + 1
        assert isinstance(now, HangingEngine)
        now = following
        await stage.run(3660)
    assert len(told(stage, "PodFailed")) == len(told(stage, "RestartingPod")) == 4
    assert all("run and 0 wait, but no token was generated" in each for each in told(stage, "PodFailed"))
    shows_no_rollback(stage)
    assert stage.cluster.status["phase"] == "Watching"


async def test_every_engine_hangs_with_and_without_speculation() -> None:
    """A bad driver: speculation goes after the third hang, the baseline hangs too, and speculation returns."""
    stage, first = await watching(engine(), **RETRY)
    stage.spares = [engine(stuck=True), engine(stuck=True), engine(stuck=True)]
    assert isinstance(first, HangingEngine)
    first.stuck = True
    await stage.until("Responding", 400)
    assert guard(stage)["rollback"]["reason"] == "Stalled"
    assert (guard(stage)["rollbacks"], told(stage, "RolledBack")) == (0, []), "its pods do not serve yet"
    stage.roll_out(plain(stuck=True))
    stage.spares = [plain(stuck=True) for _ in range(4)]
    await stage.until("RolledBack")
    assert guard(stage)["rollbacks"] == 1
    assert stage.conditions()["RolledBack"]["reason"] == "Stalled"
    await stage.until("RollingOut", 600)
    assert is_speculative(stage.cluster.child)
    (words,) = told(stage, "DraftAcquitted")
    assert words.startswith("speculation returns: baseline pods fail too: 3 failures of 3 pods within an hour")
    assert guard(stage)["baselineFails"]["reason"] == "Stalled"
    stage.spares = [engine(stuck=True) for _ in range(9)]
    stage.roll_out(engine(stuck=True))
    before = len(evicted(stage))
    await stage.until("Watching")
    await stage.run(400)
    assert len(evicted(stage)) > before + 3, "an engine that hangs is restarted all the same"
    assert (guard(stage)["rollbacks"], guard(stage)["retries"]) == (1, 1)
    assert stage.conditions()["RolledBack"]["status"] == "False"


async def test_a_gauge_that_stays_at_one_after_an_abort_ends_the_pod_once() -> None:
    """vLLM counted a request that is gone: by its page it hangs. One restart, and no more."""
    stage, first = await watching(engine(speculative=True))
    assert isinstance(first, HangingEngine)
    first.stuck = True
    await stage.run(FOUND + 4 * WINDOW)
    assert len(evicted(stage)) == 1
    shows_no_rollback(stage)


async def test_an_idle_engine_does_not_hang() -> None:
    """No request, no token, for an hour."""
    stage, first = await watching(engine(), **DAYS)
    first.tokens_per_second = 0.0
    await stage.run(3600)
    assert (evicted(stage), told(stage, "PodFailed")) == ([], [])
    assert guard(stage)["reason"] == "NoTraffic"


async def test_a_pod_that_its_node_restarts_is_not_a_failure() -> None:
    """Exit code 143, and the same pod again."""
    stage, _ = await watching(engine())
    body = make_pod("pod-1", revision=stage.revision, engine=running(1, {"exitCode": 143}))
    stage.note("pod-1", body)
    await stage.run(10 * WINDOW)
    assert ("podFailures" in guard(stage), "outages" in guard(stage)) == (False, False)
    shows_no_rollback(stage)


async def test_counters_that_begin_again_in_a_hang_begin_its_time_again() -> None:
    """The engine restarted: what it does now is another hang, or none."""
    stage, first = await watching(engine())
    assert isinstance(first, HangingEngine)
    first.stuck = True
    await stage.run(FOUND - 8)
    first.restart()
    first.started += 1
    await stage.run(FOUND - 8)
    assert evicted(stage) == []
    first.stuck = False
    await stage.run(3 * WINDOW)
    assert evicted(stage) == []
    shows_no_rollback(stage)


async def test_an_autoscaler_that_takes_the_hanging_pod_away_leaves_nothing_to_do() -> None:
    """Zero pods: no eviction, no failure, nothing shows that it hangs on."""
    stage, first = await watching(engine(), autoscaling={"minReplicas": 0, "maxReplicas": 2, "autoscaler": "keda"})
    assert isinstance(first, HangingEngine)
    first.stuck = True
    await stage.run(FOUND - 8)
    stage.note("deployment", make_deployment(stage.revision, replicas=0, available=0))
    stage._forget("pod-1")
    await stage.run(12 * WINDOW)
    assert evicted(stage) == []
    assert guard(stage)["reason"] == "NoTraffic"
    shows_no_rollback(stage)


@pytest.mark.parametrize("how", ["Observe", "hold"])
async def test_a_guard_that_may_not_act_reports_the_hang_and_evicts_nothing(how: str) -> None:
    """The status has what it would do. It acts once it may."""
    limits: dict[str, Any] = {"guard": {"mode": "Observe"}} if how == "Observe" else {}
    held = {"annotations": {"specdec.io/hold": "now"}} if how == "hold" else {}
    stage, first = await watching(engine(), **limits, **held)
    assert isinstance(first, HangingEngine)
    first.stuck = True
    await stage.run(60 * WINDOW)
    assert evicted(stage) == []
    assert told(stage, "PodFailed")
    assert guard(stage)["would"]["reason"] == "Stalled"
    assert stage.conditions()["GuardPassing"]["reason"] == "Stalled"
    shows_no_rollback(stage)
    if how == "hold":
        stage.sis = {}
        stage.wake()
        await stage.run(4 * WINDOW)
        assert len(evicted(stage)) == 1


async def test_a_hang_while_another_speculation_rolls_out_does_not_stop_it() -> None:
    """The old pods are not watched any more; the new ones are."""
    stage, first = await watching(engine())
    assert isinstance(first, HangingEngine)
    first.stuck = True
    await stage.run(FOUND - 12)
    stage.sis = {"speculation": {"method": "ngram", "tokens": 2}, "generation": 2}
    stage.wake()
    await stage.turn()
    await stage.run(4 * WINDOW)
    assert (stage.cluster.status["phase"], evicted(stage)) == ("RollingOut", [])
    stage.roll_out(engine(tokens=2))
    await stage.until("Watching")
    await stage.run(3 * WINDOW)
    assert evicted(stage) == []
    shows_no_rollback(stage)


async def test_one_engine_of_the_baseline_hangs_after_a_rollback() -> None:
    """It is restarted, the rollback and its reason stay, and nothing is counted twice."""
    stage, first = await watching(engine(), **RETRY)
    first.acceptance = 0.0
    await stage.until("Responding")
    baseline = plain()
    stage.roll_out(baseline)
    await stage.until("RolledBack")
    stage.spares = [plain()]
    baseline.stuck = True
    await stage.run(WARMUP + FOUND + 2 * WINDOW)
    assert evicted(stage) == ["pod-2"]
    await stage.run(10 * WINDOW)
    assert (guard(stage)["rollbacks"], guard(stage)["restarts"], guard(stage)["rollback"]["reason"]) == (
        1,
        1,
        "AcceptanceRateLow",
    )
    assert stage.cluster.status["phase"] == "RolledBack"
    assert [each["reason"] for each in guard(stage)["podFailures"]] == ["Stalled"]
    assert len(told(stage, "RestartingPod")) == 1
    assert "baselineFails" not in guard(stage)


async def test_slow_crashes_end_speculation_within_a_day_and_the_reason_has_the_sum() -> None:
    """Every fifty minutes, with a load of ten: an outage each in the status, and the sum in the reason."""
    stage, _ = await watching(engine(), **DAYS)
    for number in range(1, 4):
        await stage.run(40 * 60)
        down = {"since": to_time(stage.now), "revision": stage.revision}
        stage.note("deployment", make_deployment(stage.revision, available=0))
        stage.note("pod-1", make_pod("pod-1", ready=False, engine=ended(1, restarts=number - 1), **down))
        await stage.run(600)
        if stage.cluster.status["phase"] != "Watching":
            break
        up = {"since": to_time(stage.now), "revision": stage.revision}
        stage.note("deployment", make_deployment(stage.revision))
        stage.note("pod-1", make_pod("pod-1", engine=running(number, {"exitCode": 1}), **up))
        await stage.run(60)
    assert stage.cluster.status["phase"] == "Responding"
    rollback = guard(stage)["rollback"]
    assert rollback["reason"] == "EngineCrashed"
    assert rollback["message"].startswith("3 failures within a day, the last in pod pod-1 (EngineCrashed), made a pod")
    assert [each["reason"] for each in guard(stage)["outages"]] == ["EngineCrashed"] * 3
    assert guard(stage)["rollbacks"] == 0
    assert len(told(stage, "PodFailed")) == 3
