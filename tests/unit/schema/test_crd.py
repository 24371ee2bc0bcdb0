"""The generated CRD: structural, described, with its rules; the API server's own view is a wire test."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.builders import make_sis

from specdec_operator.api.spec import Spec
from specdec_operator.schema.crd import crd, openapi, structural
from specdec_operator.schema.status import Status

Schema = dict[str, Any]


def walk(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from walk(part, f"{path}.{name}")
    if "items" in schema:
        yield from walk(schema["items"], f"{path}[]")


NODES = dict(walk(openapi(), ""))


def test_nothing_has_a_null_default_and_lists_have_none() -> None:
    """A default inside a list shows as drift in GitOps tools."""
    for path, node in NODES.items():
        assert node.get("default", "") is not None, path
        assert "default" not in node or "[]" not in path, path


def test_every_field_is_described() -> None:
    """`kubectl explain` shows nothing else."""
    ours = {path: node for path, node in NODES.items() if path.startswith((".spec", ".status"))}
    assert [path for path, node in ours.items() if not node.get("description") and not path.endswith("[]")] == []


def test_a_name_that_no_service_can_have_is_refused_at_apply() -> None:
    """KServe makes a Service NAME-predictor, whose name ends at 63 characters and has no dots."""
    (rule,) = NODES[""]["x-kubernetes-validations"]
    assert "size() <= 53" in rule["rule"]
    pattern = re.search(r"matches\('(.*)'\)", rule["rule"])
    assert pattern is not None
    taken = [name for name in ("llama", "a-1", "A", "a.b", "1a", "a-", "-a", "") if re.search(pattern[1], name)]
    assert taken == ["llama", "a-1"]


def test_defaults_of_the_operator_and_the_crd_are_the_same() -> None:
    """For a field that is not set, the operator assumes the value that the API server fills in."""
    assumed = Spec.model_validate({"model": {"uri": "pvc://models"}})
    filled = {"guard": NODES[".spec.guard"]["default"], "engine": NODES[".spec.engine"]["default"]}
    filled["rollout"] = NODES[".spec.rollout"]["default"]
    assert Spec.model_validate({"model": {"uri": "pvc://models"}} | filled) == assumed
    assert filled["guard"]["failureLimit"] == 3


def test_the_status_asks_for_nothing() -> None:
    """A part that a newer version drops must not make old objects unreadable; conditions are a map by type."""
    required = {
        path: node["required"] for path, node in NODES.items() if path.startswith(".status") and "required" in node
    }
    assert required == {".status.conditions[]": ["type"]}
    assert NODES[".status.conditions"]["x-kubernetes-list-map-keys"] == ["type"]


def test_columns_point_at_fields_that_exist() -> None:
    """A wrong path shows as an empty column for ever."""
    (version,) = crd()["spec"]["versions"]
    columns = {each["name"]: each["jsonPath"] for each in version["additionalPrinterColumns"]}
    assert list(columns)[:5] == ["Ready", "Phase", "Method", "K", "Accept"]
    paths = [path for path in columns.values() if "?(" not in path and not path.startswith(".metadata")]
    assert [path for path in paths if path not in NODES] == []


def test_a_union_is_refused_when_the_crd_is_generated() -> None:
    """A structural schema has none; better to stop here than at the API server."""
    with pytest.raises(ValueError, match="no unions"):
        structural({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {})


def test_parts_of_kubernetes_own_are_passed_on() -> None:
    """Tolerations, affinity and resources are not ours to check."""
    assert NODES[".spec.pod.affinity"]["x-kubernetes-preserve-unknown-fields"] is True
    spec = Spec.model_validate(make_sis(resources={"limits": {"nvidia.com/gpu": "1"}})["spec"])
    assert spec.resources == {"limits": {"nvidia.com/gpu": "1"}}


def test_the_status_reads_what_a_newer_version_wrote() -> None:
    assert Status.model_validate({"phase": "Watching", "fromTheFuture": {"a": 1}}).phase == "Watching"
