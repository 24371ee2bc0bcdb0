"""The transition table as film strips: each rule of each phase, and what leaves a phase alone."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.builders import (
    BACK,
    BASE,
    BLOCKED,
    FAILED,
    IDLE,
    LOW,
    OUT,
    PASSED,
    PROGRESSING,
    RESPOND,
    SERVE,
    STALLED,
    UNREAD,
    WARM,
    WATCH,
    make_baseline,
    make_failure,
    make_good,
    make_reduction,
    make_rollback,
    make_state,
    pace,
    view,
)
from tests.unit.guard import dial_films, doubt_films
from tests.unit.guard.films import Frame, Frames, facts_at, fired, strip

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.outages import Outage
from specdec_operator.guard.pods import held
from specdec_operator.guard.rollout import note_progress, want
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.transitions import TABLE, advance
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.observe.obstacle import Obstacle

OFF: Frame = {"mode": GuardMode.OFF}
OBSERVE: Frame = {"mode": GuardMode.OBSERVE}
HELD: Frame = {"held": True}
BASELINE: Frame = {"speculating": False}
OTHER: Frame = {"revision": "r2"}
HANGS: Frame = {"pod_failures": (make_failure("a", reason="Stalled"),), "pods": frozenset("ab")}
PODS = frozenset("ab")
LONG = tuple(Outage(pod=pod, reason="EngineCrashed", since=1.0, until=2000.0) for pod in "aab")
"""More than half an hour in three failures."""
KILLED: Frame = {"pod_failures": tuple(make_failure(each) for each in "abc"), "pods": frozenset("abc")}
COMING: Frame = OTHER | {"rollout": PROGRESSING}
BROKEN: Frame = OTHER | {"rollout": FAILED}
NO_PODS: Frame = OTHER | {"rollout": BLOCKED}
DRY: Frame = OTHER | {"rollout": replace(PROGRESSING, out_of_memory="pod p ended"), "less": "--flag"}
FAILS: Frame = {"verdict": LOW}
RETRY: Frame = {"retry_after": 60.0, "retry_limit": 2}
MEASURE: Frame = {"measure_first": True, "baseline_limit": 100.0}

BROKEN_POD = Verdict(
    outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message="b fails", pods=("b",), together=Outcome.PASS
)
KNOWN = (make_baseline(blocks=16),)
OF_BASELINE = make_rollback()
OF_GOOD = make_rollback(good=make_good())
LESS = make_reduction()

FILMS: dict[str, tuple[State, Frames, list[Phase]]] = {
    "baseline pods are measured until their speed is known": (
        make_state(BASE, measuring=True, revision=None),
        (
            (5, MEASURE | COMING),
            (9, MEASURE | OTHER),
            (20, MEASURE | OTHER | {"token_times": {1: pace(*(0.02,) * 8)}}),
            (30, MEASURE | OTHER | {"token_times": {1: pace(*(0.02,) * 8)}}),
        ),
        [BASE, BASE, BASE, OUT],
    ),
    "a speed that is known needs no more time": (
        make_state(BASE, measuring=True, baseline=KNOWN),
        ((1, MEASURE),),
        [OUT],
    ),
    "without traffic it is waited for ten windows and the warm-up, from when the pods were up": (
        make_state(BASE, measuring=True, revision=None),
        ((50, MEASURE | OTHER), (153.9, MEASURE | OTHER), (154, MEASURE | OTHER)),
        [BASE, BASE, OUT],
    ),
    "baseline pods that are on their way are waited for": (
        make_state(BASE, measuring=True, revision=None),
        ((500, MEASURE | COMING),),
        [BASE],
    ),
    "nobody wants to measure any more": (make_state(BASE, measuring=True), ((1, {}),), [OUT]),
    "Observe measures nothing first": (make_state(BASE, measuring=True), ((1, MEASURE | OBSERVE),), [OUT]),
    "a hold keeps what is served": (
        make_state(BASE, measuring=True, baseline=KNOWN),
        ((999, MEASURE | HELD), (1000, MEASURE)),
        [BASE, OUT],
    ),
    "baseline pods that are to be measured fail and heal": (
        make_state(BASE, measuring=True, revision=None),
        ((1, MEASURE | BROKEN), (2, MEASURE | BROKEN), (3, MEASURE | OTHER)),
        [STALLED, STALLED, BASE],
    ),
    "a rollout goes on": (make_state(OUT), ((5, COMING), (9, COMING)), [OUT, OUT]),
    "a rollout is done, warmed up and watched": (make_state(OUT), ((5, {}), (8, {}), (9, {})), [WARM, WARM, WATCH]),
    "a baseline rollout is done": (make_state(OUT), ((5, BASELINE),), [SERVE]),
    "a rollout without a guard is done": (make_state(OUT), ((5, OFF),), [SERVE]),
    "Observe watches": (make_state(OUT), ((5, OBSERVE),), [WARM]),
    "a rollout with speculation fails": (make_state(OUT), ((5, BROKEN),), [RESPOND]),
    "a baseline rollout fails": (make_state(OUT), ((5, BROKEN | BASELINE),), [STALLED]),
    "a rollout without a guard fails": (make_state(OUT), ((5, BROKEN | OFF),), [STALLED]),
    "a rollout fails under Observe and heals": (make_state(OUT), ((5, BROKEN | OBSERVE), (6, {})), [OUT, WARM]),
    "a rollout fails while held": (make_state(OUT), ((5, BROKEN | HELD), (6, BROKEN)), [OUT, RESPOND]),
    "KServe makes nothing": (make_state(OUT), ((5, NO_PODS), (6, NO_PODS)), [STALLED, STALLED]),
    "KServe makes nothing for a try": (
        make_state(BACK, rollback=OF_BASELINE),
        ((60, RETRY), (61, RETRY | NO_PODS), (62, RETRY | BASELINE)),
        [OUT, RESPOND, BACK],
    ),
    "KServe makes nothing under Observe": (make_state(OUT), ((5, NO_PODS | OBSERVE),), [STALLED]),
    "KServe makes pods at last": (make_state(STALLED), ((5, COMING),), [OUT]),
    "warm-up takes its time": (make_state(WARM), ((3.9, {}), (4, {})), [WARM, WATCH]),
    "other pods while it warms up": (make_state(WARM), ((1, COMING),), [OUT]),
    "the guard is switched off while it warms up": (make_state(WARM), ((1, OFF),), [SERVE]),
    "a quiet watch": (make_state(), ((1, {}), (99, {})), [WATCH, WATCH]),
    "other pods while it is watched": (make_state(), ((1, COMING),), [OUT]),
    "one of two engines hangs, and is restarted at once": (
        make_state(),
        ((1, HANGS), (2, HANGS), (5, {"pods": frozenset("bc")})),
        [WARM, WARM, WATCH],
    ),
    "an engine hangs under Observe": (make_state(), ((1, HANGS | OBSERVE),), [WATCH]),
    "three engines hang, as three crash": (
        make_state(),
        ((1, KILLED | {"pod_failures": tuple(make_failure(each, reason="Stalled") for each in "abc")}),),
        [RESPOND],
    ),
    "pods are unavailable for too long": (make_state(outages=LONG), ((9000, {"pods": PODS}),), [RESPOND]),
    "pods are unavailable for too long while they warm up": (
        make_state(WARM, outages=LONG),
        ((9000, {"pods": PODS}),),
        [RESPOND],
    ),
    "the baseline's pods fail as those with speculation did": (
        make_state(BACK, rollback=make_rollback("EngineCrashed", message="3 failures"), outages=LONG),
        ((59, RETRY | {"pods": PODS}), (60, COMING)),
        [OUT, OUT],
    ),
    "an engine of the baseline hangs": (
        make_state(BACK, rollback=OF_BASELINE),
        ((1, HANGS | BASELINE), (2, HANGS | BASELINE), (3, BASELINE | {"pods": frozenset("bc")})),
        [BACK, BACK, BACK],
    ),
    "other pods and a failing window": (make_state(), ((1, FAILS | COMING),), [OUT]),
    "the guard is switched off": (make_state(), ((1, OFF),), [SERVE]),
    "pods come and go under watch": (
        make_state(),
        ((1, {"rollout": FAILED}), (2, {"rollout": PROGRESSING}), (3, {"rollout": BLOCKED})),
        [WATCH, WATCH, WATCH],
    ),
    "windows fail": (make_state(), ((1, FAILS), (2, FAILS), (3, FAILS)), [WATCH, WATCH, RESPOND]),
    "one window is enough where the user says so": (make_state(), ((1, FAILS | {"failure_limit": 1}),), [RESPOND]),
    "pods fail while they warm up": (make_state(WARM), ((1, KILLED),), [RESPOND]),
    "pods fail under watch": (make_state(), ((1, KILLED),), [RESPOND]),
    "a window passes": (make_state(failures=2), ((1, {"verdict": PASSED, "good": make_good()}),), [WATCH]),
    "a window proves nothing": (make_state(failures=2), ((1, {"verdict": UNREAD}),), [WATCH]),
    "a window is quiet": (make_state(failures=2), ((1, {"verdict": IDLE}),), [WATCH]),
    "a broken pod was restarted before": (make_state(restarts=1), ((1, {"verdict": BROKEN_POD}),), [WATCH]),
    "fewer tokens are tried no more": (
        make_state(reduced=LESS),
        ((59.9, RETRY), (60, RETRY), (61, RETRY | COMING)),
        [WATCH, OUT, OUT],
    ),
    "the way to plain": (
        make_state(RESPOND, rollback=OF_BASELINE),
        ((1, COMING), (2, OTHER), (3, OTHER)),
        [RESPOND, BACK, BACK],
    ),
    "the baseline fails as well": (make_state(RESPOND, rollback=OF_BASELINE), ((1, BROKEN),), [STALLED]),
    "the baseline cannot be made": (make_state(RESPOND, rollback=OF_BASELINE), ((1, NO_PODS),), [STALLED]),
    "the way to fewer tokens": (
        make_state(RESPOND, reduced=LESS),
        ((1, COMING), (2, OTHER), (6, OTHER)),
        [RESPOND, WARM, WATCH],
    ),
    "the way to the last good one": (
        make_state(RESPOND, rollback=OF_GOOD),
        ((1, COMING), (2, OTHER), (6, OTHER)),
        [RESPOND, WARM, WATCH],
    ),
    "fewer tokens do not come up, nor does plain": (
        make_state(RESPOND, reduced=LESS),
        ((1, BROKEN), (2, {"revision": "r3", "rollout": FAILED})),
        [RESPOND, STALLED],
    ),
    "the last good one does not come up, plain does": (
        make_state(RESPOND, rollback=OF_GOOD),
        ((1, NO_PODS), (2, {"revision": "r3"})),
        [RESPOND, BACK],
    ),
    "fewer tokens do not come up while held": (make_state(RESPOND, reduced=LESS), ((1, BROKEN | HELD),), [OUT]),
    "rolled back, whatever becomes of its pods": (
        make_state(BACK, rollback=OF_BASELINE),
        ((1, {}), (99, {"rollout": FAILED})),
        [BACK, BACK],
    ),
    "rolled back, and other pods are asked for": (
        make_state(BACK, rollback=OF_BASELINE),
        ((1, COMING), (2, OTHER), (3, OTHER)),
        [BACK, BACK, BACK],
    ),
    "rolled back, and the other pods fail": (make_state(BACK, rollback=OF_BASELINE), ((1, BROKEN),), [STALLED]),
    "rolled back, and the other pods cannot be made": (
        make_state(BACK, rollback=OF_BASELINE),
        ((1, NO_PODS),),
        [STALLED],
    ),
    "speculation is tried again": (make_state(BACK, rollback=OF_BASELINE), ((59.9, RETRY), (60, RETRY)), [BACK, OUT]),
    "pods come up after a stall": (
        make_state(STALLED),
        ((1, BASELINE | {"rollout": FAILED}), (2, BASELINE), (3, BASELINE)),
        [STALLED, SERVE, SERVE],
    ),
    "a user acts on a stall": (make_state(STALLED, since=10.0, wanted_since=30.0), ((30, BASELINE | COMING),), [OUT]),
    "a user acts on a stalled rollback": (
        make_state(STALLED, since=10.0, wanted_since=30.0, rollback=OF_BASELINE),
        ((30, COMING),),
        [RESPOND],
    ),
    "unwatched": (make_state(SERVE), ((1, BASELINE), (2, OFF), (3, {"rollout": FAILED} | OFF)), [SERVE, SERVE, SERVE]),
    "other pods while unwatched": (make_state(SERVE), ((1, BASELINE | COMING),), [OUT]),
    "the guard is switched on": (make_state(SERVE), ((1, {}), (5, {})), [WARM, WATCH]),
    "Observe is switched on": (make_state(SERVE), ((1, OBSERVE),), [WARM]),
    "starts run out of memory": (make_state(OUT), ((1, DRY), (2, DRY), (3, DRY)), [RESPOND, RESPOND, RESPOND]),
    **dial_films.FILMS,
    **doubt_films.FILMS,
}


@pytest.mark.parametrize("name", FILMS)
def test_the_transition_table(name: str) -> None:
    """The state began at 0 s, warm-up is 4 s, three failing windows decide. Each frame is idempotent."""
    start, frames, phases = FILMS[name]
    assert [state.phase for state in strip(start, *frames)] == phases


def test_every_rule_of_the_table_is_fired() -> None:
    """A rule that no film fires is untested."""
    seen = {(phase, rule) for start, frames, _ in FILMS.values() for phase, rule in fired(start, *frames)}
    assert [(phase, rule) for phase, rules in TABLE.items() for rule in rules if (phase, rule) not in seen] == []


def test_every_phase_has_its_rules_and_every_rule_its_docstrings() -> None:
    """The documentation is generated from the docstrings."""
    assert set(TABLE) == set(Phase)
    for rule in (rule for rules in TABLE.values() for rule in rules):
        assert rule.when.__doc__, rule
        assert rule.then.__doc__, rule


@pytest.mark.parametrize("phase", Phase)
def test_a_turn_without_news_returns_the_same_state(phase: Phase) -> None:
    """So nothing is written: for moving phases the rollout goes on, for the others it is done."""
    baseline = phase in (BASE, RESPOND, BACK, SERVE)
    state = make_state(phase, measuring=phase is BASE, rollback=OF_BASELINE if phase in (RESPOND, BACK) else None)
    state = replace(state, dial=dial_films.LOW_ACCEPTANCE if phase is Phase.DIALLED else None)
    news: Frame = NO_PODS if phase is STALLED else COMING if phase in (OUT, RESPOND) else {}
    frame = {"speculating": not baseline} | (MEASURE if phase is BASE else {}) | news
    assert advance(state, facts_at(state, 1, frame), 1) == state


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("about", ["plain", "s2", "s1:2", "good:d2"])
def test_facts_about_another_subject_prove_nothing(phase: Phase, about: str) -> None:
    """A reconcile after a decision may read facts about the speculation that was served before."""
    state: Any = make_state(phase)
    assert advance(state, facts_at(state, 9, FAILS | BROKEN | {"subject": about}), 9) == state


def test_the_deadline_counts_from_when_a_revision_was_first_wanted() -> None:
    """Asking for the same again does not put the deadline off; asking for another one does."""
    state = want(make_state(wanted=None), "r2", 10)
    assert (state.wanted, state.wanted_since) == ("r2", 10)
    assert want(state, "r2", 99) == state
    assert want(state, "r3", 99).wanted_since == 99


def test_a_finished_rollout_is_remembered_by_its_revision() -> None:
    """A later reconcile compares it with the spec's revision and sees whether the spec needs other pods."""
    for phase, rollback in ((OUT, None), (RESPOND, OF_BASELINE), (BACK, OF_BASELINE)):
        assert strip(make_state(phase, rollback=rollback), (1, OTHER))[0].revision == "r2"


def crowded(**changes: Any) -> Frame:
    """Pods of r2 are wanted, and find no room beside the old ones since second 40."""
    obstacle = Obstacle(reason="QuotaExceeded", words="exceeded quota", since=40.0, frees=changes.pop("frees", True))
    told = {"obstacle": obstacle, "crowded": True, "serving": changes.pop("serving", 1)}
    return OTHER | {"rollout": view(PROGRESSING.progress, "QuotaExceeded", **told)} | changes


def test_room_that_there_is_not_is_noted_once_and_gives_the_rollout_its_time_again() -> None:
    """The old pods go first from now on."""
    state = make_state(OUT, wanted="r2", wanted_since=1.0)
    first, second = strip(state, *((at, crowded(patience=10.0)) for at in (50, 60)))
    assert (first.replacing, first.wanted_since, first.phase) == ("r2", 50, OUT)
    assert second == first


@pytest.mark.parametrize(
    ("phase", "at", "frame", "gives_way"),
    [
        (OUT, 9999, crowded(), False),
        (OUT, 49, crowded(patience=10.0), False),
        (OUT, 50, crowded(patience=10.0), True),
        (RESPOND, 44, crowded(speculating=False), False),
        (RESPOND, 45, crowded(speculating=False), True),
        (RESPOND, 45, crowded(speculating=False, frees=False), False),
        (RESPOND, 45, crowded(speculating=False, frees=False, serving=2), True),
    ],
    ids=[
        "a change waits for ever",
        "a change that may replace waits its time",
        "and then replaces",
        "a rollback waits for what passes by itself",
        "and no longer",
        "the last pod is not given up for one that is refused for what it is",
        "one of two is: that shows whether it helps",
    ],
)
def test_old_pods_give_way_to_new_ones(phase: Phase, at: float, frame: Frame, gives_way: bool) -> None:
    """For a change if the user sets it. For a rollback after 5 s, unless it would only end the service."""
    rollback = OF_BASELINE if phase is RESPOND else None
    (after,) = strip(make_state(phase, wanted="r2", wanted_since=1.0, rollback=rollback), (at, frame))
    assert (after.replacing == "r2") is gives_way


def test_a_deadline_counts_from_the_last_pod_that_came_up() -> None:
    """Twenty pods take twenty times as long as one. A pod that starts and ends does not count as progress."""
    state = note_progress(make_state(OUT, wanted="r2", wanted_since=1.0), 2, 50)
    assert (state.up, state.wanted_since) == (2, 50)
    assert note_progress(state, 1, 60) == state
    assert note_progress(state, 2, 70) == state
    assert note_progress(state, 3, 80).wanted_since == 80
    assert want(state, "r3", 90).up == 0


def failing(*pods: str, ends: int = 1, at: float = 1.0, **changes: Any) -> Frame:
    """Pods whose engines have ended so often."""
    seen = tuple(make_failure(each, ends, at) for each in pods)
    return {"pod_failures": seen, "pods": frozenset(pods)} | changes


def test_a_service_whose_engine_is_killed_again_and_again_goes_back_to_the_baseline() -> None:
    """After three kills, in whatever windows. The message has the numbers."""
    frames = [(at, failing("a", ends=ends, at=at)) for ends, at in enumerate((10, 300, 900), start=1)]
    first, second, third = strip(make_state(WATCH, judged=5000.0), *frames)
    assert [each.phase for each in (first, second, third)] == [WATCH, WATCH, RESPOND]
    assert third.rollback is not None
    assert third.rollback.reason == "OutOfMemory"
    assert third.rollback.message.startswith("3 failures of 1 pods within an hour, the last in pod a: ")


def test_a_pod_that_fails_alone_is_restarted_twice_before_speculation_is_taken_out() -> None:
    """Its node, or its memory, may be broken. The failure of a third pod is not an accident."""
    state = make_state(WATCH)
    for number, pod in enumerate("abc"):
        frames = [
            (at, failing(pod, ends=ends, at=at, pods=frozenset({pod, "good"})))
            for ends, at in enumerate((10 + 100 * number, 20 + 100 * number, 30 + 100 * number), start=1)
        ]
        state = strip(replace(state, phase=WATCH), *frames)[-1]
        assert state.restarts == min(number + 1, 2)
        assert (state.phase, state.restarting) == ((WARM, (pod,)) if number < 2 else (RESPOND, ()))


def test_failures_that_were_answered_do_not_count_again() -> None:
    """A guard that only observes shows once what it would do, and then judges windows."""
    frames = [(at, failing("a", ends=ends, at=at, mode=GuardMode.OBSERVE)) for ends, at in enumerate((1, 2, 3), 1)]
    told = strip(make_state(WATCH), *frames)[-1]
    assert told.dry_run is not None
    assert (told.phase, told.dry_run.action, told.dry_run.reason) == (WATCH, "RollBack", "OutOfMemory")
    after = strip(told, (4, failing("a", ends=4, at=4, mode=GuardMode.OBSERVE)))[-1]
    assert after.dry_run == told.dry_run
    assert len(held(after.pod_failures)) == 1


def test_new_pods_begin_without_failures() -> None:
    """Failures of earlier pods do not count against them."""
    state = make_state(OUT, pod_failures=(make_failure("old", 2),))
    assert strip(state, (9, {}))[0].pod_failures == ()
