"""What the chart's hooks decide: which finalizers go, and when the sample of `helm test` has arrived."""

from typing import Any

import pytest

from specdec_operator import selftest, uninstall
from specdec_operator.errors import Unavailable
from specdec_operator.names import FINALIZER


def sis(*finalizers: str, **status: Any) -> dict[str, Any]:
    """A sis of generation 2."""
    meta = {"name": "a", "namespace": "b", "uid": "u", "generation": 2, "resourceVersion": "7"}
    return {"metadata": meta | {"finalizers": list(finalizers)}, "status": status}


@pytest.mark.parametrize(
    ("there", "left"),
    [((), None), (("x/y",), None), ((FINALIZER,), []), (("x/y", FINALIZER, "z/z"), ["x/y", "z/z"])],
    ids=["none", "of others", "ours", "among others"],
)
def test_our_finalizer_goes_and_no_other(there: tuple[str, ...], left: list[str] | None) -> None:
    """Another controller's finalizer is a promise that is not ours to break."""
    patch = uninstall.without_ours(sis(*there))
    assert (patch and patch["metadata"]["finalizers"]) == left


def test_the_patch_names_the_version_that_was_read() -> None:
    """A merge patch replaces the list: without the version a finalizer that came meanwhile would be lost."""
    patch = uninstall.without_ours(sis(FINALIZER))
    assert patch == {"metadata": {"resourceVersion": "7", "finalizers": []}}


def condition(kind: str, status: str) -> dict[str, str]:
    """A condition."""
    return {"type": kind, "status": status, "reason": "Because", "message": "words"}


CHILD = {"metadata": {"ownerReferences": [{"uid": "u"}]}}
STRANGER = {"metadata": {"ownerReferences": [{"uid": "another"}]}}


@pytest.mark.parametrize(
    ("body", "child", "ready", "words"),
    [
        (sis(), None, False, "the operator has not looked at the sample yet"),
        (sis(observedGeneration=1), CHILD, False, "the operator has not looked at the sample yet"),
        (sis(observedGeneration=2), None, False, "there is no InferenceService of it yet"),
        (sis(observedGeneration=2), STRANGER, False, "there is no InferenceService of it yet"),
        (sis(observedGeneration=2), CHILD, False, ""),
        (
            sis(observedGeneration=2, conditions=[condition("Ready", "False")]),
            CHILD,
            True,
            "it is not Ready yet: Ready=False (Because) words",
        ),
        (sis(observedGeneration=2, conditions=[condition("Ready", "True")]), CHILD, True, ""),
    ],
    ids=["new", "older spec", "no child", "a stranger's child", "child", "not ready", "ready"],
)
def test_the_sample_has_arrived_when_nothing_is_missing(
    body: dict[str, Any], child: dict[str, Any] | None, ready: bool, words: str
) -> None:
    """Whoever reads the log of a failed test learns what was waited for last."""
    said = selftest.missing(body, child, ready=ready)
    assert said.startswith(words) if words else said == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, "deleted by somebody else"),
        (sis(observedGeneration=2, conditions=[condition("Stalled", "True")]), "cannot run: Stalled=True"),
    ],
    ids=["gone", "stalled"],
)
def test_what_will_never_arrive_is_not_waited_for(body: dict[str, Any] | None, words: str) -> None:
    """Stalled means that somebody must act."""
    with pytest.raises(Unavailable, match=words):
        selftest.missing(body, None, ready=False)
