"""What became of a write of a guest: which errors are refusals, and how long each waits."""

import pytest
from tests.unit.builders import make_rollback, make_sis, make_state

from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.errors import Invalid, OperatorError, Unavailable
from specdec_operator.guard.state import Phase
from specdec_operator.guest.enforcement import enforcement
from specdec_operator.guest.own_flags import own_flags
from specdec_operator.guest.view import Guest
from specdec_operator.guest.write import GuestWrites, after, digest_of_patch, refusal_of, undone, with_failure
from specdec_operator.reconcile.guest import enforcement_of
from specdec_operator.reconcile.sis import read_sis

LIVE = {
    "metadata": {"name": "theirs", "annotations": {"specdec.io/enforce": "true"}, "resourceVersion": "12"},
    "spec": {"predictor": {"model": {"args": ["--speculative-config={}"]}}},
}
ASKED = {"inferenceServiceRef": {"name": "theirs"}, "guard": {"mode": "Enforce"}}
POLICY = Invalid("InferenceService theirs", "denied", "policy denied request", reason="AdmissionRefused")
TEST_FAILED = Invalid("x", 422, "the server rejected our request due to an error in our request")


def pauses(error: OperatorError, count: int) -> list[float]:
    """Seconds from each failure in a row to the next try."""
    failed, found = None, []
    for at in range(count):
        refusal = refusal_of(error, "d", float(at))
        assert refusal is not None
        failed = after(failed, refusal)
        found.append(failed.due - at)
    return found


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (POLICY, [5, 300, 300]),
        (Invalid("x", 422, "the API server rejected it"), [5, 300, 300]),
        (Invalid("x", "denied", "exceeded quota", reason="QuotaExceeded"), [5, 30, 30]),
        (Unavailable("Forbidden", "cannot patch resource", after=60), [5, 60, 60]),
        (Unavailable("NamespaceTerminating", "it ends"), [5, 60, 60]),
        (TEST_FAILED, [5, 10, 20, 40, 60, 60, 60]),
        (Unavailable("ApiServerRefused", "HTTP 409", status=409), [5, 10, 20, 40, 60]),
    ],
)
def test_a_refusal_waits_for_who_can_mend_it(error: OperatorError, seconds: list[float]) -> None:
    """The first is tried again soon. A write between two changes of its owner succeeds within a minute."""
    assert pauses(error, len(seconds)) == seconds


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_a_server_that_does_not_answer_refuses_nothing(status: int) -> None:
    """The reconcile fails, and is done again."""
    assert refusal_of(Unavailable("ApiServerRefused", "busy", status=status), "d", 1.0) is None


def test_another_write_or_another_cause_counts_from_one() -> None:
    """The failures of one write prove nothing about the next."""
    first = undone("d", 1.0)
    assert after(first, undone("d", 2.0)).times == 2
    assert after(first, undone("other", 2.0)).times == 1
    policy = refusal_of(POLICY, "d", 2.0)
    assert policy is not None
    assert after(first, policy).times == 1
    writes = GuestWrites(failed=after(first, undone("d", 2.0)))
    assert not writes.is_due("d", 301.0)
    assert writes.is_due("d", 302.0)
    assert writes.is_due("other", 3.0)


def test_the_version_that_a_patch_tests_makes_it_no_other_write() -> None:
    """KServe writes the status of an InferenceService all the time."""
    one, two = ([{"op": "test", "path": "/v", "value": at}, {"op": "replace", "path": "/a", "value": 1}] for at in "12")
    assert digest_of_patch(one) == digest_of_patch(two)
    assert digest_of_patch(one) != digest_of_patch([*one, {"op": "remove", "path": "/b"}])


def test_the_condition_has_the_words_of_the_server_and_the_next_try() -> None:
    """Enforcing is False until the write succeeds, and the guard keeps its permission."""
    allowed = enforcement(own_flags(LIVE), uid="u", asked=True)
    failed = refusal_of(POLICY, "d", 1_795_000_000.0)
    told = with_failure(allowed, failed)
    assert (allowed.holds, told.holds, told.may, told.reason) == (True, False, True, "WriteRefused")
    assert told.message.startswith(POLICY.message)
    assert told.message.endswith("failed 1 times; the next try is at 2026-11-18T11:06:45Z")
    conflict = refusal_of(TEST_FAILED, "d", 1.0)
    assert conflict is not None
    assert with_failure(allowed, conflict) == allowed, "its owner changed it at that moment"
    assert with_failure(allowed, after(conflict, conflict)).reason == "WriteRefused"


@pytest.mark.parametrize(("version", "reason"), [(0, "Allowed"), (11, "PutBack"), (12, "Allowed"), (13, "Allowed")])
def test_a_flag_that_is_back_in_a_newer_object_than_ours_was_put_back(version: int, reason: str) -> None:
    """While the rollback is on its way. An older object is only read late."""
    ref = GuestRef(kind=GuestKind.INFERENCE_SERVICE, name="theirs", field="spec.inferenceServiceRef")
    guest = Guest(ref=ref, live=LIVE, flags=own_flags(LIVE))
    sis = read_sis(make_sis(model=None, engine=None, speculation=None, **ASKED))
    state = make_state(Phase.RESPONDING, rollback=make_rollback(pending=True))
    assert enforcement_of(sis, guest, state, GuestWrites(version=version)).reason == reason
