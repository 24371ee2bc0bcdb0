"""What KServe makes of every sample: the pods have what the InferenceService asks for."""

import pathlib
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_operator.names import KIND
from tests.kserve.made import ROOT, Place, engine_of
from tests.kserve.services import initializer

KEDA = {"autoscaling-keda"}
"""KServe makes a ScaledObject of it, for which KEDA has to be there."""
ALL_SAMPLES = sorted((ROOT / "manifests" / "samples").glob("*.yaml"))
GUARDED = {"existing-service"}
"""The operator renders nothing for it."""
SAMPLES = [each for each in ALL_SAMPLES if each.stem not in KEDA | GUARDED]
OF_MODEL = ("args", "volumeMounts", "env")
"""Lists of the engine's container, each item of which has to arrive."""
OF_POD = ("topologySpreadConstraints", "tolerations", "imagePullSecrets", "schedulerName", "serviceAccountName")
"""Fields of the pod that arrive as they are."""


def service(path: pathlib.Path) -> dict[str, Any]:
    """The service of a sample, which may have a Secret beside it."""
    (found,) = (each for each in yaml.safe_load_all(path.read_text()) if each["kind"] == KIND)
    return dict(found)


def asked(path: pathlib.Path) -> dict[str, Any]:
    """The InferenceService that the operator renders, on this project's runtime for its accelerator."""
    body = service(path)
    result = CliRunner().invoke(application(), ["render", "-"], input=yaml.safe_dump(body))
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = yaml.safe_load(result.stdout)
    return found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda each: str(each.stem))
async def test_its_flags_volumes_and_placement_reach_the_pod(place: Place, path: pathlib.Path) -> None:
    """Adapters, served names, volumes, security and placement among them, where a sample has them."""
    manifest = asked(path)
    wanted, made = manifest["spec"]["predictor"], await place.make(manifest, pods=pods_of(manifest))
    for pod in (made.template["spec"], *(each["spec"] for each in made.pods)):
        engine = engine_of(pod)
        for part in OF_MODEL:
            for item in wanted["model"].get(part, ()):
                assert item in engine[part], (part, item)
        assert (wanted["model"].get("securityContext") or {}).items() <= (engine.get("securityContext") or {}).items()
        assert (wanted.get("securityContext") or {}).items() <= (pod.get("securityContext") or {}).items()
        for part in (each for each in OF_POD if each in wanted):
            added = [each for each in pod[part] if each not in wanted[part]] if part == "tolerations" else []
            assert all(each["key"].startswith("node.kubernetes.io/") for each in added), added
            assert (
                [each for each in pod[part] if each not in added] == wanted[part]
                if added
                else pod[part] == wanted[part]
            )
        names = {each["name"] for each in pod["volumes"]}
        assert {each["name"] for each in wanted.get("volumes", ())} <= names
        assert pod.get("terminationGracePeriodSeconds") == wanted.get("terminationGracePeriodSeconds", 30)


def pods_of(manifest: dict[str, Any]) -> int:
    """How many pods KServe makes of it before anything scales them: an autoscaler's Deployment begins with one."""
    scaled = manifest["metadata"]["annotations"].get("serving.kserve.io/autoscalerClass") != "none"
    return 1 if scaled else int(manifest["spec"]["predictor"].get("minReplicas", 1))


def test_the_samples_have_the_requested_parts() -> None:
    """Else the rule above would ask nothing of it."""
    parts = [asked(path)["spec"]["predictor"] for path in SAMPLES]
    for part in ("topologySpreadConstraints", "schedulerName", "serviceAccountName", "securityContext", "volumes"):
        assert any(part in each for each in parts), part
    assert any("--lora-modules" in each["model"]["args"] for each in parts)


@pytest.mark.parametrize("name", sorted(GUARDED))
def test_what_is_only_guarded_becomes_no_pod(name: str) -> None:
    """Its pods are there already."""
    result = CliRunner().invoke(application(), ["render", str(ROOT / "manifests" / "samples" / f"{name}.yaml")])
    assert result.exit_code == 1
    assert "is guarded, not served, so there is nothing to render" in result.output


@pytest.mark.parametrize("name", sorted(KEDA))
async def test_without_keda_its_service_is_not_made(place: Place, name: str) -> None:
    """KServe's error names the missing kind."""
    words = await place.refusal(asked(ROOT / "manifests" / "samples" / f"{name}.yaml"))
    assert 'no matches for kind "ScaledObject" in version "keda.sh/v1alpha1"' in words


def around(name: str) -> dict[str, Any]:
    """The objects of a sample, by kind."""
    text = (ROOT / "manifests" / "samples" / name).read_text()
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


async def private(place: Place, name: str) -> dict[str, Any]:
    """Variables of KServe's download for a sample of a private model; the engine has no secret of it."""
    objects = around(name)
    await place.give(objects["Secret"], objects["ServiceAccount"])
    pod = (await place.make(asked(ROOT / "manifests" / "samples" / name))).pod
    assert pod["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]
    assert not {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY"} & {each["name"] for each in engine_of(pod)["env"]}
    return initializer(pod)


async def test_the_token_reaches_kserves_download(place: Place) -> None:
    """By the secret of the pods' account."""
    env = await private(place, "private-hub.yaml")
    assert env["HF_TOKEN"] == {"secretKeyRef": {"name": "hugging-face", "key": "HF_TOKEN"}}


async def test_the_keys_of_a_bucket_reach_kserves_download(place: Place) -> None:
    """With the endpoint that the secret's annotations name."""
    env = await private(place, "private-bucket.yaml")
    assert env["AWS_SECRET_ACCESS_KEY"] == {"secretKeyRef": {"name": "bucket", "key": "AWS_SECRET_ACCESS_KEY"}}
    assert env["AWS_ENDPOINT_URL"] == "https://s3.example.com"
