"""Names and paths that a user may not choose, if the spec alone does not show the conflict."""

from typing import Any

import pytest
from tests.unit.builders import NAME, make_sis, make_spec, make_state

from specdec_command.validation.check import check_document
from specdec_command.validation.documents import Document
from specdec_operator.errors import Invalid
from specdec_operator.render.plan import plan

TWO: dict[str, Any] = {
    "model": {"uri": "hf://org/llama:1"},
    "speculation": {"method": "eagle3", "tokens": 3, "draft": {"uri": "hf://org/head:1"}},
}
ONE: dict[str, Any] = TWO | {"speculation": {"method": "ngram", "tokens": 3}}


def mounted(path: str) -> dict[str, Any]:
    return {
        "volumes": [{"name": "states", "emptyDir": {}}],
        "volumeMounts": [{"name": "states", "mountPath": path}],
    }


def claimed(claim: str) -> dict[str, Any]:
    return {"volumes": [{"name": "states", "persistentVolumeClaim": {"claimName": claim}}]}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a label of the operator's": (
        {"pod": {"labels": {"serving.specdec.io/name": "x"}}},
        {"pod": {"labels": {"serving.example/name": "x"}}},
        "spec.pod.labels[serving.specdec.io/name]",
    ),
    "a name that an adapter has too": (
        {"model": {"uri": "pvc://models/x", "name": "a", "adapters": [{"name": "a", "uri": "pvc://models/y"}]}},
        {"model": {"uri": "pvc://models/x", "name": "a", "adapters": [{"name": "b", "uri": "pvc://models/y"}]}},
        "spec.model",
    ),
    "a name that would be a flag": (
        {"model": {"uri": "pvc://models/x", "name": "--port=1", "aliases": ["a"]}},
        {"model": {"uri": "pvc://models/x", "name": "--port=1"}},
        "spec.model.name",
    ),
    "the claim of downloads": (
        {"pod": claimed(f"{NAME}-models")},
        {"pod": claimed(f"{NAME}-states")},
        "spec.pod.volumes[0].persistentVolumeClaim.claimName",
    ),
    **{
        f"{key} of the InferenceService": (
            {"inferenceService": {part: {key: "x"}}},
            {"inferenceService": {part: {f"x.{key}": "x"}}},
            f"spec.inferenceService.{part}[{key}]",
        )
        for part, key in (
            ("labels", "serving.specdec.io/name"),
            ("labels", "serving.kserve.io/inferenceservice"),
            ("labels", "internal.serving.kserve.io/localmodel"),
            ("annotations", "serving.specdec.io/adopt"),
            ("annotations", "serving.kserve.io/deploymentMode"),
            ("annotations", "serving.kserve.io/autoscalerClass"),
            ("annotations", "serving.kserve.io/stop"),
            ("annotations", "serving.kserve.io/enable-prometheus-scraping"),
            ("annotations", "internal.serving.kserve.io/agent"),
        )
    },
    "a place inside what KServe mounts for two downloads": (
        TWO | {"pod": mounted("/mnt/states")},
        TWO | {"pod": mounted("/mntstates")},
        "spec.pod.volumeMounts[0].mountPath",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_operator_and_command_refuse_the_same_reserved_names(what: str) -> None:
    """With the field and a fix. A similar value that is not reserved is accepted."""
    bad, good, field = CASES[what]
    with pytest.raises(Invalid) as refused:
        plan(make_spec(**bad), make_state(), name=NAME)
    assert refused.value.field == field
    plan(make_spec(**good), make_state(), name=NAME)
    assert said(bad) == [field]
    assert said(good) == []


def said(spec: dict[str, Any]) -> list[str]:
    body = make_sis(**spec)
    del body["status"]
    problems = check_document(Document(data=body, line=1, lines={}))
    return [each.path for each in problems if each.severity == "refused"]


def test_one_download_leaves_the_rest_of_the_folder_free() -> None:
    """KServe mounts its own folder only."""
    plan(make_spec(**ONE, pod=mounted("/mnt/states")), make_state(), name=NAME)
