"""What counts as a failure of a pod that is watched, and which failures are known already."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.bodies import crashed, ended, make_pod, running, termination
from tests.unit.builders import Body, make_failure

from specdec_operator.api.times import from_time
from specdec_operator.guard.pods import answered, failures_of, held, noted, summary
from specdec_operator.observe.pods import pod_view

SINCE = "2026-11-20T10:00:00Z"
AT = from_time(SINCE)
UP = running() | {"started": True}
DIED = json.dumps({"reason": "EngineDied", "message": "the engine died"})


def seen(engine: Body | None, *, seconds: float = 0.0, **pod: Any) -> tuple[tuple[str, int], ...]:
    """The failures of one pod, so many seconds after it changed last."""
    found = failures_of((pod_view(make_pod("p", engine=engine, since=SINCE, **pod)),), AT + seconds)
    return tuple((each.reason, each.ends) for each in found)


@pytest.mark.parametrize(
    ("engine", "failure"),
    [
        (running(), ()),
        (crashed(137, times=2, reason="OOMKilled"), (("OutOfMemory", 2),)),
        (crashed(70, times=1, message=DIED), (("EngineCrashed", 1),)),
        (running(1, termination(137, "OOMKilled")), (("OutOfMemory", 1),)),
        (ended(1), (("EngineCrashed", 1),)),
        (ended(0), ()),
        (running(3, termination(143)), ()),
    ],
    ids=["it runs", "killed", "died", "killed, and up again", "ended", "ended well", "was asked to stop"],
)
def test_an_engine_that_ended_counts_against_its_pod(engine: Body, failure: tuple[tuple[str, int], ...]) -> None:
    """As long as its pod exists. An engine that stopped on request does not count."""
    assert seen(engine) == failure


@pytest.mark.parametrize(
    ("engine", "ready", "seconds", "fails"),
    [
        (UP, False, 120, True),
        (UP, False, 119, False),
        (UP, True, 9999, False),
        (running(), False, 9999, False),
        (running(1, termination(1)) | {"started": True}, False, 120, True),
    ],
    ids=["for two minutes", "for less", "it is ready", "it starts", "after a crash, and up since"],
)
def test_an_engine_that_runs_and_does_not_answer_fails(engine: Body, ready: bool, seconds: float, fails: bool) -> None:
    """One that still starts has the time of its startup probe."""
    assert ("NotReady" in {each[0] for each in seen(engine, ready=ready, seconds=seconds)}) is fails


def test_a_lost_node_does_not_count_against_its_pods() -> None:
    """The node controller makes the pod not ready; its container's own state stays as the kubelet left it."""
    body = make_pod("p", ready=False, engine=UP | {"ready": True}, since=SINCE)
    assert failures_of((pod_view(body),), AT + 9999) == ()


PODS = frozenset({"a", "b"})


def test_each_end_is_noted_once() -> None:
    """However often it is seen; a restarted operator reads what is noted from the status."""
    first = noted((), (make_failure("a", 1, at=10.0),), PODS, 10.0)
    assert noted(first, (make_failure("a", 1, at=20.0),), PODS, 20.0) == first
    second = noted(first, (make_failure("a", 2, at=30.0),), PODS, 30.0)
    assert [each.ends for each in second] == [1, 2]


def test_ends_during_an_absence_of_the_operator_count_as_one() -> None:
    """An operator that was away for a day does not know when they were."""
    assert len(noted((), (make_failure("a", 9),), PODS, 0.0)) == 1


def test_a_pod_that_stays_unready_fails_again_every_two_minutes() -> None:
    """Or else an engine that hangs for ever would be one failure."""
    known = noted((), (make_failure("a", 0, at=0.0, reason="NotReady"),), PODS, 0.0)
    assert noted(known, (make_failure("a", 0, at=119.0, reason="NotReady"),), PODS, 119.0) == known
    assert len(noted(known, (make_failure("a", 0, at=120.0, reason="NotReady"),), PODS, 120.0)) == 2


def test_failures_of_an_hour_ago_do_not_count() -> None:
    """The newest failure of a pod is kept, because it shows which ends are known.
    Failures of deleted pods are not kept.
    """
    known = (make_failure("a", 1, at=0.0), make_failure("a", 2, at=1.0), make_failure("gone", 1, at=2.0))
    kept = noted(known, (make_failure("a", 2, at=3700.0),), PODS, 3700.0)
    assert kept == (replace(known[1], answered=True),)
    assert held(kept) == ()


def test_what_is_kept_is_bounded() -> None:
    """A thousand pods that crash fill no status."""
    pods = frozenset(f"p{number}" for number in range(1000))
    assert len(noted((), tuple(make_failure(each) for each in pods), pods, 0.0)) == 12


def test_failures_are_summed_up_with_numbers() -> None:
    """One reason for all of them if they have the same reason."""
    known = (make_failure("a"), make_failure("b"))
    assert summary(known) == (
        "OutOfMemory",
        "2 failures of 2 pods within an hour, the last in pod b: its engine ended 1 times",
    )
    assert summary((*known, make_failure("b", reason="NotReady")))[0] == "EngineCrashed"
    assert held(answered(known)) == ()
