"""What is kept of a service: ours of the annotations, no spec without bounds, and the size of one that was dropped."""

import json
from typing import Any

import pytest
from tests.unit.builders import NAME, NAMESPACE

from specdec_operator.app.intake import kept, outline, read_answer, short_line
from specdec_operator.names import API_VERSION, KIND, OWNER_LABEL
from specdec_operator.reconcile.sis import MOST_SPEC_BYTES, TOO_LARGE, parse
from specdec_operator.report.status import SpecRefusal

SPEC: dict[str, Any] = {"model": {"uri": "pvc://models/target"}}


def _body(spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
    named = {"name": NAME, "namespace": NAMESPACE, "uid": "u", "generation": 3, **meta}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": named, "spec": spec}


def _large(size: int) -> dict[str, Any]:
    """A spec of exactly so many bytes."""
    spec = {**SPEC, "pod": {"annotations": {"a": ""}}}
    spec["pod"] = {"annotations": {"a": "x" * (size - len(json.dumps(spec, separators=(",", ":"))))}}
    return spec


def test_only_our_annotations_are_kept() -> None:
    """What was applied last is the whole spec once more, and may have 256 KiB."""
    noted = {"kubectl.kubernetes.io/last-applied-configuration": "{}" * 1000, "specdec.io/hold": "yes"}
    meta = kept(_body(SPEC, annotations=noted, managedFields=[{}]))["metadata"]
    assert meta["annotations"] == {"specdec.io/hold": "yes"}
    assert "managedFields" not in meta


@pytest.mark.parametrize("text", ["x", "é"])
def test_the_largest_spec_is_kept_and_one_byte_more_is_not(text: str) -> None:
    """In bytes of UTF-8, as the API server counts."""
    largest = json.loads(json.dumps(_large(MOST_SPEC_BYTES)))
    assert kept(_body(largest))["spec"] == largest
    small = kept(_body(_large(MOST_SPEC_BYTES + 1)))
    assert (small["spec"], small[TOO_LARGE]) == ({}, MOST_SPEC_BYTES + 1)
    assert kept(small) == small
    wide = {**SPEC, "pod": {"annotations": {"a": text * MOST_SPEC_BYTES}}}
    assert kept(_body(wide))[TOO_LARGE] > len(text.encode()) * MOST_SPEC_BYTES


def test_a_spec_that_was_dropped_is_refused_with_size_limit_and_way_out() -> None:
    """And an older one that could be followed is followed on."""
    parsed = parse(kept(_body(_large(1_400_000))), (2, SPEC), ())
    assert isinstance(parsed.newest, SpecRefusal)
    error = parsed.newest.error
    assert (error.reason, error.field, error.value, parsed.newest.generation) == ("SpecTooLarge", "spec", 1_400_000, 3)
    assert f"{NAMESPACE}/{NAME}" in error.message
    assert "65536: remove large values from pod" in error.message
    assert parsed.older is not None


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_long_list_is_read_as_any_other_without_what_is_too_large(number: int) -> None:
    """Whatever stands before and behind its objects, and as the server writes it: without spaces."""
    padding = _body(SPEC, uid="p" * 1_100_000)
    items = [padding, *(_body(_large(1_000_000)) for _ in range(number))]
    answer = {"apiVersion": API_VERSION, "items": items, "kind": f"{KIND}List", "metadata": {"continue": "c"}}
    read = read_answer(json.dumps(answer, separators=(",", ":")))
    assert {**read, "items": []} == {**answer, "items": []}
    assert read["items"] == [kept(each) for each in items]


@pytest.mark.parametrize("answer", [{}, {"items": []}, {"items": [{"kind": "Pod"}], "metadata": {}}, [1]])
def test_other_answers_are_read_as_they_are(answer: Any) -> None:
    """Short answers, and those that are not lists."""
    assert read_answer(json.dumps(answer)) == answer


def test_an_event_about_a_spec_that_is_too_large_is_short() -> None:
    """Before kopf parses and keeps it; every other line is left as it is."""
    large = json.dumps({"type": "ADDED", "object": _body(_large(2 * MOST_SPEC_BYTES))}).encode()
    event = json.loads(short_line(large))
    assert (event["type"], event["object"]["spec"], event["object"][TOO_LARGE]) == ("ADDED", {}, 2 * MOST_SPEC_BYTES)
    other = large.replace(KIND.encode(), b"Pod")
    small = json.dumps({"type": "ADDED", "object": _body(SPEC)}).encode()
    assert [short_line(line) for line in (other, small, b"")] == [other, small, b""]


@pytest.mark.parametrize("part", ["spec", "status"])
def test_of_a_large_object_of_another_kind_its_identity_is_kept(part: str) -> None:
    """Any user may label one so that it is watched. Managed fields do not count, and are not kept."""
    meta = {"name": "x", "namespace": "n", "uid": "u", "labels": {OWNER_LABEL: "llama", "other": "x" * 300_000}}
    entry = {"manager": "m", "time": "t", "fieldsV1": {"f:spec": "x" * 300_000}}
    pod = {"kind": "Pod", "metadata": {**meta, "managedFields": [entry]}, part: {"junk": ["x" * 9] * 30_000}}
    wanted = {"metadata": {**meta, "labels": {OWNER_LABEL: "llama"}}, "spec": {}, "status": {}}
    event = json.loads(short_line(json.dumps({"type": "ADDED", "object": pod}).encode()))
    assert event == {"type": "ADDED", "object": {"kind": "Pod", **wanted}}
    del pod["kind"]  # as in a list of such
    listed = read_answer(json.dumps({"items": [pod] * 2}, separators=(",", ":")))
    assert listed["items"] == [wanted] * 2
    small = {"metadata": {"name": "x", "managedFields": [entry]}, "spec": {"a": 1}}
    kept_entry = {"manager": "m", "time": "t"}
    assert outline(small) == {"metadata": {"name": "x", "managedFields": [kept_entry]}, "spec": {"a": 1}}


def test_a_status_or_metadata_that_only_another_client_can_have_written_is_dropped() -> None:
    """The status of 300 kB, and labels of 70 kB; the rest of the service is kept."""
    junk = {f"k{number}": "x" * 70 for number in range(1000)}
    body = _body(SPEC, labels=junk, finalizers=["f"]) | {"status": {"phase": "Watching", "junk": ["x" * 60] * 5000}}
    small = kept(body)
    assert small["status"] == {}
    assert small["metadata"] == _body(SPEC, finalizers=["f"])["metadata"] | {"annotations": {}}
    assert small["spec"] == SPEC
