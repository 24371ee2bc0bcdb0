"""The steps: which one is next, how each changes the state, what is only reported if the guard may not act; retries."""

from typing import Any

import pytest
from tests.unit.builders import (
    BACK,
    BLOCKED,
    LOW,
    OUT,
    PASSED,
    RESPOND,
    WARM,
    WATCH,
    facts,
    make_dry_run,
    make_good,
    make_reduction,
    make_rollback,
    make_state,
)
from tests.unit.guard.films import Frame, strip

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.rollout import ROLLOUT_FAILED
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.tries import MOST_RESTARTS, Action, action_for, remembered, respond, retry
from specdec_operator.guard.user_intent import BY_REQUEST
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

FAILS: Frame = {"verdict": LOW}
RETRY: Frame = {"retry_after": 100.0, "retry_limit": 2}

RESTART, REDUCE, ROLL_BACK = Action.RESTART_POD, Action.REDUCE_TOKENS, Action.ROLL_BACK
SKEW = Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message="b fails", pods=("b",))
FEWER: dict[str, Any] = {"reduce_tokens": True, "fewer": 2}
OF_GOOD = make_rollback(good=make_good())


def answered(state: State, now: Observation, at: float = 9.0, reason: str = "AcceptanceRateLow") -> State:
    """The state after the next step."""
    return respond(state, now, reason, "acceptance 0.02 < 0.30", at)


@pytest.mark.parametrize(
    ("state", "known", "action"),
    [
        (make_state(blamed=("b",)), {"verdict": SKEW}, RESTART),
        (make_state(blamed=("b",), restarts=MOST_RESTARTS - 1), {"verdict": SKEW}, RESTART),
        (make_state(blamed=("b",), restarts=MOST_RESTARTS), {"verdict": SKEW}, ROLL_BACK),
        (make_state(blamed=("b",), restarts=MOST_RESTARTS), {"verdict": SKEW} | FEWER, REDUCE),
        (make_state(), {"verdict": SKEW}, ROLL_BACK),
        (make_state(), {"verdict": LOW}, ROLL_BACK),
        (make_state(), {"verdict": LOW} | FEWER, REDUCE),
        (make_state(), {"verdict": LOW, "reduce_tokens": True}, ROLL_BACK),
        (make_state(), {"verdict": LOW, "fewer": 2}, ROLL_BACK),
        (make_state(reduced=make_reduction()), {"verdict": LOW} | FEWER, ROLL_BACK),
        (make_state(rollback=OF_GOOD), {"verdict": LOW} | FEWER, ROLL_BACK),
        (make_state(Phase.ROLLING_OUT), FEWER, ROLL_BACK),
        (make_state(Phase.RESPONDING, reduced=make_reduction()), FEWER, ROLL_BACK),
    ],
    ids=[
        "a pod is far below its siblings",
        "again, after a restart",
        "restarts are used up",
        "restarts are used up, fewer tokens are left",
        "no pod failed in all windows",
        "all pods fail",
        "fewer tokens would pass",
        "fewer tokens would not pass either",
        "fewer tokens are not wanted",
        "fewer tokens were tried",
        "the last good one is no longer good",
        "a rollout that fails says nothing about tokens",
        "fewer tokens do not come up",
    ],
)
def test_each_step_is_tried_if_it_applies(state: State, known: dict[str, Any], action: Action) -> None:
    """Restart a pod, then fewer tokens, then back: the smallest step that may help comes first."""
    assert action_for(state, facts(**known)) is action


def test_a_restart_is_of_one_pod_and_its_siblings_serve_meanwhile() -> None:
    """The worst of those that failed in all windows; the others' turn may come."""
    there = frozenset({"a", "b", "c"})
    after = answered(make_state(failures=3, blamed=("c", "b"), dry_run=make_dry_run()), facts(verdict=SKEW, pods=there))
    assert (after.phase, after.restarting, after.restarts) == (Phase.WARMING_UP, ("c",), 1)
    assert (after.failures, after.blamed, after.since, after.dry_run) == (0, (), 9.0, None)
    assert (after.rollback, after.reduced, after.rollbacks, after.subject) == (None, None, 0, "s1")


@pytest.mark.parametrize(("there", "restarted"), [({"a", "b"}, ("b",)), ({"a"}, ())])
def test_a_deleted_pod_needs_no_restart(there: set[str], restarted: tuple[str, ...]) -> None:
    """Another actor deleted it first. This counts as a restart, and the pod in its place is warmed up."""
    after = answered(make_state(failures=3, blamed=("c", "b")), facts(verdict=SKEW, pods=frozenset(there)))
    assert (after.phase, after.restarting, after.restarts) == (Phase.WARMING_UP, restarted, 1)


def test_fewer_tokens_are_served_with_the_reason_for_it() -> None:
    """Another subject, the same speculation; no rollback is counted."""
    after = answered(make_state(failures=3), facts(verdict=LOW, **FEWER))
    assert (after.phase, after.subject, after.rollbacks) == (Phase.RESPONDING, "s1:2", 0)
    assert after.reduced is not None
    assert (after.reduced.tokens, after.reduced.at, after.reduced.message) == (2, 9.0, "acceptance 0.02 < 0.30")


DIALS: dict[str, Any] = {"verdict": LOW, "dials": True} | FEWER


def test_fewer_tokens_by_the_dial_are_another_subject_and_no_pod_is_replaced() -> None:
    """They are watched at once: the pods are there. Nothing of the windows before counts."""
    after = answered(make_state(failures=3, regret=1.0), facts(**DIALS))
    assert (after.phase, after.subject, after.since) == (Phase.WATCHING, "s1:2:dial", 9.0)
    assert (after.failures, after.regret, after.by_dial) == (0, 0.0, after.reduced)


@pytest.mark.parametrize(
    "known",
    [
        {"dials": False},
        {"verdict": Verdict(outcome=Outcome.FAIL, reason=Reason.SLOWER_THAN_PLAIN, message="0.8 times")},
    ],
    ids=["a pod has no dial", "it is slow"],
)
def test_other_pods_have_fewer_tokens_in_their_flags(known: dict[str, Any]) -> None:
    """As without a dial."""
    after = answered(make_state(failures=3), facts(**(DIALS | known)))
    assert (after.phase, after.subject, after.by_dial) == (Phase.RESPONDING, "s1:2", None)


def test_pods_that_come_anyway_have_the_fewer_tokens_in_their_flags() -> None:
    """With another spec, or with less memory after a crash: their memory is planned for so many."""
    reduced = answered(make_state(), facts(**DIALS))
    assert reduced.enter(Phase.ROLLING_OUT, 10.0).subject == "s1:2"
    lowered = respond(reduced, facts(less="--x"), "OutOfMemory", "", 10.0, pods_fail=True, less_memory=True)
    assert (lowered.phase, lowered.subject) == (Phase.RESPONDING, "s1:2-1")


def test_a_retry_after_fewer_tokens_by_the_dial_needs_no_rollout() -> None:
    """The dial goes back up. It counts as a retry."""
    reduced = answered(make_state(), facts(**DIALS))
    after = retry(reduced, facts(), 20.0)
    assert (after.phase, after.reduced, after.retries, after.subject) == (Phase.WATCHING, None, 1, "s1")


@pytest.mark.parametrize(
    ("state", "known", "good", "left"),
    [
        (make_state(), {}, None, ()),
        (make_state(last_good=(make_good(),)), {}, make_good(), (make_good(),)),
        (make_state(last_good=(make_good(),)), {"to_last_good": False}, None, (make_good(),)),
        (make_state(last_good=(make_good(of="s1"),)), {}, None, ()),
        (
            make_state(last_good=(make_good(4, of="s1"), make_good())),
            {},
            make_good(),
            (make_good(),),
        ),
        (
            make_state(rollback=OF_GOOD, last_good=(make_good(), make_good(3, of="s9"))),
            {},
            None,
            (make_good(3, of="s9"),),
        ),
        (make_state(reduced=make_reduction(), last_good=(make_good(),)), {}, make_good(), (make_good(),)),
    ],
    ids=[
        "nothing was ever good",
        "another one was",
        "another one was, and is not wanted",
        "only this one was",
        "this one was, and another one",
        "the last good one fails as well",
        "fewer tokens fail as well",
    ],
)
def test_a_rollback_goes_to_another_good_speculation_or_to_none(
    state: State, known: dict[str, Any], good: Any, left: tuple[Any, ...]
) -> None:
    """Never to one that failed, though it passed once; and to a good one only once: what fails there is forgotten."""
    after = answered(state, facts(verdict=LOW, **known))
    assert after.rollback == make_rollback(at=9.0, message="acceptance 0.02 < 0.30", good=good, pending=True)
    assert (after.phase, after.rollbacks, after.reduced, after.last_good) == (Phase.RESPONDING, 0, None, left)


@pytest.mark.parametrize("may_not", [{"mode": GuardMode.OBSERVE}, {"held": True}])
@pytest.mark.parametrize(
    ("state", "known", "action"),
    [
        (make_state(failures=3), {"verdict": LOW}, "RollBack"),
        (make_state(failures=3), {"verdict": LOW} | FEWER, "ReduceTokens"),
        (make_state(failures=3, blamed=("b",)), {"verdict": SKEW}, "RestartPod"),
    ],
)
def test_a_guard_that_may_not_act_shows_what_it_would_have_done(
    may_not: dict[str, Any], state: State, known: dict[str, Any], action: str
) -> None:
    """Nothing else changes except the count, which begins again."""
    after = answered(state, facts(**known, **may_not))
    assert after.dry_run == make_dry_run(action, at=9.0)
    assert after == make_state(dry_run=after.dry_run)


@pytest.mark.parametrize(
    ("dry_run", "kept"),
    [(make_dry_run(at=1.0), True), (make_dry_run("ReduceTokens", at=1.0), False), (None, False)],
)
def test_a_dry_run_is_reported_again_only_when_it_changes(dry_run: Any, kept: bool) -> None:
    """Otherwise a bad draft under Observe would cause a write every few windows."""
    after = answered(make_state(dry_run=dry_run), facts(verdict=LOW, held=True))
    assert after.dry_run == (dry_run if kept else make_dry_run(at=9.0))
    other = answered(make_state(dry_run=dry_run), facts(held=True), reason=ROLLOUT_FAILED)
    assert other.dry_run is not None
    assert (other.dry_run.reason, other.dry_run.at) == (ROLLOUT_FAILED, 9.0)


@pytest.mark.parametrize(
    ("before", "good", "after"),
    [
        ((), make_good(2), (make_good(2),)),
        ((make_good(2),), make_good(2, at=99.0, rate=0.7), (make_good(2),)),
        ((make_good(2, of="a"),), make_good(3, of="b"), (make_good(3, of="b"), make_good(2, of="a"))),
        (
            (make_good(3, of="b"), make_good(2, of="a")),
            make_good(4, of="c"),
            (make_good(4, of="c"), make_good(3, of="b")),
        ),
        ((make_good(4, of="a"),), make_good(2, of="a"), (make_good(2, of="a"),)),
        (
            (make_good(3, of="b"), make_good(2, of="a")),
            make_good(2, of="a"),
            (make_good(2, of="a"), make_good(3, of="b")),
        ),
    ],
    ids=[
        "the first",
        "the same again",
        "another one",
        "a third one",
        "fewer tokens of the same",
        "the older one again",
    ],
)
def test_the_last_two_good_speculations_are_remembered(before: Any, good: Any, after: Any) -> None:
    """The newest of each requested speculation. A further passing window changes nothing."""
    assert remembered(make_state(last_good=before), good) == after


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
