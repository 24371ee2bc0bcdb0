"""What the states may never do, whatever the facts: roll out without end, forget, act twice, act where they may not."""

import json
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import BLOCKED, NO_ROOM, facts, make_state, status_with, view

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.baseline import MOST_LOADS, Baseline, learnt
from specdec_operator.guard.decisions import KnownGood
from specdec_operator.guard.memory import MOST_STEPS
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.rollout import want
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import TokenTime
from specdec_operator.guard.transitions import advance
from specdec_operator.guard.tries import MOST_RESTARTS, Action
from specdec_operator.guard.user_intent import UserIntent, follow_user, initial_state
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.observe.rollout import Progress
from specdec_operator.report.guard_status import kept_state

VERDICTS = st.sampled_from(
    [
        Verdict(outcome=outcome, reason=reason, message="as drawn", pods=pods, settled=settled)
        for outcome in (*[Outcome.FAIL] * 8, Outcome.PASS, Outcome.INCONCLUSIVE)
        for reason in (Reason.ACCEPTANCE_RATE_LOW, Reason.SLOWER_THAN_PLAIN, Reason.POD_SKEW)
        for pods in ((), ("a",), ("b",), ("a", "b"))
        for settled in (True, True, True, False)
    ]
)


def pace(load: int, seconds: float, requests: list[int]) -> dict[int, TokenTime]:
    """A window of the baseline at one load; a block for each number of requests."""
    times = reduce(lambda sums, each: sums.plus(seconds * each, each), requests, RatioSums())
    return {load: TokenTime(times=times, tokens=100.0, seconds=2.0)}


BLOCKS = st.lists(st.integers(1, 20), min_size=1, max_size=9)
PACES = st.builds(pace, st.sampled_from((1, 2, 8)), st.floats(1e-4, 1.0), BLOCKS)
SOME_PACES = st.sampled_from([pace(load, 0.03, [5] * blocks) for load in (1, 2, 8) for blocks in (1, 4, 8)])
TURN = st.fixed_dictionaries(
    {
        "dt": st.one_of(*[st.integers(0, 60)] * 6, st.integers(-50, 5000)),
        "closes": st.sampled_from((True, True, True, False)),
        "verdict": VERDICTS,
        "token_times": SOME_PACES,
        "progress": st.sampled_from((*[Progress.COMPLETE] * 12, *Progress)),
        "full": st.booleans(),
        "other": st.sampled_from((*[False] * 15, True)),
        "pods": st.sampled_from((frozenset("ab"), frozenset("bc"), frozenset("c"), frozenset())),
        "good": st.sampled_from((None, "g1", "g2")),
        "fewer": st.sampled_from((None, 1, 3)),
        "dry": st.sampled_from((*[False] * 6, True)),
        "less": st.sampled_from(("", "--flag", "--flag")),
        "dials": st.booleans(),
        "deaf": st.sampled_from((*[""] * 6, "pod a drafts 4")),
    }
)
TURNS = st.lists(TURN, min_size=10, max_size=50)
POLICIES = st.builds(
    Policy,
    mode=st.just(GuardMode.ENFORCE),
    warmup=st.sampled_from((0.0, 4.0)),
    failure_limit=st.integers(1, 3),
    measure_first=st.booleans(),
    baseline_limit=st.just(100.0),
    reduce_tokens=st.booleans(),
    to_last_good=st.booleans(),
    retry_after=st.sampled_from((None, 0.0, 1.0, 60.0)),
    retry_limit=st.integers(0, 3),
    patience=st.sampled_from((None, 0.0, 60.0)),
)
OTHERS = tuple(KnownGood(block="{}", digest=name, of=f"s-{name}", tokens=4, rate=0.5, at=0.0) for name in ("g1", "g2"))
LAST_GOOD = st.sampled_from(((), OTHERS[:1], OTHERS))
"""Speculations that were good before this one."""
ACTS = st.sampled_from(("", "", "", "retry", "rollback", "speculation"))


def asked_by(policy: Policy) -> UserIntent:
    """One speculation."""
    return UserIntent(speculation="s1", service="m", speculating=True, measure=policy.measure_first)


def first(policy: Policy, last_good: tuple[KnownGood, ...]) -> State:
    """The state at its beginning."""
    return replace(initial_state(asked_by(policy), 1000.0), last_good=last_good)


def told(turn: dict[str, Any], state: State, policy: Policy, now: float) -> Observation:
    """What a turn knows: about what the state asks to be served, as the loop's own facts are."""
    speculating, closes = not state.serves_baseline, turn["closes"]
    good = next((each for each in OTHERS if each.digest == turn["good"]), None)
    return Observation(
        subject=state.subject,
        policy=policy,
        speculating=speculating,
        revision=state.wanted or "",
        rollout=view(turn["progress"], "Drawn", message="as drawn", **_drawn(turn)),
        pods=turn["pods"],
        closed=now if closes else 0.0,
        verdict=replace(turn["verdict"], at=now) if closes and speculating else None,
        token_times=turn["token_times"] if closes else {},
        good=replace(good, of=state.speculation) if good and closes and speculating else None,
        fewer=turn["fewer"],
        less=turn["less"],
        dials=turn["dials"],
        dial_trouble=turn["deaf"],
        since=state.wanted_since,
    )


def _drawn(turn: dict[str, Any]) -> dict[str, Any]:
    """What stands in the way of a rollout."""
    dry = turn["dry"] and turn["progress"] is not Progress.COMPLETE
    return (NO_ROOM if turn["full"] else {}) | ({"out_of_memory": "killed"} if dry else {})


def wanting(turn: dict[str, Any], state: State, now: float) -> State:
    """As the loop plans it: the pods of what is to be served, or others that the user has asked for."""
    flags = state.speculation if state.by_dial else state.subject
    return want(state, f"r2-{flags}" if turn["other"] else f"r-{flags}", now)


def drafted(state: State) -> str:
    """What is drafted, by the dial or by the flags."""
    return state.subject.replace(":dial", "")


def turned(turn: dict[str, Any], state: State, policy: Policy, now: float) -> State:
    """The state after one turn."""
    state = wanting(turn, state, now)
    return advance(state, told(turn, state, policy, now), now)


def reborn(state: State) -> State:
    """The state as another process reads it: through JSON, which has no infinity."""
    read = kept_state(json.loads(json.dumps(status_with(state), allow_nan=False)))
    assert read is not None
    return read


def done(before: State, after: State) -> tuple[str, ...]:
    """The names of a reconcile's actions."""
    acts = {
        Action.LOWER_MEMORY: after.lowering and not before.lowering,
        Action.RESTART_POD: after.restarts > before.restarts,
        Action.REDUCE_TOKENS: after.reduced and not before.reduced,
        Action.ROLL_BACK: after.rollback is not None and after.rollback.pending and before.rollback != after.rollback,
        "serves": after.rollbacks > before.rollbacks,
        "retry": after.retries > before.retries,
    }
    return (*(each for each, was in acts.items() if was), after.phase, after.subject)


@given(POLICIES, LAST_GOOD, TURNS)
def test_rollouts_are_bounded_by_the_budget(policy: Policy, last_good: tuple[KnownGood, ...], turns: list[Any]) -> None:
    """The requested speculation, fewer tokens, the last good speculation, none: each once, and again with each retry.
    Less memory twice in all.
    """
    state, now, changes, restarts, forgotten = first(policy, last_good), 1000.0, 0, 0, 0
    for turn in turns:
        now += turn["dt"]
        after = turned(turn, state, policy, now)
        changes += drafted(after) != drafted(state)
        restarts += after.restarts > state.restarts
        forgotten += after.restarts < state.restarts
        state = after
    rungs = 1 + policy.reduce_tokens + (policy.to_last_good and bool(last_good)) + 1
    tries = 1 + (policy.retry_limit if policy.retry_after is not None else 0)
    assert changes <= rungs * tries + MOST_STEPS
    assert restarts <= MOST_RESTARTS * (1 + forgotten), "by a retry, or an hour that passed well"


@given(POLICIES, LAST_GOOD, TURNS)
def test_advancing_twice_is_advancing_once(policy: Policy, last_good: tuple[KnownGood, ...], turns: list[Any]) -> None:
    """A turn that is taken again by the same facts, after a write that failed, changes nothing."""
    state, now = first(policy, last_good), 1000.0
    for turn in turns:
        now += turn["dt"]
        state = wanting(turn, state, now)
        known = told(turn, state, policy, now)
        state = advance(state, known, now)
        assert advance(state, known, now) == state


@given(POLICIES, LAST_GOOD, TURNS)
def test_an_operator_that_is_killed_after_any_write_decides_the_same(
    policy: Policy, last_good: tuple[KnownGood, ...], turns: list[Any]
) -> None:
    """The state is read back from the status after each turn: the actions are those of a process that lives on."""
    living, read, now = first(policy, last_good), first(policy, last_good), 1000.0
    for turn in turns:
        now += turn["dt"]
        lived, again = (turned(turn, each, policy, now) for each in (living, read))
        assert done(living, lived) == done(read, again)
        living, read = lived, reborn(again)


@given(POLICIES, LAST_GOOD, TURNS, st.integers(0, 15), st.sampled_from(("Observe", "Off", "held")))
def test_observe_and_held_change_nothing_that_is_served(
    policy: Policy, last_good: tuple[KnownGood, ...], turns: list[Any], switch: int, how: str
) -> None:
    """From the moment on that the user takes the guard's hands off. Only a measurement ends: Observe makes none."""
    state, now, off = first(policy, last_good), 1000.0, False
    tied = replace(policy, held=True) if how == "held" else replace(policy, mode=GuardMode(how))
    for place, turn in enumerate(turns):
        now, off = now + turn["dt"], place >= switch
        after = turned(turn, state, tied if off else policy, now)
        if off and (tied.held or not state.measuring):
            assert drafted(after) == drafted(state)
            assert after.restarts <= state.restarts
            assert after.retries == state.retries
            assert after.rollbacks == state.rollbacks or not state.rolled_back, "it was decided before"
        state = after


@given(POLICIES, LAST_GOOD, st.lists(st.tuples(TURN, ACTS)))
def test_each_act_of_the_user_grants_one_budget_more(
    policy: Policy, last_good: tuple[KnownGood, ...], turns: list[tuple[Any, str]]
) -> None:
    """A nonce, or another speculation, begins again; nothing else does, and a nonce that was handled is spent."""
    asked, state, now, changes, acts = asked_by(policy), first(policy, last_good), 1000.0, 0, 0
    for place, (turn, act) in enumerate(turns):
        now += turn["dt"]
        if act:
            asked, acts = replace(asked, **{act: f"n{place}"}), acts + 1
        before = drafted(state)
        state = follow_user(state, asked, now)
        assert follow_user(state, asked, now) == state
        state = turned(turn, state, policy, now)
        changes += drafted(state) != before
    assert changes <= 4 * (1 + policy.retry_limit) * (1 + acts)


@pytest.mark.parametrize("phase", Phase)
@given(policy=POLICIES, turn=TURN, last_good=LAST_GOOD)
def test_a_window_of_the_past_is_not_counted_again(
    phase: Phase, policy: Policy, turn: dict[str, Any], last_good: tuple[KnownGood, ...]
) -> None:
    """An operator that is killed between the write and the act sees the same window again, and knows it."""
    state = replace(first(policy, last_good), phase=phase, revision="r1", wanted="r1", measuring=False, judged=2000.0)
    known = told(turn | {"closes": True, "progress": Progress.COMPLETE}, state, policy, 2000.0)
    after = advance(state, known, 2000.0)
    assert (after.failures, after.rollbacks, after.restarts, after.baseline) == (0, 0, 0, ())


@given(st.lists(PACES, min_size=1, max_size=20))
def test_what_is_learnt_stays_bounded_and_is_kept(windows: list[dict[int, TokenTime]]) -> None:
    """However long the service runs plain: a few loads, few blocks of each, and all of it survives the status."""
    known: Baseline = reduce(learnt, windows, ())
    assert len(known) <= MOST_LOADS
    assert all(each.token_time.times.blocks <= 64 for each in known)
    state = State(phase=Phase.ROLLED_BACK, since=0.0, speculation="s1", baseline=known)
    assert reborn(state).baseline == known


def test_a_clock_that_goes_back_does_not_count_as_an_act_of_the_user() -> None:
    """A stall that began before the request of its revision would end and begin again
    within one reconcile, with Events.
    """
    state = make_state(Phase.ROLLING_OUT, wanted="r2", wanted_since=100.0)
    after = advance(state, facts(revision="r2", rollout=BLOCKED), 50.0)
    assert after.phase is Phase.STALLED
    assert advance(after, facts(revision="r2", rollout=BLOCKED), 51.0) == after
