"""What the user's own acts make of a decision: another speculation, a retry, or the same file once more."""

import pytest

from specdec_operator.guard.advance import begin, renewed
from specdec_operator.guard.state import Phase, State
from tests.unit.builders import make_rollback, make_state

ROLLED_BACK = make_state(
    Phase.ROLLED_BACK,
    rollback=make_rollback(),
    would_roll_back=make_rollback("RolloutFailed"),
    rollbacks=2,
    handled_retry="1",
    failures=1,
    wanted="r2",
    wanted_since=50.0,
)


def afresh(speculation: str, retry: str | None) -> State:
    """Speculation asked for anew at 99 s; only the number of rollbacks and the pods that run are remembered."""
    return State(
        phase=Phase.ROLLING_OUT,
        since=99,
        speculation=speculation,
        revision="r1",
        rollbacks=2,
        handled_retry=retry,
    )


@pytest.mark.parametrize(
    ("speculation", "retry", "after"),
    [
        ("s1", "1", ROLLED_BACK),
        ("s1", None, ROLLED_BACK),
        ("s1", "2", afresh("s1", "2")),
        ("s2", "1", afresh("s2", "1")),
        ("s2", "3", afresh("s2", "3")),
    ],
    ids=["the same file", "the annotation went", "a new nonce", "another speculation", "both"],
)
def test_a_rollback_stays_unless_the_user_asks_for_more(speculation: str, retry: str | None, after: State) -> None:
    """GitOps applies the same file again and again: that asks for nothing."""
    assert renewed(ROLLED_BACK, speculation, retry, 99) == after


@pytest.mark.parametrize("phase", [Phase.WATCHING, Phase.ROLLING_OUT, Phase.SERVING])
def test_a_retry_without_a_rollback_is_noted_and_disturbs_nothing(phase: Phase) -> None:
    """Handled means that the same value does not fire after a later rollback."""
    state = make_state(phase, failures=2)
    after = renewed(state, "s1", "7", 99)
    assert (after.handled_retry, after.phase, after.failures, after.since) == ("7", phase, 2, 0.0)


def test_a_stalled_rollback_can_be_retried() -> None:
    """The plain service does not come up either; the user may ask for speculation again."""
    state = make_state(Phase.STALLED, rollback=make_rollback(), rollbacks=1)
    assert renewed(state, "s1", "2", 99).phase is Phase.ROLLING_OUT


def test_a_retry_annotation_that_was_there_from_the_start_asks_for_nothing() -> None:
    """A copied manifest may carry one."""
    state = begin("s1", "old", 0)
    assert renewed(state, "s1", "old", 5) == state
    assert (state.phase, state.handled_retry) == (Phase.ROLLING_OUT, "old")
