"""What is rendered for images and runtimes that are not this project's. tests/kserve has the pods that come of it."""

from typing import Any

import pytest
from tests.unit.builders import NAME, NAMESPACE, make_rollback, make_spec, make_state

from specdec_operator.api.spec import Owner
from specdec_operator.guard.state import Phase
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import ClusterFacts, plan
from specdec_operator.staging.kserve import KServe

OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
OPERATOR = "registry.example/specdec-operator:1"
STOCK = "docker.io/vllm/vllm-openai:v0.22.0"
KSERVE = KServe(operator_image=OPERATOR)


def predictor(*, prepared: bool = False, baseline: bool = False, **parts: Any) -> dict[str, Any]:
    """The predictor of a service. parts: of its spec; engine is for nvidia."""
    parts["engine"] = {"accelerator": "nvidia"} | parts.get("engine", {})
    state = make_state(Phase.ROLLED_BACK, rollback=make_rollback()) if baseline else make_state()
    planned = plan(make_spec(**parts), state, name=NAME, kserve=KSERVE, seen=ClusterFacts(prepared=prepared))
    found: dict[str, Any] = render(planned, OWNER).manifest["spec"]["predictor"]
    return found


def test_the_users_own_user_and_variables_win() -> None:
    """The user may set them for the container, or for the pod."""
    env = [{"name": "HOME", "value": "/models"}]
    own = predictor(engine={"image": STOCK, "env": env, "securityContext": {"runAsUser": 1000}})["model"]
    assert own["securityContext"] == {"runAsUser": 1000}
    assert [each for each in own["env"] if each["name"] == "HOME"] == env
    of_pod = predictor(engine={"image": STOCK}, pod={"securityContext": {"runAsUser": 1000}})["model"]
    assert "securityContext" not in of_pod


@pytest.mark.parametrize("own", [{}, {"image": STOCK}, {"runtime": "platform-vllm", "port": 8000}])
def test_the_users_own_liveness_probe_is_the_only_one(own: dict[str, Any]) -> None:
    """In the operator's pods, in those of another image, and with a runtime of theirs."""
    probe = {"exec": {"command": ["generate"]}, "failureThreshold": 9}
    assert predictor(engine={**own, "livenessProbe": probe})["model"]["livenessProbe"] == probe


def test_an_npu_image_runs_in_the_group_of_the_devices() -> None:
    """Their files are closed to others."""
    context = predictor(engine={"image": "quay.io/ascend/vllm-ascend:v0.23.0", "accelerator": "ascend"})["model"]
    assert context["securityContext"] == {"runAsUser": 65532, "runAsGroup": 1000}


def test_a_runtime_that_is_seen_to_start_the_package_is_rendered_as_ever() -> None:
    """One that is built on ours: its pods are as those of our own, without the liveness probe and the dial, which an
    older package does not have.
    """
    seen, ours = (
        predictor(engine={"runtime": "platform-vllm"}, prepared=True)["model"],
        predictor(engine={"runtime": "specdec-nvidia"})["model"],
    )
    assert ours.pop("livenessProbe")["exec"]["command"] == ["python3", "-m", "specdec_runtime", "alive", "--port=8080"]
    assert [each["name"] for each in ours["volumeMounts"] if each not in seen["volumeMounts"]] == ["specdec-dial"]
    ours["volumeMounts"] = seen["volumeMounts"]
    assert {**seen, "runtime": ""} == {**ours, "runtime": ""}


def test_a_runtime_that_takes_vllms_flags_can_be_injected() -> None:
    """It lacks the flags that our runtimes have, so they come with ours."""
    found = predictor(engine={"runtime": "platform-vllm", "port": 8000, "instrument": "Inject"})
    model = found["model"]
    assert model["command"] == ["python3", "/mnt/specdec", "serve"]
    assert model["args"][:2] == [
        "--middleware=specdec_runtime.leaving.Leaving",
        "--middleware=specdec_runtime.facts.Facts",
    ]
    assert model["startupProbe"]["exec"]["command"][-1] == "--port=8000"
    assert found["initContainers"]
