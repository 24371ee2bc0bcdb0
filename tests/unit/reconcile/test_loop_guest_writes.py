"""A guest whose flag cannot be removed: nothing is reported as done before it was read back."""

import copy
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tests.unit.builders import Body
from tests.unit.reconcile.test_loop_guest import (
    ALLOWED,
    BASELINE,
    KEPT,
    SPECULATES,
    GuestStage,
    enforced,
    taken_out,
)
from tests.unit.stage import busy

from specdec_operator.api.times import from_time
from specdec_operator.errors import Invalid, OperatorError, Unavailable

POLICY = Invalid("InferenceService theirs", "denied", "policy no-guard denied request", reason="AdmissionRefused")
RIGHTS = Unavailable("Forbidden", 'user "op" cannot patch resource "inferenceservices"', after=60.0)
FIELD = Invalid("InferenceService theirs", 422, "the API server rejected it: spec.predictor: Invalid value")
FULL = Invalid("InferenceService theirs", "denied", "exceeded quota: pods", reason="QuotaExceeded")
CONFLICT = Unavailable("ApiServerRefused", "HTTP 409: the object has been modified", status=409)


async def failing(error: OperatorError | None = None) -> GuestStage:
    """A guest whose draft fails, and the API server refuses its write, if there is an error."""
    stage, engine = await enforced()
    if error is not None:
        stage.cluster.failing["patch"] = error
    engine.acceptance = 0.0
    await stage.until("Responding")
    return stage


def puts_back(child: Body) -> Body:
    """An admission webhook that writes the flag into each InferenceService."""
    changed = copy.deepcopy(child)
    changed["spec"]["predictor"]["model"]["args"] = list(SPECULATES)
    return changed


def nothing_is_done(stage: GuestStage) -> None:
    """The status does not report a rollback, and the flags and the annotation are as their owner wrote them."""
    status, said = stage.cluster.status, stage.conditions()
    assert (status["phase"], status["guard"]["rollbacks"]) == ("Responding", 0)
    assert (said["RolledBack"]["status"], said["RolledBack"]["reason"]) == ("False", "Responding")
    assert said["SpeculationActive"]["status"] != "False"
    assert (status["serving"]["speculating"], status["serving"]["tokens"]) == (True, 4)
    assert (stage.args, stage.cluster.child["metadata"]["annotations"]) == (SPECULATES, ALLOWED)
    assert "TakenOut" not in [each.reason for each in stage.events]


@pytest.mark.parametrize(
    ("error", "tries"),
    [(POLICY, 4), (RIGHTS, 16), (FIELD, 4), (FULL, 31), (CONFLICT, 18)],
    ids=["a policy", "no permission", "a rejected field", "a full quota", "another writer each time"],
)
async def test_a_refused_write_is_reported_and_tried_again_after_a_pause_of_its_kind(
    error: OperatorError, tries: int
) -> None:
    """Twice soon, then every 300, 60, 300, 30 and 60 seconds. The message has the server's answer and the next time."""
    stage = await failing(error)
    await stage.run(900)
    nothing_is_done(stage)
    said = stage.conditions()["Enforcing"]
    assert (said["status"], said["reason"]) == ("False", "WriteRefused")
    assert error.message in said["message"]
    assert stage.now - 60 < from_time(said["message"].rpartition(" ")[2]), "a time that has passed is no news"
    assert [each.reason for each in stage.events].count("WriteRefused") == 1
    assert stage.cluster.asked_to_patch == tries


async def test_the_rollback_follows_once_the_write_is_accepted() -> None:
    """No deadline ran out meanwhile, though the pods had twenty minutes; then it counts, once."""
    stage = await failing(POLICY)
    await stage.run(3000)
    nothing_is_done(stage)
    del stage.cluster.failing["patch"]
    await stage.run(301)
    assert (stage.cluster.status["phase"], stage.args) == ("Responding", BASELINE)
    assert stage.conditions()["RolledBack"]["reason"] == "Responding"
    assert stage.conditions()["Enforcing"]["reason"] == "TakenOut"
    stage.serve(busy(speculative=False), args=BASELINE)
    await stage.until("RolledBack")
    assert stage.cluster.status["guard"]["rollbacks"] == 1
    assert stage.conditions()["RolledBack"]["status"] == "True"


async def test_a_write_that_a_webhook_undoes_is_not_stored() -> None:
    """A dry run shows it: the annotation alone would only restart the pods."""
    stage, engine = await enforced()
    stage.cluster.webhook = puts_back
    counted = {"kind": "InferenceService", "reason": "WriteChanged"}
    before = REGISTRY.get_sample_value("specdec_refused_writes_total", counted) or 0.0
    engine.acceptance = 0.0
    await stage.until("Responding")
    await stage.run(600)
    nothing_is_done(stage)
    said = stage.conditions()["Enforcing"]
    assert (said["status"], said["reason"]) == ("False", "WriteChanged")
    assert "admission webhook" in said["message"]
    assert "patch" not in [verb for verb, _ in stage.cluster.calls]
    assert REGISTRY.get_sample_value("specdec_refused_writes_total", counted) == before + stage.cluster.asked_to_patch
    stage.cluster.webhook = lambda child: child
    await stage.run(301)
    assert stage.args == BASELINE


async def test_a_restarted_operator_reports_the_same() -> None:
    """The decision is in the status; the refusal is learnt again."""
    stage = await failing(POLICY)
    await stage.run(30)
    stage.restart()
    await stage.run(30)
    nothing_is_done(stage)
    assert stage.conditions()["Enforcing"]["reason"] == "WriteRefused"


async def test_another_change_of_the_owner_is_tried_at_once() -> None:
    """The pause is that of one write."""
    stage = await failing(POLICY)
    await stage.run(60)
    del stage.cluster.failing["patch"]
    stage.predictor["model"]["args"] = [*SPECULATES, "--max-model-len=100"]
    await stage.run(61)
    assert stage.args == [*BASELINE, "--max-model-len=100"]


async def test_a_flag_that_cannot_be_restored_is_not_held_against_the_draft() -> None:
    """The retry waits for the write, however long."""
    stage = await taken_out()
    stage.cluster.failing["patch"] = POLICY
    stage.sis["annotations"] = {"specdec.io/retry": "now"}
    await stage.run(3000)
    said = stage.conditions()
    assert (said["Enforcing"]["status"], said["Enforcing"]["reason"]) == ("False", "WriteRefused")
    assert (stage.cluster.status["phase"], stage.cluster.status["guard"]["rollbacks"]) == ("RollingOut", 1)
    assert said["SpeculationActive"]["status"] == "Unknown"


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_tool_that_replaces_the_object_again_and_again_counts_no_rollbacks(restarts: bool) -> None:
    """It removes the annotation with the rest. The guard observes until the user asks for a retry."""
    stage = await taken_out()
    for _ in range(3):
        stage.serve(busy(acceptance=0.0), args=SPECULATES)
        stage.cluster.child["metadata"]["annotations"] = dict(ALLOWED)
        if restarts:
            stage.restart()
        await stage.run(120)
        said, guard = stage.conditions(), stage.cluster.status["guard"]
        assert (stage.cluster.status["phase"], guard["rollbacks"], stage.args) == ("Watching", 1, SPECULATES)
        assert (said["Enforcing"]["status"], said["Enforcing"]["reason"]) == ("False", "PutBack")
        assert "specdec retry llama" in said["Enforcing"]["message"]
        assert guard["would"]["action"] == "RollBack"
    stage.sis["annotations"] = {"specdec.io/retry": "now"}
    await stage.run(120)
    assert stage.args == BASELINE


async def test_a_tool_that_restores_the_flag_before_the_pods_serve_counts_no_rollback() -> None:
    """Its apply leaves the annotation, and nothing was rolled back."""
    stage = await failing()
    await stage.run(10)
    assert stage.args == BASELINE
    stage.predictor["model"]["args"] = list(SPECULATES)
    await stage.run(120)
    said: dict[str, Any] = stage.conditions()
    assert (said["Enforcing"]["reason"], stage.cluster.status["guard"]["rollbacks"]) == ("PutBack", 0)
    assert said["RolledBack"]["status"] == "False"
    assert stage.args == SPECULATES
    assert KEPT in stage.cluster.child["metadata"]["annotations"]
