"""Others who change the InferenceService: reverted at once, then later each time, and reported."""

import itertools
from typing import Any

import pytest

from specdec_operator.names import CHILD_MANAGER, OWNER_LABEL
from specdec_operator.observe.inference_service import changed_by, metadata_marks
from specdec_operator.reconcile.write_conflict import WriteConflict

OWNER = {"kind": "SpeculativeInferenceService", "name": "llama", "uid": "u-1", "controller": True}
OURS: dict[str, Any] = {
    "labels": {OWNER_LABEL: "llama"},
    "annotations": {"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "none"},
    "ownerReferences": [OWNER],
}


def test_one_change_is_reverted_at_once_and_not_reported() -> None:
    """After a single edit by hand the user sees the reverted object, and no message."""
    begun = WriteConflict()
    assert begun.due == 0.0
    assert begun.put_back("kubectl-edit", 100.0).words == ""


def test_who_changes_it_again_and_again_waits_longer_each_time_and_is_named() -> None:
    """Six times in the first minute, then once a minute; in an hour less than seventy times."""
    contest, at, times = WriteConflict(), 0.0, []
    while at < 3600.0:
        contest = contest.so_far(at).put_back("argocd", at)
        times.append(at)
        at = contest.due
    assert sum(each < 60.0 for each in times) <= 6
    assert all(after - before <= 60.0 for before, after in itertools.pairwise(times))
    assert len(times) < 70
    assert contest.words.startswith("argocd changes the InferenceService repeatedly")


def test_peace_ends_it() -> None:
    """After ten minutes without a change by others the next one is put back at once."""
    fought = WriteConflict(times=9, at=1000.0, by="argocd")
    assert fought.so_far(1500.0).times == 9
    assert fought.so_far(1601.0) == WriteConflict()


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        (OURS, True),
        (OURS | {"labels": OURS["labels"] | {"team": "a"}}, True),
        (OURS | {"annotations": OURS["annotations"] | {"note": "b"}}, True),
        (OURS | {"ownerReferences": [OWNER, {"kind": "X", "name": "x", "uid": "u-2"}]}, True),
        (OURS | {"labels": {}}, False),
        (OURS | {"annotations": {"serving.kserve.io/deploymentMode": "Standard"}}, False),
        (OURS | {"annotations": OURS["annotations"] | {"serving.kserve.io/deploymentMode": "Knative"}}, False),
        (OURS | {"annotations": OURS["annotations"] | {"team/note": "x" * 99}}, True),
        (OURS | {"ownerReferences": None}, False),
        (OURS | {"ownerReferences": [OWNER | {"controller": False}]}, False),
        (OURS | {"ownerReferences": [OWNER | {"uid": "u-2"}]}, False),
    ],
)
def test_metadata_of_others_is_theirs_and_missing_metadata_of_ours_is_found(there: dict[str, Any], kept: bool) -> None:
    """A missing label, mode or owner is restored. Metadata of other managers stays."""
    assert (metadata_marks({"metadata": OURS}) <= metadata_marks({"metadata": there})) is kept


@pytest.mark.parametrize("text", ["short", "x" * 99])
def test_missing_metadata_of_the_user_is_found_too(text: str) -> None:
    """A label is not an annotation of the same name, and a long text differs from another one."""
    asked = metadata_marks({"metadata": OURS | {"annotations": {"note": text}}})
    assert asked <= metadata_marks({"metadata": OURS | {"annotations": {"note": text, "more": "x"}}})
    assert not asked <= metadata_marks({"metadata": OURS | {"annotations": {"note": f"{text}."}}})
    assert not asked <= metadata_marks({"metadata": OURS | {"labels": OURS["labels"] | {"note": text}}})


def test_the_last_other_manager_of_the_spec_is_named() -> None:
    """Our own writes, and those of the manager that wrote the status, do not change the spec."""
    fields = [
        {"manager": "kubectl-edit", "time": "2026-11-20T10:00:00Z"},
        {"manager": "argocd", "time": "2026-11-20T11:00:00Z"},
        {"manager": "kserve", "time": "2026-11-20T12:00:00Z", "subresource": "status"},
        {"manager": CHILD_MANAGER, "time": "2026-11-20T13:00:00Z"},
    ]
    assert changed_by({"metadata": {"managedFields": fields}}) == "argocd"
    assert changed_by({"metadata": {}}) == ""
