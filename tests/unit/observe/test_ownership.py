"""Which service an object belongs to: by uid, never by name or label. If it belongs to another
owner, the message of the refusal.
"""

from typing import Any

import pytest
from tests.unit.builders import NAME, Body

from specdec_operator.names import ADOPT_ANNOTATION, KIND
from specdec_operator.observe.ownership import Claimant, OwnerView, Standing, is_adopted, look_at, name_taken

OURS = Claimant(uid="sis-1", noted=frozenset({"seen"}))
WRITERS = [{"manager": "kubectl"}, {"manager": "kserve", "subresource": "status"}]
ADOPTS = Claimant(uid="sis-1", adopts=True)


def reference(uid: str, *, controller: bool = True, kind: str = KIND, name: str = NAME) -> Body:
    """An entry of ownerReferences."""
    return {"kind": kind, "name": name, "uid": uid, "controller": controller}


def live(uid: str = "u", *owners: Body, **meta: Any) -> Body:
    """An object with the name and the label of the service."""
    labels = {"serving.specdec.io/name": NAME}
    return {"metadata": {"name": NAME, "uid": uid, "labels": labels, "ownerReferences": [*owners], **meta}}


@pytest.mark.parametrize(
    ("found", "standing"),
    [
        (None, Standing.FREE),
        (live("u", reference("sis-1")), Standing.OURS),
        (live("u", reference("other", controller=False), reference("sis-1")), Standing.OURS),
        (live("seen"), Standing.OURS),
        (live("u"), Standing.LOOSE),
        (live("u", reference("sis-1", controller=False)), Standing.LOOSE),
        (live("u", reference("sis-0")), Standing.HELD),
        (live("seen", reference("other", kind="Deployment")), Standing.HELD),
    ],
)
def test_an_object_is_ours_by_uid(found: Body | None, standing: Standing) -> None:
    """By the controller's uid, or by the object's own uid if it has no controller. A noted
    uid does not override an owner.
    """
    look = look_at(found, OURS)
    assert look.standing is standing
    refused = name_taken("InferenceService", NAME, look, OURS)
    assert (refused is None) is (standing in (Standing.OURS, Standing.FREE))


@pytest.mark.parametrize(
    ("kind", "found", "adopted"),
    [
        ("InferenceService", live(), True),
        ("PersistentVolumeClaim", live(), True),
        ("Job", live(), False),
        ("InferenceService", live("u", reference("other")), False),
        ("InferenceService", live("u", reference("sis-1")), False),
        ("InferenceService", None, False),
    ],
)
def test_only_an_object_without_a_controller_is_adopted(kind: str, found: Body | None, adopted: bool) -> None:
    """And only with the annotation. An object of ours, or one that does not exist, needs no annotation."""
    look = look_at(found, ADOPTS)
    assert is_adopted(kind, look, ADOPTS) is adopted
    assert not is_adopted(kind, look, OURS)
    if adopted:
        assert name_taken(kind, NAME, look, ADOPTS) is None


@pytest.mark.parametrize(
    ("kind", "found", "words"),
    [
        ("InferenceService", live(managedFields=WRITERS), "written by kubectl'"),
        ("InferenceService", live(), f'{ADOPT_ANNOTATION}="true"'),
        (
            "InferenceService",
            live(deletionTimestamp="2026-11-21T12:00:00Z"),
            "written by an unknown client, being deleted",
        ),
        ("InferenceService", live("u", reference("x", kind="Workflow", name="w")), "controlled by Workflow w (uid x)"),
        ("InferenceService", live("u", reference("x", kind="Workflow", name="w")), "does not change this"),
        ("InferenceService", live("u", reference("sis-0")), "its owner is a deleted service of this name"),
        ("PersistentVolumeClaim", live("u", reference("sis-0")), "delete or rename PersistentVolumeClaim llama-models"),
        ("Job", live(), "the operator never takes over a Job"),
    ],
)
def test_the_message_has_the_object_its_owner_the_rule_and_the_way_out(kind: str, found: Body, words: str) -> None:
    """So that a user can mend it without asking."""
    name = f"{NAME}-models" if kind == "PersistentVolumeClaim" else NAME
    error = name_taken(kind, name, look_at(found, OURS), OURS)
    assert error is not None
    assert error.reason == "NameTaken"
    for each in (
        f"{kind} {name}: ",
        "the operator never changes objects of others",
        "continues within 30 s",
        words,
    ):
        assert each in error.message


def test_a_name_without_an_object_is_free() -> None:
    """The result needs no object."""
    assert look_at(None, OURS) == OwnerView(standing=Standing.FREE)
