"""The status of a sis that cannot run as it is written."""

from tests.unit.builders import Body

from specdec_operator.errors import Invalid
from specdec_operator.report.status import SpecRefusal, refused_status
from specdec_operator.schema.status import Status

ERROR = Invalid("spec.model.uri", "hf://x", "write pvc://CLAIM")
BEFORE: Body = {
    "observedGeneration": 1,
    "phase": "RolledBack",
    "reason": "AcceptanceRateLow",
    "message": "acceptance 0.02",
    "conditions": [
        {"type": "Ready", "status": "True", "reason": "Serving", "message": "1 pods", "lastTransitionTime": "T1"},
        {"type": "Reconciling", "status": "True", "reason": "x", "message": "x", "lastTransitionTime": "T1"},
    ],
    "guard": {"state": "RolledBack", "rollbacks": 1},
    "acceptance": {"rate": 0.02},
    "history": [{"at": "T0", "state": "RolledBack"}],
}


def test_it_shows_what_is_wrong_and_keeps_the_rest() -> None:
    """Decisions, measurements and history stay. Running pods keep answering, and Ready still shows it."""
    made = refused_status(BEFORE, SpecRefusal(error=ERROR, generation=2), now=0)
    assert {key: made[key] for key in ("guard", "acceptance", "history")} == {
        key: BEFORE[key] for key in ("guard", "acceptance", "history")
    }
    assert (made["phase"], made["reason"], made["observedGeneration"]) == ("Stalled", "InvalidSpec", 2)
    assert made["message"] == "spec.model.uri: 'hf://x': write pvc://CLAIM"
    ready, stalled = made["conditions"]
    assert (ready["status"], ready["lastTransitionTime"]) == ("True", "T1")
    assert (stalled["type"], stalled["status"], stalled["message"]) == ("Stalled", "True", made["message"])


def test_the_same_refusal_again_changes_nothing() -> None:
    """A second reconcile with the same error has no new status."""
    first = refused_status(BEFORE, SpecRefusal(error=ERROR, generation=2), now=0)
    assert refused_status(first, SpecRefusal(error=ERROR, generation=2), now=60) == first


def test_a_sis_that_was_never_served_is_not_ready() -> None:
    """Nothing is known of its pods."""
    made = refused_status({}, SpecRefusal(error=ERROR, generation=1), now=0)
    assert [(each["type"], each["status"]) for each in made["conditions"]] == [
        ("Ready", "Unknown"),
        ("Stalled", "True"),
    ]
    Status.model_validate(made)
