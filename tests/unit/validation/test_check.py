"""A document is judged as the API server and the engine would: never a traceback, and always the same."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from tests.unit.specs import SPEC, garbage, values

from specdec_command.cli.render import rendering
from specdec_command.validation.check import DocumentProblem, check_document, crd_schema
from specdec_command.validation.documents import Document, documents
from specdec_command.validation.schema import filled
from specdec_engine.rule import Severity
from specdec_operator.api.spec import Spec
from specdec_operator.errors import Invalid


def service(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "serving.specdec.io/v1alpha1",
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": "llama"},
        "spec": spec,
    }


def judged(body: Any) -> tuple[DocumentProblem, ...]:
    return check_document(Document(data=body, line=1, lines={}))


@given(garbage())
def test_garbage_is_refused_with_an_error(spec: Any) -> None:
    """Wrong types everywhere, unknown fields, nothing at all."""
    for remark in judged(service(spec)):
        assert remark.message
        assert remark.rule
        json.dumps(remark.value, default=str)


@given(values(SPEC))
def test_what_the_api_server_takes_is_judged_and_rendered_the_same_twice(spec: dict[str, Any]) -> None:
    body = service(spec)
    said = judged(body)
    assert said == judged(json.loads(json.dumps(body)))
    if any(each.severity is Severity.REFUSED for each in said) or "model" not in spec:
        return
    once = rendering(body, target=None, draft=None, baseline=False)
    assert once == rendering(json.loads(json.dumps(body)), target=None, draft=None, baseline=False)
    assert rendering(body, target=None, draft=None, baseline=True).manifest["metadata"] == once.manifest["metadata"]


@given(values(SPEC))
def test_a_spec_that_is_written_and_read_is_the_same(spec: dict[str, Any]) -> None:
    """parse(dump(x)) == x, with defaults filled in or not."""
    if any(each.rule.startswith(("SCHEMA", "API")) for each in judged(service(spec))):
        return
    parsed = Spec.model_validate(filled(service(spec), crd_schema())["spec"])
    assert Spec.model_validate(spec) == parsed
    text = yaml.safe_dump(spec)
    (document,) = documents(text)
    assert Spec.model_validate(document.data) == parsed


def test_another_version_of_the_api_is_refused() -> None:
    ((remark),) = judged(service({}) | {"apiVersion": "serving.specdec.io/v9"})
    assert (remark.path, remark.message) == ("apiVersion", "must be serving.specdec.io/v1alpha1")


def test_a_method_that_the_engine_would_replace_is_refused_as_the_operator_does() -> None:
    """By the folder inside an artifact, which the engine sees in the draft's path."""
    draft = {"uri": "hf://org/heads:main", "path": "eagle3-head"}
    spec = {"model": {"uri": "pvc://m/t"}, "speculation": {"method": "draft_model", "tokens": 3, "draft": draft}}
    assert "METHOD-REPLACED" in {each.rule for each in judged(service(spec)) if each.severity is Severity.REFUSED}


def test_what_cannot_be_mounted_is_refused_as_the_operator_does() -> None:
    """Invalid is one word for both."""
    spec = {"model": {"uri": "pvc://Models"}}
    (remark,) = judged(service(spec))
    assert (remark.path, remark.rule) == ("spec.model.uri", "SPEC-INVALID")
    with pytest.raises(Invalid) as refused:
        rendering(service(spec), target=None, draft=None, baseline=False)
    assert refused.value.field == remark.path
