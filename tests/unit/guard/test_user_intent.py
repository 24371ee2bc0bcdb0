"""What the user's own acts make of a decision: another speculation or service, a retry, a rollback, or nothing new."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.builders import make_baseline, make_dry_run, make_good, make_reduction, make_rollback, make_state

from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.user_intent import BY_REQUEST, UserIntent, follow_user, initial_state

ROLLED_BACK = make_state(
    Phase.ROLLED_BACK,
    service="e1",
    rollback=make_rollback(),
    dry_run=make_dry_run(),
    rollbacks=2,
    retries=1,
    restarts=2,
    handled_retry="1",
    handled_rollback="a",
    failures=1,
    wanted="r2",
    wanted_since=50.0,
    judged=40.0,
    last_good=(make_good(),),
    baseline=(make_baseline(),),
)


def asked(**changes: Any) -> UserIntent:
    """What the user asked for all along."""
    known: dict[str, Any] = {"speculation": "s1", "service": "e1", "speculating": True, "retry": "1", "rollback": "a"}
    return UserIntent(**(known | changes))


def afresh(**changes: Any) -> State:
    """Speculation requested again at 99 s. The state keeps only what it learnt and what runs."""
    known: dict[str, Any] = {
        "phase": Phase.ROLLING_OUT,
        "since": 99,
        "speculation": "s1",
        "service": "e1",
        "revision": "r1",
        "rollbacks": 2,
        "judged": 40.0,
        "last_good": (make_good(),),
        "baseline": (make_baseline(),),
        "handled_retry": "1",
        "handled_rollback": "a",
    }
    return State(**(known | changes))


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({}, ROLLED_BACK),
        ({"retry": None}, ROLLED_BACK),
        ({"rollback": None}, ROLLED_BACK),
        ({"measure": True}, ROLLED_BACK),
        ({"retry": "2"}, afresh(handled_retry="2")),
        ({"speculation": "s2"}, afresh(speculation="s2")),
        ({"speculation": "s2", "retry": "3"}, afresh(speculation="s2", handled_retry="3")),
        ({"speculation": "s2", "rollback": "b"}, afresh(speculation="s2", handled_rollback="b")),
        ({"speculation": "s2", "measure": True}, afresh(speculation="s2", attempted=True)),
    ],
    ids=[
        "the same file",
        "the retry annotation went",
        "the rollback annotation went",
        "a speed that is known is not measured again",
        "a new nonce",
        "another speculation",
        "both",
        "another speculation with a rollback annotation",
        "another speculation, the speed is known",
    ],
)
def test_a_rollback_stays_unless_the_user_asks_for_more(change: dict[str, Any], after: State) -> None:
    """GitOps applies the same file again and again: that asks for nothing."""
    assert follow_user(ROLLED_BACK, asked(**change), 99) == after


@pytest.mark.parametrize("phase", [Phase.WATCHING, Phase.ROLLING_OUT, Phase.SERVING])
def test_a_retry_without_a_decision_is_noted_and_disturbs_nothing(phase: Phase) -> None:
    """Handled means that the same value does not fire after a later rollback."""
    state = make_state(phase, service="e1", failures=2, handled_rollback="a")
    after = follow_user(state, asked(retry="7"), 99)
    assert after == replace(state, handled_retry="7")


@pytest.mark.parametrize(
    "state",
    [
        make_state(Phase.STALLED, service="e1", rollback=make_rollback(), rollbacks=1),
        make_state(Phase.WATCHING, service="e1", reduced=make_reduction()),
        make_state(Phase.WATCHING, service="e1", rollback=make_rollback(good=make_good())),
    ],
    ids=["stalled", "fewer tokens", "the last good one"],
)
def test_whatever_is_served_instead_a_retry_starts_the_speculation_of_the_spec(state: State) -> None:
    """Also if the baseline does not come up, and if less speculation is served."""
    after = follow_user(state, asked(retry="2", rollback=None), 99)
    assert (after.phase, after.rollback, after.reduced, after.subject) == (Phase.ROLLING_OUT, None, None, "s1")


def test_annotations_that_were_there_from_the_start_ask_for_nothing() -> None:
    """A copied manifest may carry them."""
    state = initial_state(asked(retry="old", rollback="older"), 0)
    assert follow_user(state, asked(retry="old", rollback="older"), 5) == state
    assert (state.phase, state.handled_retry, state.handled_rollback) == (Phase.ROLLING_OUT, "old", "older")


@pytest.mark.parametrize(("measure", "phase"), [(True, Phase.MEASURING_BASELINE), (False, Phase.ROLLING_OUT)])
def test_a_service_whose_speed_is_asked_about_begins_with_the_baseline(measure: bool, phase: Phase) -> None:
    """So that there is something to compare with."""
    state = initial_state(asked(measure=measure), 7)
    assert (state.phase, state.since, state.measuring, state.serves_baseline) == (phase, 7, measure, measure)


@pytest.mark.parametrize(
    ("baseline", "measuring"),
    [((), True), ((make_baseline(),), False), ((make_baseline(blocks=1), make_baseline(2, requests=1)), True)],
)
def test_another_speculation_is_measured_first_unless_the_speed_is_known(baseline: Any, measuring: bool) -> None:
    """The speed of baseline pods belongs to the service, not to its draft."""
    state = replace(ROLLED_BACK, baseline=baseline)
    after = follow_user(state, asked(speculation="s2", measure=True), 99)
    assert (after.measuring, after.baseline) == (measuring, baseline)


def test_another_service_has_another_speed_and_the_decision_stays() -> None:
    """What was learnt of another model or engine is dropped; speculation is still the same."""
    after = follow_user(ROLLED_BACK, asked(service="e2"), 99)
    assert after == replace(ROLLED_BACK, service="e2", baseline=(), last_good=())


def test_a_state_of_an_earlier_release_keeps_what_it_knows() -> None:
    """It did not record the service that it was about: that does not count as a change."""
    old = replace(ROLLED_BACK, service="")
    assert follow_user(old, asked(), 99) == ROLLED_BACK


@pytest.mark.parametrize(
    "state",
    [
        make_state(Phase.WATCHING, failures=2, blamed=("p",)),
        make_state(Phase.ROLLING_OUT),
        make_state(Phase.MEASURING_BASELINE, measuring=True),
        make_state(Phase.WATCHING, reduced=make_reduction()),
        make_state(Phase.WATCHING, rollback=make_rollback(good=make_good())),
        make_state(Phase.STALLED),
    ],
    ids=["watched", "on its way", "measured first", "fewer tokens", "the last good one", "stalled"],
)
def test_a_requested_rollback_serves_without_speculation(state: State) -> None:
    """In any phase and with any speculation. The message is the annotation's value."""
    after = follow_user(replace(state, service="e1"), asked(retry=None, rollback="b"), 99)
    assert (after.phase, after.since, after.serves_baseline, after.subject) == (Phase.RESPONDING, 99, True, "plain")
    assert (after.failures, after.blamed, after.measuring, after.reduced) == (0, (), False, None)
    assert after.rollback == make_rollback(
        BY_REQUEST, 99, "requested by annotation specdec.io/rollback=b", pending=True
    )
    assert (after.rollbacks, after.handled_rollback) == (state.rollbacks, "b")
    assert follow_user(after, asked(retry=None, rollback="b"), 100) == after


@pytest.mark.parametrize("phase", [Phase.ROLLED_BACK, Phase.RESPONDING, Phase.STALLED])
def test_a_rollback_of_a_baseline_makes_it_the_users_will(phase: Phase) -> None:
    """No pod is touched and no rollback is counted; but it is not tried again by itself."""
    state = replace(ROLLED_BACK, phase=phase)
    after = follow_user(state, asked(rollback="b"), 99)
    words = "requested by annotation specdec.io/rollback=b"
    assert after == replace(state, rollback=make_rollback(BY_REQUEST, 99, words), handled_rollback="b")


def test_a_rollback_of_a_service_without_speculation_is_noted() -> None:
    """There is nothing to roll back."""
    state = make_state(Phase.SERVING, service="e1")
    after = follow_user(state, asked(speculating=False, retry=None, rollback="b"), 99)
    assert after == replace(state, handled_rollback="b")


WATCHED = make_state(service="e1", handled_retry="1", handled_rollback="a", baseline=(make_baseline(),), attempted=True)


@pytest.mark.parametrize(
    ("state", "change", "measures"),
    [
        (WATCHED, {"measure": True}, False),
        (WATCHED, {"measure": True, "service": "e2"}, True),
        (WATCHED, {"service": "e2"}, False),
        (replace(WATCHED, attempted=False, baseline=()), {"measure": True}, True),
        (replace(WATCHED, attempted=False), {"measure": True}, False),
        (replace(WATCHED, baseline=()), {"measure": True}, False),
    ],
    ids=[
        "the same file",
        "another engine, whose speed was never measured",
        "another engine, and nobody asks how fast it is",
        "a gate that was not there before",
        "a gate that was not there before, and the speed is known",
        "a measurement that nobody's traffic fed is not begun again and again",
    ],
)
def test_the_gate_is_never_left_without_a_measurement(state: State, change: dict[str, Any], measures: bool) -> None:
    """A changed service is another one. A gate that is set later needs the speed of the baseline as well."""
    after = follow_user(state, asked(**change), 99)
    assert after.measuring is measures
    assert (after.phase is Phase.MEASURING_BASELINE) is measures
    assert follow_user(after, asked(**change), 99) == after
