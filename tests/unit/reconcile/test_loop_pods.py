"""The loop and pods that do not come up, that wait, or that come and go."""

import json

import pytest
from tests.unit.bodies import crashed, ended, make_pod, waiting
from tests.unit.builders import DRAFT, Body
from tests.unit.stage import Stage, baseline, watching

from specdec_operator.names import REVISION_LABEL

WORDS = json.dumps({"reason": "DraftMissing", "field": "draft", "message": "/mnt/draft/model: no such folder"})


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (ended(78, message=WORDS), "PreflightRefused: DraftMissing: /mnt/draft/model: no such folder"),
        (crashed(1, times=3), "CrashLoop: pod pod-1 ended 3 times, last with exit code 1"),
    ],
)
async def test_a_draft_that_keeps_the_pods_from_starting_is_removed(engine: Body, words: str) -> None:
    """RolloutFailed, with the message of the pods. Then the service comes up without speculation."""
    stage = Stage()
    await stage.turn()
    stage.roll_out(engine=engine)
    await stage.until("Responding")
    rollback = stage.cluster.status["guard"]["rollback"]
    assert (rollback["reason"], rollback["message"]) == ("RolloutFailed", words)
    stage.roll_out(baseline())
    await stage.until("RolledBack")


async def test_a_draft_whose_volume_never_mounts_is_removed_with_its_volume() -> None:
    """The baseline pods do not need the draft's PVC, which may be the missing one."""
    stage = Stage(speculation=DRAFT | {"draft": {"uri": "pvc://missing"}}, rollout={"deadline": "1m"})
    await stage.turn()
    stage.roll_out(unscheduled='persistentvolumeclaim "missing" not found')
    await stage.until("Responding")
    assert "PVC missing is not in this namespace" in stage.cluster.status["message"]
    volumes = stage.predictor["volumes"]
    assert [each["persistentVolumeClaim"]["claimName"] for each in volumes] == ["models"]


async def test_the_obstacle_of_a_waiting_pod_is_shown_while_it_waits() -> None:
    """Not only after the deadline of half an hour."""
    stage = Stage()
    await stage.turn()
    stage.roll_out(engine=waiting("ContainerCreating"))
    await stage.run(20)
    stage.roll_out(engine=waiting("ErrImagePull", "localhost/x:1: not found"))
    await stage.run(20)
    assert "ErrImagePull localhost/x:1: not found" in stage.cluster.status["message"]
    assert "ErrImagePull localhost/x:1: not found" in stage.conditions()["Reconciling"]["message"]
    assert stage.phases == ["RollingOut"]


async def test_a_service_that_does_not_come_up_without_speculation_stalls_and_recovers() -> None:
    """The user must act. If the pods come up after all, the decision against speculation stays."""
    stage = Stage()
    for phase in ("Responding", "Stalled"):
        await stage.turn()
        stage.roll_out(engine=ended(78, message=WORDS))
        await stage.until(phase)
    assert stage.conditions()["Stalled"]["reason"] == "PreflightRefused"
    assert stage.events[-1].warning
    stage.roll_out(baseline())
    await stage.until("RolledBack", 400)
    assert "Stalled" not in stage.conditions()


async def test_only_ready_pods_of_the_present_revision_are_read() -> None:
    """Pods that start or end have other flags."""
    stage, _ = await watching()
    revision = stage.seen["pod-1"]["metadata"]["labels"][REVISION_LABEL]
    stage.note("leaving", make_pod("leaving", revision=revision, deleting=True))
    stage.note("coming", make_pod("coming", revision=revision, ready=False))
    stage.note("old", make_pod("old", revision="r0"))
    await stage.run(10.0)
    assert set(stage.asked) == {("pod-1",)}
