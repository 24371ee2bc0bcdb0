"""The loop where the name of the InferenceService is another's, and where it is to stay without its service."""

from typing import Any

from tests.unit.builders import NAME, NAMESPACE, Body
from tests.unit.reconcile.test_loop_downloads import DownloadStage
from tests.unit.stage import Stage, baseline, watching

from specdec_operator.names import ADOPT_ANNOTATION


def foreign(**meta: Any) -> Body:
    """An InferenceService of another owner, without our label: no watch reports it."""
    return {"kind": "InferenceService", "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": "theirs", **meta}}


async def test_the_rollout_continues_when_the_name_is_free() -> None:
    """Within the half minute in the message, and with the whole deadline before it."""
    stage = Stage(rollout={"deadline": "5m"})
    stage.cluster.child = foreign()
    await stage.run(1200)
    stage.cluster.child = {}
    assert await stage.until("RollingOut") <= 30
    await stage.run(200)
    assert stage.phases == ["Stalled", "RollingOut"]
    stage.roll_out(baseline())
    assert "Stalled" not in stage.conditions()


async def test_a_name_that_is_free_is_not_looked_at_each_time() -> None:
    """While a service waits for its downloads; and what the watch proves to be ours is not asked for at all."""
    stage, looks = DownloadStage(), list[str]()
    find = stage.cluster.find

    async def counted(manifest: Body) -> Body | None:
        looks.append(manifest["kind"])
        return await find(manifest)

    stage.cluster.find = counted  # type: ignore[method-assign]
    await stage.run(120)
    assert looks.count("InferenceService") == 4, "once in half a minute, while there are 24 reconciles"
    for role in ("target", "draft"):
        stage.tell(role, "Complete")
        await stage.turn()
    await stage.turn()
    looks.clear()
    stage.roll_out(baseline())
    await stage.run(300)
    assert looks == []


async def test_an_object_that_was_deleted_before_any_event_is_created_again() -> None:
    """Its event never comes. The operator first waits for the event, and reads nothing until then."""
    stage = Stage()
    await stage.turn()
    stage.cluster.child = {}
    await stage.run(9)
    assert stage.cluster.child == {}
    await stage.run(10)
    assert stage.cluster.child["metadata"]["name"] == NAME


async def test_what_is_to_stay_is_in_the_status_before_its_owner_reference_goes() -> None:
    """An operator that dies in between still knows whose it is; so it is on the way back."""
    stage, _ = await watching()
    assert stage.cluster.child["metadata"]["ownerReferences"]
    assert "owned" not in stage.cluster.status
    stage.sis = {"deletionPolicy": "Orphan", "generation": 2}
    stage.cluster.calls.clear()
    await stage.turn()
    assert [each[0] for each in stage.cluster.calls] == ["status", "apply"]
    owned = [{"kind": "InferenceService", "name": NAME, "uid": "uid-of-child"}]
    assert stage.cluster.status["owned"] == owned
    assert "ownerReferences" not in stage.cluster.child["metadata"]
    stage.note("child", stage.cluster.child)
    stage.restart()
    await stage.turn()
    stage.sis = {"deletionPolicy": "Delete", "generation": 3}
    await stage.turn()
    assert stage.cluster.child["metadata"]["ownerReferences"]
    assert stage.cluster.status["owned"] == owned, "until the watch shows the owner reference"
    stage.note("child", stage.cluster.child)
    await stage.turn()
    assert "owned" not in stage.cluster.status
    assert set(stage.phases) == {"RollingOut", "WarmingUp", "Watching"}


async def test_a_rollout_that_lost_its_name_has_its_whole_deadline_afterwards() -> None:
    """Another owner had the name for an hour, which does not count against the draft."""
    stage = Stage(rollout={"deadline": "5m"})
    await stage.turn()
    stage.note("child", stage.cluster.child)
    stage.delete_child()
    stage.cluster.child = foreign()
    await stage.run(3600)
    assert stage.phases == ["RollingOut", "Stalled"]
    stage.cluster.child = {}
    await stage.until("RollingOut")
    await stage.run(200)
    assert stage.phases == ["RollingOut", "Stalled", "RollingOut"]


CLAIM: Body = {"kind": "PersistentVolumeClaim", "metadata": {"name": f"{NAME}-models", "uid": "theirs"}}


async def test_a_pvc_of_another_owner_is_read_now_and_then() -> None:
    """Not at each reconcile, and at once when the service may adopt it."""
    stage, looks = DownloadStage(), 0

    async def found(manifest: Body) -> Body | None:
        nonlocal looks
        looks += manifest["kind"] == CLAIM["kind"]
        return CLAIM if manifest["kind"] == CLAIM["kind"] else None

    stage.cluster.find = found  # type: ignore[method-assign]
    await stage.run(60)
    stage.sis |= {"model": {"uri": "s3://models/other"}, "generation": 2}
    await stage.run(90)
    assert stage.cluster.made == []
    assert looks <= 7, "each half minute"
    said = stage.conditions()
    assert (said["Ready"]["reason"], said["Stalled"]["reason"]) == ("NameTaken", "NameTaken")
    assert CLAIM["metadata"]["name"] in said["Stalled"]["message"]
    stage.sis |= {"annotations": {ADOPT_ANNOTATION: "true"}}
    await stage.run(5)
    assert [each["kind"] for each in stage.cluster.made][:1] == [CLAIM["kind"]]
    told = [event.reason for event in stage.events if event.reason in ("NameTaken", "Adopted")]
    assert told == ["NameTaken", "NameTaken", "Adopted"], "once for each generation"
    assert "Stalled" not in stage.conditions()
