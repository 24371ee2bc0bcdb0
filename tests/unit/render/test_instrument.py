"""The pods of images and runtimes that are not this project's: started, probed and stopped by what they have."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml
from tests.kserve_standin import render as kserve
from tests.kserve_standin.model import Config
from tests.kserve_standin.runtimes import runtime_of
from tests.unit.builders import NAME, NAMESPACE, make_rollback, make_spec, make_state

from specdec_operator.api.spec import Owner
from specdec_operator.guard.state import Phase
from specdec_operator.render.inference_service import render
from specdec_operator.render.plain_arm import render_arm
from specdec_operator.render.plan import Seen, plan
from specdec_operator.staging.kserve import KServe
from specdec_runtime import __main__ as commands

ROOT = pathlib.Path(__file__).parents[3]
OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
OPERATOR = "registry.example/specdec-operator:1"
STOCK = "docker.io/vllm/vllm-openai:v0.22.0"
KSERVE = KServe(operator_image=OPERATOR)


def predictor(*, prepared: bool = False, plain: bool = False, **parts: Any) -> dict[str, Any]:
    """The predictor of a service. parts: of its spec; engine is for nvidia."""
    parts["engine"] = {"accelerator": "nvidia"} | parts.get("engine", {})
    state = make_state(Phase.ROLLED_BACK, rollback=make_rollback()) if plain else make_state()
    planned = plan(make_spec(**parts), state, name=NAME, kserve=KSERVE, seen=Seen(prepared=prepared))
    found: dict[str, Any] = render(planned, OWNER).manifest["spec"]["predictor"]
    return found


def pod_of(found: dict[str, Any]) -> dict[str, Any]:
    """The pod that KServe makes of a predictor on the shipped runtime."""
    runtime = yaml.safe_load((ROOT / "manifests/runtimes/nvidia.yaml").read_text())
    isvc = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": {"predictor": found}}
    meta = {"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "none"}
    isvc["metadata"]["annotations"] = meta
    isvc |= {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService"}
    made = kserve.render(isvc, runtime_of(runtime), Config()).deployment
    assert made is not None
    pod: dict[str, Any] = made["spec"]["template"]["spec"]
    return pod


def engine_of(pod: dict[str, Any]) -> dict[str, Any]:
    """The container that serves."""
    (found,) = (each for each in pod["containers"] if each["name"] == "kserve-container")
    return dict(found)


@pytest.mark.parametrize("plain", [False, True])
def test_another_image_is_started_probed_and_drained_by_what_is_brought(plain: bool) -> None:
    """Every program is of the folder, in a rollback as well; PYTHONPATH stays the image's own."""
    pod = pod_of(predictor(engine={"image": STOCK}, plain=plain))
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


def test_another_image_runs_as_nobody_with_a_home() -> None:
    """vLLM's own runs as root, which our runtime forbids: the kubelet would refuse to start it."""
    engine = engine_of(pod_of(predictor(engine={"image": STOCK})))
    assert engine["securityContext"]["runAsNonRoot"]
    assert engine["securityContext"]["runAsUser"] == 65532
    assert {"HOME": "/tmp", "USER": "specdec"}.items() <= {  # noqa: S108 - in the pod
        each["name"]: each.get("value") for each in engine["env"]
    }.items()


def test_the_users_own_user_and_variables_win() -> None:
    """Wherever they say so: for the container, or for the pod."""
    env = [{"name": "HOME", "value": "/models"}]
    own = predictor(engine={"image": STOCK, "env": env, "securityContext": {"runAsUser": 1000}})["model"]
    assert own["securityContext"] == {"runAsUser": 1000}
    assert [each for each in own["env"] if each["name"] == "HOME"] == env
    of_pod = predictor(engine={"image": STOCK}, pod={"securityContext": {"runAsUser": 1000}})["model"]
    assert "securityContext" not in of_pod


def test_an_npu_image_runs_in_the_group_of_the_devices() -> None:
    """Their files are closed to others."""
    context = predictor(engine={"image": "quay.io/ascend/vllm-ascend:v0.23.0", "accelerator": "ascend"})["model"]
    assert context["securityContext"] == {"runAsUser": 65532, "runAsGroup": 1000}


@pytest.mark.parametrize("engine", [{"image": STOCK, "instrument": "None"}, {"instrument": "None"}])
def test_without_it_nothing_of_the_package_is_asked_for(engine: dict[str, Any]) -> None:
    """Probes ask vLLM's own page, and the command drops what only the package has."""
    pod = pod_of(predictor(engine=engine))
    container = engine_of(pod)
    assert container["startupProbe"]["httpGet"] == {"path": "/health", "port": 8080}
    assert "exec" not in container["startupProbe"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8080}
    assert "specdec_runtime" not in json.dumps([container["lifecycle"], container["startupProbe"]])
    assert "initContainers" not in pod


def test_without_it_the_command_is_vllms_own(tmp_path: pathlib.Path) -> None:
    """The very command that is rendered, run with a stand-in of vLLM: all flags but the two middlewares arrive."""
    container = engine_of(pod_of(predictor(engine={"image": STOCK, "instrument": "None"})))
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


def test_a_runtime_of_somebody_else_keeps_its_command_its_hook_and_its_user() -> None:
    """What it starts is not known. Its port is the user's to say."""
    model = predictor(engine={"runtime": "platform-vllm", "port": 8000})["model"]
    assert not model.keys() & {"command", "lifecycle", "securityContext", "env"}
    assert {model[each]["httpGet"]["port"] for each in ("startupProbe", "readinessProbe")} == {8000}


def test_a_runtime_that_is_seen_to_start_the_package_is_rendered_as_ever() -> None:
    """One that is built on ours: its pods are as those of our own."""
    seen, ours = (
        predictor(engine={"runtime": "platform-vllm"}, prepared=True)["model"],
        predictor(engine={"runtime": "specdec-nvidia"})["model"],
    )
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


def test_the_plain_pods_beside_have_it_as_well() -> None:
    """Their volume and their init container are those of the speculating pods."""
    speculating = predictor(engine={"image": STOCK})
    pod = pod_of(speculating)
    live = {"spec": {"template": {"metadata": {"labels": {}}, "spec": pod}}}
    arm = render_arm(live, speculating, predictor(engine={"image": STOCK}, plain=True), OWNER, 1)
    made = arm["spec"]["template"]["spec"]
    assert made["initContainers"] == pod["initContainers"]
    assert "/mnt/specdec" in {each["mountPath"] for each in engine_of(made)["volumeMounts"]}
