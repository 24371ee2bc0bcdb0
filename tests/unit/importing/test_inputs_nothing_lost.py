"""Each field of a runtime and of a Deployment is carried over, replaced or listed, known fields and unknown ones."""

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.importing.inference_service import read
from specdec_command.importing.inputs import inputs_of
from specdec_command.importing.platform import accelerator_of
from specdec_command.importing.service import Wanted, imported, text
from specdec_operator.engine.build import build_of

RUNTIME: dict[str, Any] = {
    "kind": "ServingRuntime",
    "metadata": {"name": "fast"},
    "spec": {"containers": [{"name": "kserve-container", "args": ["--model=/mnt/models"]}]},
}
SERVICE: dict[str, Any] = {
    "kind": "InferenceService",
    "metadata": {"name": "svc"},
    "spec": {"predictor": {"model": {"runtime": "fast", "storageUri": "pvc://weights"}}},
}
DEPLOYMENT: dict[str, Any] = {
    "kind": "Deployment",
    "metadata": {"name": "svc"},
    "spec": {"template": {"spec": {"containers": [{"name": "vllm", "args": ["vllm", "--model=acme/chat"]}]}}},
}
MARK = "marked"
PROBE = {"httpGet": {"path": f"/{MARK}", "port": 8000}}
CONTAINER: dict[str, Any] = {
    **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), PROBE),
    "lifecycle": {"preStop": PROBE},
    "env": [{"name": "MARKED", "value": MARK}],
    "envFrom": [{"configMapRef": {"name": MARK}}],
    "ports": [{"containerPort": 8000, "name": MARK}],
    "image": f"{MARK}/vllm:1",
    "imagePullPolicy": "Always",
    "workingDir": f"/{MARK}",
    "resources": {"limits": {"memory": "7Gi"}},
    "securityContext": {"runAsUser": 4711},
    "volumeDevices": [{"name": MARK, "devicePath": "/dev/x"}],
    "restartPolicy": "Always",
    "stdin": True,
    "args": [f"--{MARK}=1"],
    "terminationMessagePath": f"/{MARK}",
}
POD: dict[str, Any] = {
    "nodeSelector": {"zone": MARK},
    "tolerations": [{"key": MARK, "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": MARK}]}},
    "imagePullSecrets": [{"name": MARK}],
    "schedulerName": MARK,
    "volumes": [{"name": MARK, "emptyDir": {}}],
    "hostNetwork": True,
}
OF_RUNTIME: dict[str, Any] = {
    **POD,
    "labels": {"zone": MARK},
    "annotations": {"zone": MARK},
    "workerSpec": {"pipelineParallelSize": 2},
    "storageConfig": MARK,
}
OF_DEPLOYMENT: dict[str, Any] = {
    "replicas": 3,
    "strategy": {"type": "Recreate"},
    "selector": {"matchLabels": {"zone": MARK}},
    "revisionHistoryLimit": 4711,
    "progressDeadlineSeconds": 4711,
    "minReadySeconds": 4711,
    "paused": True,
}
OF_TEMPLATE: dict[str, Any] = {
    **POD,
    "initContainers": [{"name": MARK}],
    "serviceAccountName": MARK,
    "priorityClassName": MARK,
    "terminationGracePeriodSeconds": 4711,
    "hostAliases": [{"ip": "10.0.0.1"}],
    "dnsPolicy": "None",
}
HOLDERS = {
    "runtime": (("spec",), OF_RUNTIME),
    "runtime's container": (("spec", "containers", 0), CONTAINER),
    "Deployment": (("spec",), OF_DEPLOYMENT),
    "Deployment's pods": (("spec", "template", "spec"), OF_TEMPLATE),
    "Deployment's container": (("spec", "template", "spec", "containers", 0), CONTAINER),
}
CASES = [(holder, field) for holder, (_, fields) in HOLDERS.items() for field in fields]


def converted(*bodies: dict[str, Any]) -> str:
    (source,) = inputs_of(bodies).sources
    parts = read(source)
    made = imported(parts, Wanted(build=build_of(accelerator_of(parts)[0].value, None)))
    assert made.body is not None, made.why_not
    return text(made, "a test")


def with_field(holder: str, field: str, value: Any) -> str:
    base = copy.deepcopy(RUNTIME if holder.startswith("runtime") else DEPLOYMENT)
    place: Any = base
    for step in HOLDERS[holder][0]:
        place = place[step]
    place[field] = [*place.get(field, []), *value] if field == "args" else value
    return converted(base, *([SERVICE] if holder.startswith("runtime") else []))


def leaves(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for each in value.values() for text in leaves(each)}
    if isinstance(value, list):
        return {text for each in value for text in leaves(each)}
    return {str(value)}


@pytest.mark.parametrize(("holder", "field"), CASES)
def test_a_known_field_is_carried_or_reported(holder: str, field: str) -> None:
    """All of its values are in the service, or a comment names the field."""
    value = HOLDERS[holder][1][field]
    out = with_field(holder, field, value)
    comments = [each for each in out.splitlines() if each.startswith("#")]
    found = yaml.safe_load(out)
    carried = leaves(value) <= leaves(found["spec"])
    assert carried or any(field in each or f"--{MARK}" in each for each in comments), out


@settings(max_examples=30, deadline=None)
@given(
    holder=st.sampled_from(sorted(HOLDERS)),
    field=st.text("abcdefghij", min_size=6, max_size=9),
    value=st.one_of(
        st.integers(1, 9), st.text("xyz", min_size=1), st.lists(st.just("x"), min_size=1), st.just({"a": 1})
    ),
)
def test_an_unknown_field_is_reported(holder: str, field: str, value: Any) -> None:
    """Kubernetes and KServe add fields; none of them may disappear without a line."""
    (line,) = (each for each in with_field(holder, field, value).splitlines() if field in each)
    assert line.startswith("# NOT CARRIED OVER: ")


ODD = [None, 3, True, "x", [], [3], {}, {"a": [3]}, [{"name": 3}], "{{", "$("]


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for key, below in inner for each in paths(below, (*path, key)))]


def everything() -> list[dict[str, Any]]:
    """A runtime, its service and a Deployment with all known fields."""
    runtime, deployment = copy.deepcopy(RUNTIME), copy.deepcopy(DEPLOYMENT)
    runtime["spec"] |= OF_RUNTIME | {"supportedModelFormats": [{"name": "vLLM", "autoSelect": True}]}
    runtime["spec"]["containers"][0] |= CONTAINER
    deployment["spec"] |= OF_DEPLOYMENT
    deployment["spec"]["template"]["spec"] |= OF_TEMPLATE
    deployment["spec"]["template"]["spec"]["containers"][0] |= CONTAINER
    service = copy.deepcopy(SERVICE)
    service["spec"]["predictor"] |= OF_TEMPLATE
    service["spec"]["predictor"]["model"] |= CONTAINER | {"modelFormat": {"name": "vLLM"}}
    return copy.deepcopy([runtime, service, deployment])


PATHS = [each for each in paths(everything()) if len(each) > 1 and each[-1] != "kind"]


@settings(max_examples=40, deadline=None)
@given(path=st.sampled_from(PATHS), value=st.sampled_from(ODD))
def test_an_odd_value_causes_no_traceback(path: tuple[Any, ...], value: Any) -> None:
    """Whatever stands at one place of a file, the command ends with an exit code that it documents."""
    bodies: Any = everything()
    holder = bodies
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    result = CliRunner().invoke(application(), ["import", "-"], input=yaml.safe_dump_all(bodies))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1, 2, 3)
