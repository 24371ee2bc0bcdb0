"""Judged windows as film strips: which of them count, and the steps from the first failing window to the last."""

import pytest
from tests.unit.builders import (
    FAILED,
    IDLE,
    LOW,
    PASSED,
    PROGRESSING,
    UNREAD,
    make_dry_run,
    make_good,
    make_rollback,
    make_state,
)
from tests.unit.guard.films import Frame, strip

from specdec_operator.guard.state import Phase
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

OUT, WARM, WATCH = Phase.ROLLING_OUT, Phase.WARMING_UP, Phase.WATCHING
RESPOND, BACK = Phase.RESPONDING, Phase.ROLLED_BACK
FAILS: Frame = {"verdict": LOW}


def skew(*pods: str) -> Frame:
    """A window in which these pods fail while others pass."""
    return {
        "verdict": Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message="they fail", pods=pods),
        "pods": frozenset({"a", "b", "c"}),
    }


@pytest.mark.parametrize(
    ("gap", "failures"), [(PASSED, [1, 2, 0, 1, 2]), (UNREAD, [1, 2, 0, 1, 2]), (IDLE, [1, 2, 2, 0, 0])]
)
def test_only_failing_windows_in_a_row_decide(gap: Verdict, failures: list[int]) -> None:
    """A passing window and one that could not be read end the row. A quiet one counts neither way: the third failing
    window decides.
    """
    frames = [(at, {"verdict": verdict}) for at, verdict in enumerate((LOW, LOW, gap, LOW, LOW), start=1)]
    assert [state.failures for state in strip(make_state(), *frames)] == failures


def test_a_window_counts_once_and_a_turn_without_one_keeps_the_count() -> None:
    """Most turns close no window; a turn whose write failed comes again."""
    frames = [(1, FAILS), (2, {}), (3, FAILS | {"closed": 1.0}), (4, FAILS | {"closed": 1.9}), (5, FAILS)]
    assert [state.failures for state in strip(make_state(), *frames)] == [1, 1, 1, 1, 2]


def test_failing_windows_wait_until_they_are_beyond_doubt() -> None:
    """Traffic in bursts fails on and on: the row grows past the limit and acts when it is settled."""
    doubtful = Verdict(outcome=Outcome.FAIL, reason=LOW.reason, message="in bursts", settled=False)
    frames = [(at, {"verdict": doubtful}) for at in range(1, 6)]
    states = strip(make_state(), *frames, (6, FAILS))
    assert [state.failures for state in states] == [1, 2, 3, 4, 5, 0]
    assert states[-1].phase is RESPOND


def test_a_rollback_has_its_reason_and_counts_when_its_pods_serve() -> None:
    """The verdict's own reason and message; the row of failures is spent. One that was only decided does not count."""
    decided, waits, serves = strip(
        make_state(rollbacks=4, failures=2), (7, FAILS), (8, {"rollout": PROGRESSING}), (9, {})
    )
    words = ("AcceptanceRateLow", 7, "acceptance 0.02 < 0.30")
    assert decided.rollback == waits.rollback == make_rollback(*words, pending=True)
    assert (decided.rollbacks, decided.failures, decided.since, decided.rolled_back) == (4, 0, 7, False)
    assert (waits.rollbacks, waits.rolled_back) == (4, False)
    assert (serves.phase, serves.rollback, serves.rollbacks) == (BACK, make_rollback(*words), 5)
    assert serves.rolled_back


def test_a_failed_rollout_has_the_message_of_the_pods() -> None:
    """RolloutFailed, with the reason that the pods gave."""
    (last,) = strip(make_state(OUT), (7, {"rollout": FAILED}))
    assert last.rollback == make_rollback("RolloutFailed", 7, "CrashLoop: pod p ended 3 times", pending=True)


def test_all_steps() -> None:
    """A pod is restarted, twice; fewer tokens; the last good one; none. Each step once, each after failing windows."""
    asked: Frame = {"failure_limit": 1, "reduce_tokens": True, "fewer": 2}
    state = make_state(last_good=(make_good(),))
    films: list[tuple[float, Frame, Phase, str]] = [
        (10, skew("b") | asked, WARM, "s1"),
        (14, asked, WATCH, "s1"),
        (20, skew("b") | asked, WARM, "s1"),
        (24, asked, WATCH, "s1"),
        (30, skew("b") | asked, RESPOND, "s1:2"),
        (31, asked | {"revision": "r2"}, WARM, "s1:2"),
        (35, asked | {"revision": "r2"}, WATCH, "s1:2"),
        (40, FAILS | asked | {"revision": "r2"}, RESPOND, "good:d2"),
        (41, asked | {"revision": "r3"}, WARM, "good:d2"),
        (45, asked | {"revision": "r3"}, WATCH, "good:d2"),
        (50, FAILS | asked | {"revision": "r3"}, RESPOND, "plain"),
        (51, asked | {"revision": "r4"}, BACK, "plain"),
        (99, asked | {"revision": "r4"}, BACK, "plain"),
    ]
    states = strip(state, *((at, frame) for at, frame, _, _ in films))
    assert [(each.phase, each.subject) for each in states] == [(phase, subject) for _, _, phase, subject in films]
    last = states[-1]
    assert (last.restarts, last.rollbacks, last.last_good) == (2, 2, ())


@pytest.mark.parametrize(
    ("windows", "restarted", "failures"),
    [
        ([("b",), ("b",), ("b",)], ("b",), [1, 2, 0]),
        ([("b", "a"), ("a", "b"), ("b",)], ("b",), [1, 2, 0]),
        ([("b", "a"), ("a", "b"), ("a", "b")], ("a",), [1, 2, 0]),
        ([("a",), ("a",), ("b",)], (), [1, 2, 1]),
        ([("a",), ("b",), ("c",)], (), [1, 1, 1]),
        ([("a", "b"), ("b", "c"), ("c", "a")], (), [1, 2, 1]),
        ([("a",), ("b",), ("b",)], (), [1, 1, 2]),
        ([(), (), ("b",)], ("b",), [1, 2, 0]),
    ],
    ids=[
        "the same pod",
        "one of two, in the end",
        "two, the worst first",
        "another one in the last window",
        "each once",
        "none of them in all",
        "a new row",
        "all of them, then one",
    ],
)
def test_a_pod_is_restarted_that_failed_in_all_windows_of_the_row(
    windows: list[tuple[str, ...]], restarted: tuple[str, ...], failures: list[int]
) -> None:
    """Pods that differ from window to window are chance, and begin another row."""
    frames = [(at, skew(*pods) if pods else FAILS) for at, pods in enumerate(windows, start=1)]
    states = strip(make_state(), *frames)
    assert states[-1].restarting == restarted
    assert [state.failures for state in states] == failures


def test_a_restarted_pod_is_named_until_it_is_gone() -> None:
    """A second deletion would have no target: a new pod has a new name."""
    here: Frame = {"pods": frozenset({"a", "b"})}
    gone: Frame = {"pods": frozenset({"a", "d"})}
    states = strip(make_state(failures=2, blamed=("b",)), (1, skew("b") | here), (2, here), (3, gone), (4, gone))
    assert [state.restarting for state in states] == [("b",), ("b",), (), ()]
    assert [state.restarts for state in states] == [1, 1, 1, 1]


def test_the_warm_up_of_a_restarted_pod_is_not_judged() -> None:
    """What the other pods did while it was away is not judged."""
    states = strip(make_state(failures=2, blamed=("b",)), (10, skew("b")), (13.9, FAILS), (14, {}), (20, FAILS))
    assert [(state.phase, state.failures) for state in states] == [(WARM, 0), (WARM, 0), (WATCH, 0), (WATCH, 1)]


def test_a_speculation_that_passes_is_remembered_once() -> None:
    """In each window. The first window sets its time. The decision of a dry run is dropped."""
    good = make_good(4, of="s1")
    state = make_state(failures=2, dry_run=make_dry_run(), last_good=(make_good(),))
    first, second = strip(
        state,
        (1, {"verdict": PASSED, "good": good}),
        (2, {"verdict": PASSED, "good": make_good(4, of="s1", at=9.0)}),
    )
    assert (first.last_good, first.failures, first.dry_run) == ((good, make_good()), 0, None)
    assert second.last_good == first.last_good
