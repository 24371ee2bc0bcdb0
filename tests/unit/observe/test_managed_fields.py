"""What others wrote into the spec is ours once it is taken over; nothing else is."""

from typing import Any

from tests.unit.builders import Body

from specdec_operator.names import CHILD_MANAGER
from specdec_operator.observe.managed_fields import merged, taken_over

SPEC: Body = {"f:predictor": {"f:maxReplicas": {}, "f:model": {".": {}, "f:args": {}}}}
OURS: Body = {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:predictor": {"f:model": {"f:runtime": {}}}}}


def entry(manager: str, fields: Body, operation: str = "Update", **more: Any) -> Body:
    """An entry of managedFields."""
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields, **more}


def test_the_spec_of_others_joins_ours() -> None:
    """The labels of other managers stay theirs, an entry without other fields is removed,
    and the status is not touched.
    """
    status = entry("kserve", {"f:status": {}}, subresource="status")
    notes = {"f:metadata": {"f:annotations": {}}}
    entries = [
        entry(CHILD_MANAGER, OURS, "Apply", time="t"),
        entry("kubectl", {**notes, "f:spec": SPEC}),
        entry("another", {"f:spec": {"f:predictor": {"f:timeout": {}}}}, "Apply"),
        status,
    ]
    made = taken_over(entries)
    assert made is not None
    both = {"f:maxReplicas": {}, "f:timeout": {}, "f:model": {".": {}, "f:args": {}, "f:runtime": {}}}
    fields = {"f:metadata": OURS["f:metadata"], "f:spec": {"f:predictor": both}}
    assert made[0] == entry(CHILD_MANAGER, fields, "Apply", time="t", fieldsType="FieldsV1")
    assert made[1:] == [entry("kubectl", notes), status]


def test_what_our_own_updates_wrote_is_taken_too() -> None:
    """The API server records a webhook's defaults as an Update by the manager that applied."""
    made = taken_over([entry(CHILD_MANAGER, {"f:spec": SPEC})])
    assert made is not None
    assert [(each["operation"], each["fieldsV1"]) for each in made] == [("Apply", {"f:spec": SPEC})]


def test_where_all_is_ours_nothing_is_written() -> None:
    """What an older service of ours left needs no write before the apply."""
    assert taken_over([entry(CHILD_MANAGER, OURS, "Apply"), entry("kserve", {"f:metadata": {}})]) is None
    assert taken_over([]) is None


def test_a_union_has_every_field() -> None:
    """Of both, at every depth."""
    assert merged({"a": {"b": {}}}, {"a": {"c": {}}, "d": {}}) == {"a": {"b": {}, "c": {}}, "d": {}}
