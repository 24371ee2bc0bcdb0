"""The state machine, as film strips: facts at times in, phases out; every phase and each of its exits."""

from typing import Any

import pytest

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.advance import TRANSITIONS, advance, wanting
from specdec_operator.guard.state import Phase, State
from tests.unit.builders import BLOCKED, FAILED, IDLE, LOW, PASSED, PROGRESSING, facts, make_rollback, make_state, view

Frame = dict[str, Any]

PLAIN: Frame = {"speculating": False}
OFF: Frame = {"mode": GuardMode.OFF}
OBSERVE: Frame = {"mode": GuardMode.OBSERVE}
OTHER_PODS: Frame = {"revision": "r2", "rollout": PROGRESSING}
BROKEN_PODS: Frame = {"revision": "r2", "rollout": FAILED}
NO_PODS: Frame = {"revision": "r2", "rollout": BLOCKED}
OTHER_PODS_UP: Frame = {"revision": "r2", "rollout": view()}

OUT, WARM, WATCH, RESPOND, BACK, STALLED, SERVE = (
    Phase.ROLLING_OUT,
    Phase.WARMING_UP,
    Phase.WATCHING,
    Phase.RESPONDING,
    Phase.ROLLED_BACK,
    Phase.STALLED,
    Phase.SERVING,
)


def strip(state: State, *frames: tuple[float, Frame]) -> list[State]:
    """The states after each frame."""
    states = []
    for at, frame in frames:
        state = advance(state, facts(**frame), at)
        states.append(state)
    return states


@pytest.mark.parametrize(
    ("start", "frames", "phases"),
    [
        (OUT, [(5, OTHER_PODS), (9, OTHER_PODS)], [OUT, OUT]),
        (OUT, [(5, {}), (8, {}), (9, {})], [WARM, WARM, WATCH]),
        (OUT, [(5, PLAIN)], [SERVE]),
        (OUT, [(5, OFF)], [SERVE]),
        (OUT, [(5, OBSERVE)], [WARM]),
        (OUT, [(5, BROKEN_PODS)], [RESPOND]),
        (OUT, [(5, BROKEN_PODS | PLAIN)], [STALLED]),
        (OUT, [(5, BROKEN_PODS | OFF)], [STALLED]),
        (OUT, [(5, BROKEN_PODS | OBSERVE), (6, {})], [OUT, WARM]),
        (OUT, [(5, NO_PODS)], [STALLED]),
        (OUT, [(5, NO_PODS | OBSERVE)], [STALLED]),
        (WARM, [(3.9, {}), (4, {})], [WARM, WATCH]),
        (WARM, [(1, OTHER_PODS)], [OUT]),
        (WARM, [(1, OFF)], [SERVE]),
        (WATCH, [(1, {}), (99, {})], [WATCH, WATCH]),
        (WATCH, [(1, OTHER_PODS)], [OUT]),
        (WATCH, [(1, OFF)], [SERVE]),
        (WATCH, [(1, {"rollout": FAILED}), (2, {"rollout": PROGRESSING})], [WATCH, WATCH]),
        (WATCH, [(1, {"verdict": LOW}), (2, {"verdict": LOW}), (3, {"verdict": LOW})], [WATCH, WATCH, RESPOND]),
        (WATCH, [(1, {"verdict": LOW, "failure_limit": 1})], [RESPOND]),
        (WATCH, [(1, {"verdict": LOW} | OTHER_PODS)], [OUT]),
        (RESPOND, [(1, PLAIN | OTHER_PODS), (2, PLAIN | OTHER_PODS_UP)], [RESPOND, BACK]),
        (RESPOND, [(1, PLAIN | BROKEN_PODS)], [STALLED]),
        (RESPOND, [(1, PLAIN | NO_PODS)], [STALLED]),
        (BACK, [(1, PLAIN), (99, PLAIN | {"rollout": FAILED})], [BACK, BACK]),
        (BACK, [(1, PLAIN | OTHER_PODS), (2, PLAIN | OTHER_PODS_UP)], [BACK, BACK]),
        (BACK, [(1, PLAIN | BROKEN_PODS)], [STALLED]),
        (BACK, [(1, PLAIN | NO_PODS)], [STALLED]),
        (STALLED, [(1, PLAIN | {"rollout": FAILED}), (2, PLAIN), (3, PLAIN)], [STALLED, OUT, SERVE]),
        (SERVE, [(1, PLAIN), (2, OFF), (3, {"rollout": FAILED} | OFF)], [SERVE, SERVE, SERVE]),
        (SERVE, [(1, PLAIN | OTHER_PODS)], [OUT]),
        (SERVE, [(1, {}), (5, {})], [WARM, WATCH]),
        (SERVE, [(1, OBSERVE)], [WARM]),
    ],
)
def test_the_transition_table(start: Phase, frames: list[tuple[float, Frame]], phases: list[Phase]) -> None:
    """The state began at 0 s, warm-up is 4 s, three windows convict."""
    assert [state.phase for state in strip(make_state(start), *frames)] == phases


def test_every_phase_has_its_function() -> None:
    """A phase without one would stop the loop."""
    assert set(TRANSITIONS) == set(Phase)


@pytest.mark.parametrize("phase", Phase)
def test_a_turn_without_news_returns_the_same_state(phase: Phase) -> None:
    """So nothing is written: for moving phases the rollout goes on, for the others it is done."""
    news = NO_PODS if phase is STALLED else OTHER_PODS if phase in (OUT, RESPOND) else PLAIN if phase is SERVE else {}
    state = make_state(phase)
    assert advance(state, facts(**news), 1) == state


@pytest.mark.parametrize("gap", [PASSED, IDLE])
def test_only_failing_windows_in_a_row_convict(gap: Any) -> None:
    """A passing window and one without evidence end the row."""
    frames = [(at, {"verdict": verdict}) for at, verdict in enumerate((LOW, LOW, gap, LOW, LOW))]
    assert [state.failures for state in strip(make_state(), *frames)] == [1, 2, 0, 1, 2]


def test_a_turn_without_a_verdict_keeps_the_count() -> None:
    """Most turns close no window."""
    assert [state.failures for state in strip(make_state(), (1, {"verdict": LOW}), (2, {}))] == [1, 1]


def test_a_rollback_says_why_and_counts() -> None:
    """The verdict's own reason and words; the row of failures is spent."""
    *_, last = strip(make_state(rollbacks=4, failures=2), (7, {"verdict": LOW}))
    assert last.rollback == make_rollback("AcceptanceRateLow", 7, "acceptance 0.02 < 0.30")
    assert (last.rollbacks, last.failures, last.since) == (5, 0, 7)


def test_a_failed_rollout_is_told_in_the_pods_words() -> None:
    """RolloutFailed, with the reason that the pods gave."""
    (last,) = strip(make_state(OUT), (7, BROKEN_PODS))
    assert last.rollback == make_rollback("RolloutFailed", 7, "CrashLoop: pod p ended 3 times")


def test_a_finished_rollout_is_remembered_by_its_revision() -> None:
    """A later turn tells by it whether the spec asks for other pods."""
    for phase in (OUT, RESPOND, BACK):
        (last,) = strip(make_state(phase), (1, OTHER_PODS_UP))
        assert last.revision == "r2"


def test_a_rolled_back_service_that_stalls_and_heals_stays_rolled_back() -> None:
    """The decision against speculation outlives trouble with the plain pods."""
    state = make_state(RESPOND, rollback=make_rollback())
    frames = [(1, PLAIN | BROKEN_PODS), (2, PLAIN | OTHER_PODS_UP), (3, PLAIN | OTHER_PODS_UP)]
    states = strip(state, *frames)
    assert [each.phase for each in states] == [STALLED, BACK, BACK]
    assert (states[-1].rollback, states[-1].revision) == (make_rollback(), "r2")


@pytest.mark.parametrize(("rollback", "after"), [(None, OUT), (make_rollback(), RESPOND)])
def test_a_user_who_acts_ends_a_stall(rollback: Any, after: Phase) -> None:
    """Other pods are asked for than those that failed: they roll out, with a deadline of their own."""
    stalled = make_state(STALLED, since=10.0, wanted="r1", wanted_since=5.0, rollback=rollback)
    assert advance(stalled, facts(rollout=BLOCKED), 20) == stalled
    acted = wanting(stalled, "r2", 30)
    assert advance(acted, facts(**PLAIN | OTHER_PODS), 30).phase is after


class TestObserve:
    """Mode Observe says what it would have done and never changes what is served."""

    def test_a_conviction_is_noted_and_watching_goes_on(self) -> None:
        """The row starts again, no rollback is counted."""
        frames = [(at, OBSERVE | {"verdict": LOW}) for at in (1, 2, 3, 4)]
        states = strip(make_state(), *frames)
        assert [state.phase for state in states] == [WATCH] * 4
        assert [state.failures for state in states] == [1, 2, 0, 1]
        assert states[-1].would_roll_back == make_rollback("AcceptanceRateLow", 3, "acceptance 0.02 < 0.30")
        assert (states[-1].rollback, states[-1].rollbacks) == (None, 0)

    def test_the_same_conviction_again_is_no_news(self) -> None:
        """Else a bad draft under Observe would write each window."""
        frames = [(at, OBSERVE | {"verdict": LOW}) for at in range(1, 7)]
        states = strip(make_state(), *frames)
        assert states[5].would_roll_back == states[2].would_roll_back

    def test_another_reason_is_news(self) -> None:
        """A rollout that fails is another fault than a low acceptance."""
        state = make_state(OUT, would_roll_back=make_rollback("AcceptanceRateLow"))
        (last,) = strip(state, (9, OBSERVE | BROKEN_PODS))
        assert last.would_roll_back == make_rollback("RolloutFailed", 9, "CrashLoop: pod p ended 3 times")

    def test_a_rollout_that_keeps_failing_is_noted_once(self) -> None:
        """The pods crash on; nothing changes any more."""
        first, second = strip(make_state(OUT), (9, OBSERVE | BROKEN_PODS), (12, OBSERVE | BROKEN_PODS))
        assert first == second


def test_the_deadline_counts_from_when_a_revision_was_first_wanted() -> None:
    """Asking for the same again does not put the deadline off; asking for another one does."""
    state = wanting(make_state(wanted=None), "r2", 10)
    assert (state.wanted, state.wanted_since) == ("r2", 10)
    assert wanting(state, "r2", 99) == state
    assert wanting(state, "r3", 99).wanted_since == 99
