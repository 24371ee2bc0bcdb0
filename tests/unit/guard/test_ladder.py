"""The steps as film strips: what follows what, from the first failing window to the last step and back."""

from typing import Any

import pytest
from tests.unit.builders import (
    BLOCKED,
    FAILED,
    IDLE,
    LOW,
    PASSED,
    UNREAD,
    make_dry_run,
    make_good,
    make_plain,
    make_reduction,
    make_rollback,
    make_state,
    pace,
)
from tests.unit.guard.films import Frame, strip

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.user_intent import BY_REQUEST
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

OUT, WARM, WATCH = Phase.ROLLING_OUT, Phase.WARMING_UP, Phase.WATCHING
RESPOND, BACK = Phase.RESPONDING, Phase.ROLLED_BACK
FAILS: Frame = {"verdict": LOW}
RETRY: Frame = {"retry_after": 100.0, "retry_limit": 2}


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


def test_a_rollback_has_its_reason_and_counts() -> None:
    """The verdict's own reason and message; the row of failures is spent."""
    *_, last = strip(make_state(rollbacks=4, failures=2), (7, FAILS))
    assert last.rollback == make_rollback("AcceptanceRateLow", 7, "acceptance 0.02 < 0.30")
    assert (last.rollbacks, last.failures, last.since) == (5, 0, 7)


def test_a_failed_rollout_has_the_message_of_the_pods() -> None:
    """RolloutFailed, with the reason that the pods gave."""
    (last,) = strip(make_state(OUT), (7, {"rollout": FAILED}))
    assert last.rollback == make_rollback("RolloutFailed", 7, "CrashLoop: pod p ended 3 times")


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


class TestRetry:
    """Speculation is tried again by itself, later each time, and not for ever."""

    def test_it_backs_off_and_ends(self) -> None:
        """After 100 s, then 200 s after the next rollback; two tries, and then the user is asked."""
        again: Frame = RETRY | {"failure_limit": 1, "revision": "r1"}
        films: list[tuple[float, Frame, Phase]] = [
            (99, again, BACK),
            (100, again, OUT),
            (101, again, WARM),
            (105, again, WATCH),
            (110, again | FAILS, RESPOND),
            (111, again, BACK),
            (309, again, BACK),
            (310, again, OUT),
            (311, again, WARM),
            (315, again, WATCH),
            (320, again | FAILS, RESPOND),
            (321, again, BACK),
            (99_999, again, BACK),
        ]
        start = make_state(BACK, rollback=make_rollback(), rollbacks=1, restarts=2)
        states = strip(start, *((at, frame) for at, frame, _ in films))
        assert [state.phase for state in states] == [phase for *_, phase in films]
        assert (states[-1].retries, states[-1].rollbacks, states[1].restarts) == (2, 3, 0)

    @pytest.mark.parametrize(
        ("state", "frame"),
        [
            (make_state(BACK, rollback=make_rollback(BY_REQUEST)), RETRY),
            (make_state(BACK, rollback=make_rollback()), {}),
            (make_state(BACK, rollback=make_rollback(), retries=2), RETRY),
            (make_state(BACK, rollback=make_rollback()), RETRY | {"held": True}),
            (make_state(BACK, rollback=make_rollback()), RETRY | {"mode": GuardMode.OBSERVE}),
            (make_state(WATCH), RETRY),
        ],
        ids=["the user's own rollback", "nobody asked for it", "no tries left", "held", "Observe", "as asked for"],
    )
    def test_it_is_not_tried(self, state: State, frame: Frame) -> None:
        """However long it waits."""
        assert strip(state, (99_999, frame)) == [state]

    @pytest.mark.parametrize("aside", [{"rollback": make_rollback()}, {"reduced": make_reduction()}])
    def test_a_try_without_room_goes_back_to_what_serves(self, aside: dict[str, Any]) -> None:
        """The deadline passed without an admitted pod: the user need not act, and the next
        try is due after twice the time.
        """
        blocked: Frame = RETRY | {"rollout": BLOCKED, "revision": "r2"}
        before = make_state(BACK if "rollback" in aside else WATCH, **aside)
        served: Frame = RETRY | {"speculating": "reduced" in aside}
        films = ((100, served), (101, blocked), (102, served), (199, served), (200, served))
        _, given_up, back, waits, again = strip(before, *films)
        assert (given_up.phase, given_up.subject, given_up.set_aside) == (RESPOND, before.subject, None)
        assert (back.subject, back.retries, back.rollbacks) == (before.subject, 1, 0)
        decision = waits.rollback or waits.reduced
        assert decision is not None
        assert decision.message.endswith("; the retry did not start: KServe has made no Deployment in 61 s")
        assert (again.phase, again.subject, again.retries) == (OUT, "s1", 2)

    def test_a_try_that_comes_up_sets_nothing_aside(self) -> None:
        """A later rollout without room has nothing to go back to."""
        tried, up = strip(make_state(BACK, rollback=make_rollback()), (100, RETRY), (101, RETRY | {"revision": "r2"}))
        assert (tried.set_aside, up.set_aside) == (make_rollback(), None)

    @pytest.mark.parametrize(
        ("instead", "retries"),
        [({}, 0), ({"reduced": make_reduction(at=9e9)}, 2), ({"rollback": make_rollback(at=9e9, good=make_good())}, 2)],
    )
    def test_only_the_requested_speculation_renews_its_tries(self, instead: dict[str, Any], retries: int) -> None:
        """A day of passing windows with fewer tokens shows nothing about the other tokens: the
        guard would retry them for ever.
        """
        state = make_state(WATCH, retries=2, **instead)
        (after,) = strip(state, (90_000, RETRY | {"verdict": PASSED}))
        assert after.retries == retries

    @pytest.mark.parametrize(
        "instead", [{"reduced": make_reduction()}, {"rollback": make_rollback(good=make_good()), "revision": "r1"}]
    )
    def test_less_speculation_is_retried_as_well(self, instead: dict[str, Any]) -> None:
        """Fewer tokens, or the last good one, are watched. The requested speculation is still due again."""
        state = make_state(WATCH, **instead)
        early, due = strip(state, (99, RETRY), (100, RETRY))
        assert (early.phase, due.phase, due.subject, due.retries) == (WATCH, OUT, "s1", 1)


class TestBaseline:
    """Whenever the service runs without speculation its speed is learnt, once a window."""

    @pytest.mark.parametrize("phase", [Phase.MEASURING_BASELINE, Phase.ROLLED_BACK, Phase.SERVING])
    def test_it_is_learnt_whatever_the_reason_for_running_plain(self, phase: Phase) -> None:
        """A window counts once, also when its turn comes again."""
        measure: Frame = {"measure_first": True, "baseline_limit": 1e6, "speculating": False}
        state = make_state(phase, measuring=phase is Phase.MEASURING_BASELINE)
        window: Frame = measure | {"token_times": {1: pace(0.02, 0.02)}}
        states = strip(state, (10, window), (11, window | {"closed": 10.0}), (20, window))
        assert [each.baseline[0].token_time.times.blocks for each in states] == [2, 2, 4]

    def test_pods_that_were_not_baseline_pods_change_no_baseline(self) -> None:
        """A window across a rollout is counted and not learnt."""
        state = make_state(BACK, rollback=make_rollback())
        (after,) = strip(state, (10, {"token_times": {1: pace(0.02, 0.02)}, "revision": "r2"}))
        assert (after.baseline, after.judged) == ((), 10)

    def test_speculation_is_never_taken_for_plain(self) -> None:
        """Its windows are judged, not learnt."""
        (after,) = strip(
            make_state(baseline=(make_plain(),)), (10, {"verdict": PASSED, "token_times": {1: pace(9.0, 9.0)}})
        )
        assert after.baseline == (make_plain(),)
