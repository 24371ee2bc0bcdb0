"""What keeps KServe from making the Deployment, and what follows."""

import pytest
from tests.unit.bodies import make_deployment
from tests.unit.builders import Body
from tests.unit.stage import Stage

from specdec_operator.errors import Unavailable
from specdec_operator.observe.inference_service import KServeError, kserve_error
from specdec_operator.observe.pods import deployment_view
from specdec_operator.observe.rollout import Progress, RolloutView, view_rollout

NO_RUNTIME = KServeError(reason="RuntimeNotRecognized", message="there is none")


def failed(reason: str, words: str) -> Body:
    """An InferenceService that KServe cannot deploy; tests/kserve/test_errors.py has KServe's real messages."""
    said = {"transitionStatus": "InvalidSpec", "lastFailureInfo": {"reason": reason, "message": words}}
    return {"spec": {"predictor": {"model": {"runtime": "rt"}}}, "status": {"modelStatus": said}}


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [
        ("RuntimeNotRecognized", "ClusterServingRuntime rt: kubectl apply -k manifests/run"),
        ("NoSupportingRuntime", "runtime rt does not serve model format huggingface"),
        ("InvalidPredictorSpec", "kubectl describe inferenceservice"),
    ],
)
def test_an_error_of_kserve_is_shown_with_its_message_and_the_fix(reason: str, way_out: str) -> None:
    """Read from modelStatus."""
    found = kserve_error(failed(reason, "in its words"))
    assert found is not None
    assert found.reason == reason
    assert "in its words" in found.message
    assert way_out in found.message


def test_a_disabled_runtime_is_reported() -> None:
    """KServe has a separate reason for it."""
    found = kserve_error(failed("RuntimeDisabled", "it is disabled"))
    assert found is not None
    assert "remove spec.disabled" in found.message


def test_a_past_failure_blocks_nothing() -> None:
    """KServe never clears lastFailureInfo: only its transition shows whether it still holds."""
    child = failed("RuntimeNotRecognized", "Waiting for runtime to become available")
    child["status"]["modelStatus"]["transitionStatus"] = "InProgress"
    assert kserve_error(child) is None
    assert kserve_error({"metadata": {}}) is None


def seen(deployment: Body | None, kserve_error: KServeError | None, *, waited: float = 10) -> RolloutView:
    """The rollout of r2, which has 60 seconds."""
    view = deployment_view(deployment) if deployment else None
    return view_rollout("r2", view, (), since=0, now=waited, deadline=60, kserve_error=kserve_error)


@pytest.mark.parametrize("deployment", [None, make_deployment("r1")])
@pytest.mark.parametrize(("waited", "progress"), [(10, Progress.PROGRESSING), (61, Progress.BLOCKED)])
def test_an_obstacle_is_the_reason_of_the_rollout_and_does_not_count_against_speculation(
    deployment: Body | None, waited: float, progress: Progress
) -> None:
    """It may pass until the deadline. After the deadline the user must act. It never counts as pods that failed."""
    found = seen(deployment, NO_RUNTIME, waited=waited)
    assert (found.progress, found.reason, found.kserve_refuses) == (progress, "RuntimeNotRecognized", True)
    assert found.message == "there is none"


def test_a_failure_does_not_block_a_deployed_service() -> None:
    """A failure of a later request shows nothing about pods that serve."""
    found = seen(make_deployment("r2"), NO_RUNTIME)
    assert (found.progress, found.kserve_refuses) == (Progress.COMPLETE, False)


async def test_a_cluster_that_stays_without_kserve_needs_the_user() -> None:
    """At the deadline the sis is Stalled for that reason, and speculation is not rolled back for it."""
    stage = Stage(rollout={"deadline": "1m"})
    stage.cluster.failing["apply"] = Unavailable("KServeMissing", "install KServe")
    await stage.until("Stalled", 90)
    conditions = {each["type"]: each for each in stage.cluster.status["conditions"]}
    assert conditions["Stalled"]["reason"] == "KServeMissing"
    assert stage.cluster.status["guard"].get("rollback") is None
