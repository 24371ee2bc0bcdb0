"""When the sample of `helm test` has arrived."""

from typing import Any

import pytest

from specdec_operator.errors import Unavailable
from specdec_operator.hooks import selftest


def service(**status: Any) -> dict[str, Any]:
    """A service of generation 2."""
    return {"metadata": {"name": "a", "namespace": "b", "uid": "u", "generation": 2}, "status": status}


def condition(kind: str, status: str) -> dict[str, str]:
    """A condition."""
    return {"type": kind, "status": status, "reason": "Because", "message": "words"}


CHILD = {"metadata": {"ownerReferences": [{"uid": "u"}]}}
STRANGER = {"metadata": {"ownerReferences": [{"uid": "another"}]}}


@pytest.mark.parametrize(
    ("body", "child", "ready", "words"),
    [
        (service(), None, False, "the operator has not handled the sample yet"),
        (service(observedGeneration=1), CHILD, False, "the operator has not handled the sample yet"),
        (service(observedGeneration=2), None, False, "its InferenceService does not exist yet"),
        (service(observedGeneration=2), STRANGER, False, "its InferenceService does not exist yet"),
        (service(observedGeneration=2), CHILD, False, ""),
        (
            service(observedGeneration=2, conditions=[condition("Ready", "False")]),
            CHILD,
            True,
            "the sample is not Ready yet: Ready=False (Because) words",
        ),
        (service(observedGeneration=2, conditions=[condition("Ready", "True")]), CHILD, True, ""),
    ],
    ids=["new", "older spec", "no child", "a stranger's child", "child", "not ready", "ready"],
)
def test_the_sample_has_arrived_when_nothing_is_missing(
    body: dict[str, Any], child: dict[str, Any] | None, ready: bool, words: str
) -> None:
    """The log of a failed test shows what the test waited for last."""
    said = selftest.missing(body, child, ready=ready)
    assert said.startswith(words) if words else said == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, "another client deleted the sample"),
        (service(observedGeneration=2, conditions=[condition("Stalled", "True")]), "cannot run: Stalled=True"),
    ],
    ids=["gone", "stalled"],
)
def test_what_will_never_arrive_is_not_waited_for(body: dict[str, Any] | None, words: str) -> None:
    """Stalled means that the user must act."""
    with pytest.raises(Unavailable, match=words):
        selftest.missing(body, None, ready=False)
