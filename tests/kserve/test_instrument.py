"""The pods of images and runtimes that are not this project's, as KServe makes and admits them."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from specdec_operator.render.baseline_pods import render_baseline_pods
from specdec_runtime import __main__ as commands
from tests.kserve.made import Place, engine_of
from tests.unit.builders import NAME
from tests.unit.render.test_instrument import OPERATOR, OWNER, STOCK, predictor


async def pod_of(place: Place, found: dict[str, Any]) -> dict[str, Any]:
    """The pod that KServe makes of a predictor on the shipped runtime, as it was admitted."""
    meta = {"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "none"}
    isvc = {"metadata": {"name": NAME, "annotations": meta}, "spec": {"predictor": found}}
    isvc |= {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService"}
    return (await place.make(isvc)).pod


@pytest.mark.parametrize("baseline", [False, True])
async def test_another_image_is_started_probed_and_drained_by_what_is_brought(place: Place, baseline: bool) -> None:
    """Every program is of the folder, in a rollback as well; PYTHONPATH stays the image's own."""
    pod = await pod_of(place, predictor(engine={"image": STOCK}, baseline=baseline))
    engine = engine_of(pod)
    assert engine["image"] == STOCK
    assert engine["command"] == ["python3", "/mnt/specdec", "serve"]
    assert engine["startupProbe"]["exec"]["command"] == ["python3", "/mnt/specdec", "prove", "--port=8080"]
    assert engine["startupProbe"]["timeoutSeconds"] > commands.PROOF
    assert engine["lifecycle"]["preStop"]["exec"]["command"][:3] == ["python3", "/mnt/specdec", "drain"]
    assert "PYTHONPATH" not in {each["name"] for each in engine["env"]}
    (init,) = pod["initContainers"]
    assert init["image"] == OPERATOR
    (mount,) = (each for each in engine["volumeMounts"] if each["mountPath"] == "/mnt/specdec")
    assert mount["readOnly"]
    assert mount["name"] in {each["name"] for each in pod["volumes"] if "emptyDir" in each}
    assert [each["name"] for each in init["volumeMounts"]] == [mount["name"]]


async def test_another_image_runs_without_root_and_with_a_home(place: Place) -> None:
    """vLLM's own runs as root, which our runtime forbids: the kubelet would refuse to start it."""
    engine = engine_of(await pod_of(place, predictor(engine={"image": STOCK})))
    assert engine["securityContext"]["runAsNonRoot"]
    assert engine["securityContext"]["runAsUser"] == 65532
    assert {"HOME": "/tmp", "USER": "specdec"}.items() <= {  # noqa: S108 - in the pod
        each["name"]: each.get("value") for each in engine["env"]
    }.items()


async def test_without_it_the_command_is_vllms_own(place: Place, tmp_path: pathlib.Path) -> None:
    """The very command that is rendered, run with another vLLM: all flags but two middlewares arrive."""
    container = engine_of(await pod_of(place, predictor(engine={"image": STOCK, "instrument": "None"})))
    package = tmp_path / "vllm" / "entrypoints" / "cli"
    package.mkdir(parents=True)
    for each in (package, *package.parents[:2]):
        (each / "__init__.py").touch()
    (package / "main.py").write_text("import json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    environment = {"PYTHONPATH": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    words = [*container["command"], *container["args"]]
    said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    given = [each for each in container["args"] if "specdec_runtime" not in each]
    assert len(given) == len(container["args"]) - 2
    assert json.loads(said) == ["serve", *given]


async def test_the_baseline_pods_have_it_as_well(place: Place) -> None:
    """Their volume and their init container are those of the speculating pods."""
    speculating = predictor(engine={"image": STOCK})
    pod = await pod_of(place, speculating)
    live = {"spec": {"template": {"metadata": {"labels": {}}, "spec": pod}}}
    compared = render_baseline_pods(live, speculating, predictor(engine={"image": STOCK}, baseline=True), OWNER, 1)
    made = compared["spec"]["template"]["spec"]
    assert made["initContainers"] == pod["initContainers"]
    assert "/mnt/specdec" in {each["mountPath"] for each in engine_of(made)["volumeMounts"]}
