"""Mode PersistentVolumeClaim: the operator creates pods after the artifacts are in the PVC,
and nothing is downloaded twice.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.builders import NAME, NAMESPACE, Body
from tests.unit.stage import Stage, busy
from tests.wire.pods import EngineStandIn

from specdec_operator.names import GROUP

CONFIG = "/api/v1/namespaces/kserve/configmaps/inferenceservice-config"
IMAGE = "kserve/storage-initializer:v0.20.0"
MODEL = {"uri": "s3://models/target"}
SPECULATION = {"method": "draft_model", "tokens": 4, "draft": {"uri": "s3://models/draft"}}
STAGING = {"mode": "PersistentVolumeClaim", "claim": {"storage": "10Gi"}}
BASELINE: Body = {"tokens_per_second": 200.0, "speculative": False}


class DownloadStage(Stage):
    """A stage whose Jobs run when the test starts them."""

    def __init__(self, **sis: Any) -> None:
        super().__init__(**{"model": MODEL, "speculation": SPECULATION, "staging": STAGING} | sis)
        self.cluster.there[CONFIG] = {"data": {"storageInitializer": json.dumps({"image": IMAGE})}}

    def jobs(self) -> list[Body]:
        """Every Job that was made, in turn."""
        return [each for each in self.cluster.made if each["kind"] == "Job"]

    def job(self, role: str) -> Body:
        """The newest Job for the target or the draft."""
        return next(each for each in reversed(self.jobs()) if each["metadata"]["labels"][f"{GROUP}/staging"] == role)

    def tell(self, role: str, kind: str = "", *, message: str = "") -> None:
        """An event of a Job: it runs, or it is `Complete`, or it is `Failed` with its program's message."""
        job = self.job(role)
        stamp = "2026-11-19T02:00:00Z"
        status: Body = {"startTime": stamp}
        if kind:
            status["conditions"] = [{"type": kind, "status": "True", "lastTransitionTime": stamp}]
        if kind == "Complete":
            status["completionTime"] = stamp
        self.stores.note_job({**job, "status": status}, deleted=False)
        ended = {"exitCode": 1, "reason": "Error", "message": message}
        container = {"name": "fetch", "state": {"terminated": ended} if message else {"running": {}}}
        meta = {
            "name": f"{job['metadata']['name']}-x",
            "namespace": NAMESPACE,
            "labels": job["metadata"]["labels"],
            "ownerReferences": [{"name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}],
        }
        phase = {"Complete": "Succeeded", "Failed": "Failed"}.get(kind, "Running")
        self.stores.note_pod(
            {"metadata": meta, "status": {"phase": phase, "containerStatuses": [container]}}, deleted=False
        )
        self.wake()

    def refuse(self, role: str, reason: str) -> None:
        """A Job's program ends with a reason."""
        self.tell(role, "Failed", message=json.dumps({"reason": reason, "message": f"{reason} in words"}))


async def downloaded() -> DownloadStage:
    """A stage on which target and draft are in the claim."""
    stage = DownloadStage()
    for role in ("target", "draft"):
        await stage.turn()
        stage.tell(role, "Complete")
    await stage.turn()
    return stage


async def test_pods_are_created_once_everything_is_downloaded() -> None:
    """A PVC, two Jobs, and then the InferenceService with folders of the PVC."""
    stage = DownloadStage()
    await stage.turn()
    assert stage.job("target")["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    assert len(stage.jobs()) == 1, "one at a time: two nodes cannot write to one claim"
    assert stage.conditions()["ArtifactsStaged"]["reason"] == "Downloading"
    assert "draft s3://models/draft/: waiting for its turn" in stage.conditions()["ArtifactsStaged"]["message"]
    stage.tell("target", "Complete")
    await stage.turn()
    assert [(each["kind"], each["metadata"]["name"].rpartition("-")[0]) for each in stage.cluster.made] == [
        ("PersistentVolumeClaim", NAME),
        ("Job", f"{NAME}-target"),
        ("Job", f"{NAME}-draft"),
    ]
    stage.tell("draft")
    await stage.run(20)
    assert stage.cluster.child == {}
    assert stage.conditions()["ArtifactsStaged"]["reason"] == "Downloading"
    stage.tell("draft", "Complete")
    await stage.turn()
    mounts = stage.predictor["model"]["volumeMounts"]
    keys = {each["metadata"]["name"].rpartition("-")[2] for each in stage.jobs()}
    assert {each["subPath"] for each in mounts if "subPath" in each} == keys
    stage.roll_out(busy())
    await stage.until("Watching")
    assert len(stage.jobs()) == 2


async def test_progress_is_shown() -> None:
    """In bytes, from the log of the Job's pod, not more often than a user reads it."""
    stage = DownloadStage()
    await stage.turn()
    stage.tell("target")
    stage.cluster.logs[f"{stage.job('target')['metadata']['name']}-x"] = '{"bytes": 52428800, "seconds": 4.0}\n'
    await stage.run(30)
    assert [each.get("bytes") for each in stage.cluster.status["artifacts"]] == [52428800, None]
    assert "50 MiB after 4 s" in stage.conditions()["ArtifactsStaged"]["message"]
    written = len([call for call in stage.cluster.calls if call[0] == "status"])
    await stage.run(30)
    assert len([call for call in stage.cluster.calls if call[0] == "status"]) == written


async def test_a_rollback_downloads_nothing() -> None:
    """The target stays in its folder; the draft's Job stays as it is, for a retry."""
    stage = await downloaded()
    engine = busy()
    stage.roll_out(engine)
    await stage.until("Watching")
    engine.acceptance = 0.02
    await stage.until("Responding")
    mounts = stage.predictor["model"]["volumeMounts"]
    assert [each["mountPath"] for each in mounts] == ["/mnt/target/model"]
    stage.roll_out(EngineStandIn(**BASELINE))
    await stage.until("RolledBack")
    assert len(stage.jobs()) == 2
    assert not [call for call in stage.cluster.calls if call[0] == "remove"]


async def test_another_revision_is_another_folder_and_the_old_one_serves_meanwhile() -> None:
    """The InferenceService stays as it is until the new artifact is there; no Job removes what pods have mounted."""
    stage = await downloaded()
    stage.roll_out(busy())
    await stage.until("Watching")
    old = {each["metadata"]["name"].rpartition("-")[2] for each in stage.jobs()}
    served = stage.cluster.child
    stage.sis["model"] = {"uri": "s3://models/target-2"}
    await stage.turn()
    stage.stores.note_job(stage.job("target"), deleted=True)
    await stage.turn()
    job = stage.job("target")
    assert job["metadata"]["name"].rpartition("-")[2] not in old
    assert old <= set(job["spec"]["template"]["spec"]["containers"][0]["args"])
    assert stage.cluster.child == served
    assert stage.conditions()["Ready"]["status"] == "True"
    stage.tell("target", "Complete")
    await stage.turn()
    assert stage.cluster.child != served


async def test_a_draft_that_is_not_there_is_taken_out_and_the_target_serves() -> None:
    """No second attempt would find it."""
    stage = DownloadStage()
    await stage.turn()
    stage.tell("target", "Complete")
    await stage.turn()
    stage.refuse("draft", "NotFound")
    await stage.until("Responding", 30)
    rollback = stage.cluster.status["guard"]["rollback"]
    assert rollback["reason"] == "RolloutFailed"
    assert "NotFound in words" in rollback["message"]
    stage.roll_out(EngineStandIn(**BASELINE))
    await stage.until("RolledBack")


async def test_a_missing_target_stalls_with_the_message_of_the_program() -> None:
    """This does not count against the draft. The user must act."""
    stage = DownloadStage()
    await stage.turn()
    stage.refuse("target", "Unauthorized")
    await stage.until("Stalled", 30)
    staged = stage.conditions()["ArtifactsStaged"]
    assert (staged["status"], staged["reason"]) == ("False", "Unauthorized")
    assert "Unauthorized in words" in staged["message"]
    assert stage.cluster.status["guard"].get("rollback") is None
    assert {each.reason for each in stage.events if each.warning} == {"ArtifactsUnauthorized", "Stalled"}


async def test_a_failed_job_is_created_again_with_back_off() -> None:
    """After a minute, then two. The attempt is counted and shown."""
    stage = DownloadStage(speculation=None)
    await stage.turn()
    made = []
    for _ in range(3):
        begun = stage.now
        count = len(stage.jobs())
        job = stage.job("target")
        stamp = "2026-11-19T02:00:00Z"
        failed = {"type": "Failed", "status": "True", "lastTransitionTime": _utc(begun)}
        stage.stores.note_job({**job, "status": {"startTime": stamp, "conditions": [failed]}}, deleted=False)
        while len(stage.jobs()) == count:
            await stage.turn()
            stage.now += 5.0
            assert stage.now - begun < 1000
        made.append(stage.now - begun)
    assert [round(each, -1) for each in made] == pytest.approx([60, 120, 240], abs=10)
    assert stage.job("target")["metadata"]["annotations"]["specdec.io/attempt"] == "4"


async def test_without_an_image_the_message_has_the_fix() -> None:
    """Once, and not at every reconcile."""
    stage = DownloadStage()
    stage.cluster.there.clear()
    await stage.run(60)
    assert stage.cluster.status["phase"] == "Stalled"
    assert "SPECDEC_STORAGE_INITIALIZER" in stage.cluster.status["message"]
    assert len(stage.events) == 1


async def test_a_job_that_a_user_deleted_is_created_again() -> None:
    """Its program finds the folder complete and downloads nothing; that is its own test."""
    stage = DownloadStage(speculation=None)
    await stage.turn()
    stage.tell("target")
    await stage.run(20)
    job = stage.job("target")
    stage.stores.note_job(job, deleted=True)
    await stage.run(4)
    assert len(stage.jobs()) == 2


async def test_a_job_of_another_revision_is_gone_before_the_next_is_made() -> None:
    """Its pod would sweep away what the next one brings."""
    stage = DownloadStage(speculation=None)
    await stage.turn()
    old = stage.job("target")
    stage.tell("target")
    stage.sis["model"] = {"uri": "s3://models/target-2"}
    await stage.run(20)
    assert ("remove", old["metadata"]["name"]) in stage.cluster.calls
    stage.stores.note_job(old, deleted=True)
    key = ("team-a", NAME)
    memory = stage.loop._memories[key]
    stage.loop._memories[key] = replace(memory, downloads=replace(memory.downloads, jobs={}))
    await stage.run(20)
    assert len(stage.jobs()) == 1, "the pod of the removed Job is still at work"
    (pod,) = stage.stores.objects(("team-a", NAME)).stagers
    stage.stores.note_pod(dict(pod), deleted=True)
    await stage.run(6)
    assert len(stage.jobs()) == 2


async def test_a_pvc_that_was_deleted_is_created_and_filled_again() -> None:
    """A completed Job records the PVC that it filled by the UID of that PVC."""
    stage = await downloaded()
    stage.roll_out(unscheduled='persistentvolumeclaim "llama-models" not found')
    await stage.run(9)
    claims = [each for each in stage.cluster.made if each["kind"] == "PersistentVolumeClaim"]
    assert len(claims) == 2
    assert len(stage.jobs()) == 3
    notes = stage.job("target")["metadata"]["annotations"]
    assert notes["specdec.io/claim"] == claims[1]["metadata"]["uid"]


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
