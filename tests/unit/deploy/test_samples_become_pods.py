"""What KServe's stand-in makes of every sample: the pods have what the InferenceService asks for."""

import pathlib
from typing import Any

import pytest
import yaml
from tests.kserve_standin import render as kserve
from tests.kserve_standin.model import Config
from tests.kserve_standin.runtimes import runtime_of
from typer.testing import CliRunner

from specdec_operator.cli.commands import application
from specdec_operator.names import KIND

ROOT = pathlib.Path(__file__).parents[3]
NOT_STOOD_IN = {"autoscaling-keda"}
"""KServe makes a ScaledObject of it, of which there is no recording: the stand-in refuses the class by name."""
ALL_SAMPLES = sorted((ROOT / "manifests" / "samples").glob("*.yaml"))
GUARDED = {"existing-service"}
"""The operator renders nothing for it."""
SAMPLES = [each for each in ALL_SAMPLES if each.stem not in NOT_STOOD_IN | GUARDED]
OF_MODEL = ("args", "volumeMounts", "env")
"""Lists of the engine's container, each item of which has to arrive."""
OF_POD = ("topologySpreadConstraints", "tolerations", "imagePullSecrets", "schedulerName", "serviceAccountName")
"""Fields of the pod that arrive as they are."""


def service(path: pathlib.Path) -> dict[str, Any]:
    """The service of a sample, which may have a Secret beside it."""
    (found,) = (each for each in yaml.safe_load_all(path.read_text()) if each["kind"] == KIND)
    return dict(found)


def asked_and_made(path: pathlib.Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The predictor that the operator renders, and the pod that comes of it."""
    body = service(path)
    result = CliRunner().invoke(application(), ["render", "-"], input=yaml.safe_dump(body))
    assert result.exit_code == 0, result.output
    inference_service = yaml.safe_load(result.stdout)
    accelerator = body["spec"].get("engine", {}).get("accelerator", "nvidia")
    runtime = runtime_of(yaml.safe_load((ROOT / "manifests" / "runtimes" / f"{accelerator}.yaml").read_text()))
    deployment = kserve.render(inference_service, runtime, Config()).deployment
    assert deployment is not None
    return inference_service["spec"]["predictor"], deployment["spec"]["template"]["spec"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda each: str(each.stem))
def test_its_flags_volumes_and_placement_reach_the_pod(path: pathlib.Path) -> None:
    """Adapters, served names, volumes, security and placement among them, where a sample has them."""
    asked, pod = asked_and_made(path)
    (engine,) = (each for each in pod["containers"] if each["name"] == "kserve-container")
    for part in OF_MODEL:
        for item in asked["model"].get(part, ()):
            assert item in engine[part], (part, item)
    assert (asked["model"].get("securityContext") or {}).items() <= (engine.get("securityContext") or {}).items()
    assert (asked.get("securityContext") or {}).items() <= (pod.get("securityContext") or {}).items()
    for part in OF_POD:
        assert part not in asked or pod[part] == asked[part], part
    names = {each["name"] for each in pod["volumes"]}
    assert {each["name"] for each in asked.get("volumes", ())} <= names
    assert pod.get("terminationGracePeriodSeconds") == asked.get("terminationGracePeriodSeconds", 30)


def test_the_samples_have_what_is_asked_for() -> None:
    """Else the rule above would ask nothing of it."""
    parts = [asked_and_made(path)[0] for path in SAMPLES]
    for part in ("topologySpreadConstraints", "schedulerName", "serviceAccountName", "securityContext", "volumes"):
        assert any(part in each for each in parts), part
    assert any("--lora-modules" in each["model"]["args"] for each in parts)


@pytest.mark.parametrize("name", sorted(GUARDED))
def test_what_is_only_guarded_becomes_no_pod(name: str) -> None:
    """Its pods are there already."""
    result = CliRunner().invoke(application(), ["render", str(ROOT / "manifests" / "samples" / f"{name}.yaml")])
    assert result.exit_code == 1
    assert "is guarded, not served, so there is nothing to render" in result.output


@pytest.mark.parametrize("name", sorted(NOT_STOOD_IN))
def test_what_has_no_recording_is_refused_by_name(name: str) -> None:
    """So that it comes back to the rule above once there is one."""
    with pytest.raises(kserve.Refused, match="unknown autoscaler class type: keda"):
        asked_and_made(ROOT / "manifests" / "samples" / f"{name}.yaml")
