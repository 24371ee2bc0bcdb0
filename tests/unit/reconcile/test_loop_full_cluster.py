"""The reconcile loop in a cluster that admits no pod, that is slow, or that kills engines."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.bodies import make_deployment, make_pod
from tests.unit.stage import Stage, baseline, busy, watching

NO_ROOM = "0/1 nodes are available: 1 Insufficient memory."
QUOTA = 'pods "new" is forbidden: exceeded quota: one, requested: pods=1, used: pods=1, limited: pods=1'
DEADLINE = 1800.0


def strategy(stage: Stage) -> str:
    """How new pods are brought up."""
    return str(stage.predictor["deploymentStrategy"]["type"])


def lets_nothing_in(stage: Stage, *, refused: str = "", unscheduled: str = "") -> None:
    """Plays the cluster for the pods that are asked for: they are refused, or made and not placed."""
    revision = stage.revision
    since = datetime.fromtimestamp(stage.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    stage.note("child", stage.cluster.child)
    mounted = [each["mountPath"] for each in stage.predictor["model"]["volumeMounts"]]
    told = make_deployment(revision, available=1, updated=0, total=1, mounted=mounted, refused=refused, since=since)
    stage.note("deployment", told)
    if unscheduled:
        stage.note("new", make_pod("new", revision=revision, unscheduled=unscheduled, since=since))


async def changed(**rollout: Any) -> Stage:
    """A service that is watched, and whose user has asked for other pods."""
    stage, _ = await watching(rollout=rollout)
    stage.sis |= {"resources": {"limits": {"cpu": "2"}}, "generation": 2}
    await stage.until("RollingOut")
    return stage


async def test_a_change_without_room_keeps_the_old_pods() -> None:
    """The status shows it, and after the deadline the service is Stalled. This does not count against the draft. The
    rollout continues once there is room.
    """
    stage = await changed()
    lets_nothing_in(stage, unscheduled=NO_ROOM)
    await stage.run(9)
    assert (stage.events[-1].reason, stage.conditions()["Reconciling"]["reason"]) == ("Unschedulable", "Unschedulable")
    await stage.until("Stalled", DEADLINE + 10)
    assert (strategy(stage), stage.cluster.status["guard"]["rollbacks"]) == ("RollingUpdate", 0)
    stage.roll_out(busy())
    await stage.until("Watching")


async def test_a_change_may_replace_the_old_pods() -> None:
    """After a minute of the scheduler's message. It is reported once, and the strategy
    stays, so that it does not flap.
    """
    stage = await changed(whenNoRoom="Replace")
    lets_nothing_in(stage, unscheduled=NO_ROOM)
    await stage.run(50)
    assert strategy(stage) == "RollingUpdate"
    await stage.run(20)
    assert strategy(stage) == "Recreate"
    assert stage.conditions()["Replacing"]["reason"] == "NoRoom"
    stage.roll_out(busy())
    await stage.until("Watching")
    await stage.run(30)
    assert strategy(stage) == "Recreate"
    assert [event.reason for event in stage.events].count("Replacing") == 1
    assert stage.cluster.status["guard"]["rollbacks"] == 0


async def failed(**sis: Any) -> Stage:
    """A service whose draft is to be removed: its baseline pods are requested."""
    stage, engine = await watching(**sis)
    engine.acceptance = 0.0
    await stage.until("Responding")
    return stage


@pytest.mark.parametrize("how", [{"refused": QUOTA}, {"unscheduled": NO_ROOM}], ids=["a quota", "a full node"])
@pytest.mark.parametrize("wanted", ["Auto", "Surge"])
async def test_a_rollback_makes_its_own_room(how: dict[str, str], wanted: str) -> None:
    """Within ten seconds, whatever the strategy, and with the cluster's message in condition and Event."""
    stage = await failed(rollout={"strategy": wanted})
    lets_nothing_in(stage, **how)
    told = len(stage.events)
    await stage.run(10)
    assert strategy(stage) == "Recreate"
    reason = "QuotaExceeded" if "refused" in how else "Unschedulable"
    assert stage.conditions()["Reconciling"]["reason"] == reason
    events = {event.reason: event.message for event in stage.events[told:]}
    assert events.keys() == {reason, "Replacing"}
    assert next(iter(how.values())) in events[reason]
    stage.roll_out(baseline())
    await stage.until("RolledBack")
