"""How long pods are unavailable: what counts as an outage, and which cadence of failures ends speculation in a day."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.bodies import make_pod
from tests.unit.builders import OUT, RESPOND, WATCH, facts, make_failure, make_state

from specdec_operator.api.guard import GuardMode
from specdec_operator.api.times import from_time
from specdec_operator.guard.outages import DAY, Outage, PodTimes, downtime, noted_outages, pod_times
from specdec_operator.guard.policy import DOWNTIME_BUDGET
from specdec_operator.guard.state import State
from specdec_operator.guard.transitions import advance
from specdec_operator.observe.pods import pod_view

CRASH = (("p", "EngineCrashed"),)
OPEN = Outage(pod="p", reason="EngineCrashed", since=100.0)
MINUTE, HOUR = 60.0, 3600.0


@pytest.mark.parametrize(
    ("times", "now", "seconds"),
    [
        (PodTimes(down={"p": 100.0}), 160, 60),
        (PodTimes(serving={"p": 150.0}), 160, 50),
        (PodTimes(serving={"p": 50.0}), 160, 0),
        (PodTimes(serving={"p": 9999.0}), 160, 60),
        (PodTimes(hanging=frozenset("p")), 160, 60),
        (PodTimes(down={"p": 155.0}), 160, 60),
        (PodTimes(down={"p": 9000.0}), 9060, 60),
        (PodTimes(serving={"q": 150.0}), 160, 50),
        (PodTimes(), 160, 60),
        (PodTimes(), 9060, 1800),
        (PodTimes(down={"p": 100.0}), 90, 0),
    ],
    ids=[
        "it lasts",
        "the pod is ready",
        "it was never seen as not ready",
        "a clock of the node is ahead",
        "it hangs",
        "clocks differ",
        "the pod was ready while no operator ran",
        "another pod took its place",
        "no other pod took its place yet",
        "the other pod finds no room",
        "the clock went back",
    ],
)
def test_an_outage_lasts_until_the_pod_is_ready(times: PodTimes, now: float, seconds: float) -> None:
    """Only what the API server shows counts: what no operator saw is not an outage."""
    assert downtime(noted_outages((OPEN,), (), times, 1, now), 1, now) == seconds


def test_an_autoscaler_that_takes_the_pod_away_ends_its_outage() -> None:
    """No pod is requested, so none is missing."""
    assert downtime(noted_outages((OPEN,), (), PodTimes(), 0, 160), 1, 160) == 60
    assert downtime(noted_outages(noted_outages((OPEN,), (), PodTimes(), 0, 160), (), PodTimes(), 1, 999), 1, 999) == 60


def test_a_failure_begins_when_the_pod_was_no_longer_ready() -> None:
    """One at a time: crashes while an engine loads belong to the same outage."""
    down = PodTimes(down={"p": 100.0})
    (begun,) = noted_outages((), CRASH, down, 1, 130)
    assert (begun.since, begun.until) == (100.0, 0.0)
    assert noted_outages((begun,), CRASH, down, 1, 200) == (begun,)
    assert noted_outages((), CRASH, PodTimes(serving={"p": 90.0}), 1, 130)[0].until == 130, "it is ready already"


def test_pods_show_since_when_they_serve() -> None:
    """An engine that hangs is ready; a pod that is deleted is gone."""
    since = "2026-11-20T10:00:00Z"
    bodies = [make_pod("a", since=since), make_pod("b", ready=False, since=since), make_pod("c", deleting=True)]
    times = pod_times([pod_view(each) for each in (*bodies, make_pod("d"))], frozenset("dx"), 7.0)
    at = from_time(since)
    assert times == PodTimes(serving={"a": at}, down={"b": at}, hanging=frozenset("d"))


def test_the_pod_with_most_counts_or_the_mean_of_all() -> None:
    """The mean counts if pods that failed were replaced, so that each name has one outage only."""
    each = [replace(OPEN, pod=pod, until=100.0 + 600) for pod in "abcd"]
    assert downtime(each, 4, 1000) == 600
    assert downtime(each, 1, 1000) == 2400
    assert downtime([*each, replace(each[0], since=800.0, until=900.0)], 4, 1000) == 700
    assert downtime([replace(each[0], answered=True)], 1, 1000) == 0
    assert downtime([], 0, 0) == 0


SPELLS = st.lists(st.tuples(st.floats(1, 7200), st.floats(0, 3600)), max_size=60)


@given(SPELLS, st.booleans())
def test_downtime_is_never_more_than_the_time_that_passed(spells: list[tuple[float, float]], gone: bool) -> None:
    """However the pods come and go, and of one day at most."""
    now, known = 1000.0, ()
    for works, down in spells:
        now += works
        known = noted_outages(known, CRASH, PodTimes(down={"p": now}), 1, now)
        now += down
        known = noted_outages(known, (), PodTimes(serving={"q" if gone else "p": now}), 1, now)
        lost = sum(each for _, each in spells)
        assert 0 <= downtime(known, 1, now) <= min(lost + 1e-6, DAY, now - 1000.0 + 1e-6)
        assert len(known) <= 36


def film(every: float, load: float, *, hours: float = 24, pods: int = 1, step: float = 60.0, **frame: object) -> State:
    """The state after pods of a service were watched, of which the first one crashes again and again."""
    state, names = make_state(up=pods), frozenset(f"p{number}" for number in range(pods))
    for number in range(int(hours * HOUR / step)):
        now = 1000.0 + number * step
        turns, since_turn = divmod(now - 1000.0, every)
        down = bool(turns) and since_turn < load
        times = PodTimes(
            serving={name: 1000.0 for name in names if name != "p0"}
            | ({} if down else {"p0": now - since_turn + load}),
            down={"p0": now - since_turn} if down else {},
        )
        failures = (make_failure("p0", int(turns), now, reason="EngineCrashed"),) if turns else ()
        known = facts(subject=state.subject, pods=names, pod_failures=failures, pod_times=times, **frame)
        state = advance(state, known, now)
        if state.phase is not WATCH or state.restarting:
            return state
    return state


@pytest.mark.parametrize(
    ("minutes", "load", "hours"), [(50, 10, 3), (40, 10, 3), (72, 12, 5), (132, 12, 7), (192, 17, 10), (35, 3, 8)]
)
def test_a_slow_cadence_of_crashes_is_acted_on(minutes: float, load: float, hours: float) -> None:
    """One failure an hour or fewer: the loads of the engine add up."""
    state = film(minutes * MINUTE, load * MINUTE, hours=hours)
    assert state.phase is RESPOND
    assert state.rollback is not None
    assert state.rollback.reason == "EngineCrashed"
    assert "made a pod unavailable for" in state.rollback.message
    assert "guard.downtimeBudget is 30" in state.rollback.message


@pytest.mark.parametrize(("minutes", "load"), [(9 * 60, 30), (40, 0.5), (720, 90)])
def test_rare_or_short_failures_are_not(minutes: float, load: float) -> None:
    """Two a day, however long the engine loads; or many that take half a minute."""
    assert film(minutes * MINUTE, load * MINUTE).phase is WATCH


def test_one_pod_of_several_is_restarted_first() -> None:
    """And only once: the outages of its day stay known."""
    state = film(50 * MINUTE, 10 * MINUTE, pods=3)
    assert (state.restarting, state.restarts, state.rollback) == (("p0",), 1, None)
    other = Outage(pod="new", reason="EngineCrashed", since=9000.0, until=10900.0)
    again = replace(state, phase=WATCH, restarting=(), outages=(*state.outages, *(other,) * 3))
    times = PodTimes(serving=dict.fromkeys(("new", "p1", "p2"), 10900.0))
    after = advance(again, facts(pods=frozenset(times.serving), pod_times=times), 12000.0)
    assert after.phase is RESPOND
    assert after.rollback is not None


def test_a_guard_that_may_not_act_reports_it_once() -> None:
    """With the step that it would take."""
    state = film(50 * MINUTE, 10 * MINUTE, hours=3, mode=GuardMode.OBSERVE)
    assert (state.phase, state.rollback) == (WATCH, None)
    assert state.dry_run is not None
    assert (state.dry_run.action, state.dry_run.reason) == ("RollBack", "EngineCrashed")


def test_another_budget_holds() -> None:
    """spec.guard.downtimeBudget."""
    assert film(50 * MINUTE, 10 * MINUTE, hours=3, downtime_budget=2 * DOWNTIME_BUDGET).phase is WATCH
    assert film(600 * MINUTE, 6 * MINUTE, downtime_budget=10 * MINUTE).phase is WATCH
    assert film(300 * MINUTE, 6 * MINUTE, downtime_budget=10 * MINUTE).phase is RESPOND


def test_a_node_upgrade_counts_nothing() -> None:
    """Its pods are deleted and replaced, one after the other: no engine failed."""
    state, now = make_state(up=3), 1000.0
    for number in range(3):
        for _ in range(20):
            now += MINUTE
            names = frozenset({"p0", "p1", "p2"} - {f"p{number}"})
            times = PodTimes(serving=dict.fromkeys(names, 1000.0), down={f"n{number}": now})
            state = advance(state, facts(subject=state.subject, pods=names, pod_times=times), now)
    assert (state.phase, state.outages) == (WATCH, ())


def test_another_rollout_begins_again() -> None:
    """Its pods are others."""
    state = make_state(OUT, outages=(replace(OPEN, until=9000.0),) * 3)
    assert advance(state, facts(), 9001.0).outages == ()
