"""What the demo sees of a rollback, and which moments it picks."""

from typing import Any

from hack.demo import moments
from hack.demo.moments import Moments
from hack.demo.world import Kind, World

SPECULATING = '--speculative-config={"method":"draft_model"}'


def _sis(phase: str | None, **status: Any) -> dict[str, Any]:
    told = {"phase": phase, **status} if phase else {}
    return {"metadata": {"name": "tiny"}} | ({"status": told} if told else {})


def _child(revision: str, *args: str) -> dict[str, Any]:
    labels = {"serving.specdec.io/revision": revision}
    return {"metadata": {"name": "tiny"}, "spec": {"predictor": {"labels": labels, "model": {"args": list(args)}}}}


def _pod(name: str, revision: str, *, ready: bool, leaving: bool = False) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"serving.specdec.io/revision": revision}}
    if leaving:
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}}


def _rollback() -> World:
    """A plain service, the same with speculation, and a rollback to the very same plain revision."""
    world = World()
    world.changed(Kind.CHILD, _child("plain", "--model=m"), 1)
    world.changed(Kind.POD, _pod("p1", "plain", ready=True), 2)
    world.changed(Kind.SIS, _sis("Serving"), 2)
    world.changed(Kind.CHILD, _child("spec", "--model=m", SPECULATING), 3)
    world.changed(Kind.POD, _pod("p2", "spec", ready=True), 4)
    world.gone(Kind.POD, _pod("p1", "plain", ready=False))
    world.changed(Kind.SIS, _sis("Watching"), 5)
    world.changed(Kind.SIS, _sis("Responding"), 21.5)
    world.changed(Kind.CHILD, _child("plain", "--model=m"), 21.6)
    world.changed(Kind.POD, _pod("p3", "plain", ready=False), 22)
    return world


def test_a_rollback_is_told_by_what_happened_after_the_onset() -> None:
    """The plain revision served before, too: only the pod that came up after the onset counts."""
    world = _rollback()
    world.changed(Kind.POD, _pod("p3", "plain", ready=True), 40)
    world.changed(Kind.POD, _pod("p3", "plain", ready=True), 41)
    world.changed(Kind.SIS, _sis("RolledBack"), 42)
    assert moments.pick(world, 10) == Moments(onset=10, decided=21.5, patched=21.6, serving=40, rolled_back=42)


def test_there_are_no_moments_before_the_rollback_is_over() -> None:
    """A decision alone is known at once; the rest waits for the pod and the operator."""
    world = _rollback()
    assert moments.decided_at(world, 10) == 21.5
    assert moments.pick(world, 10) is None
    world.changed(Kind.SIS, _sis("RolledBack"), 42)
    assert moments.pick(world, 10) is None


def test_a_decision_before_the_onset_is_not_one_about_it() -> None:
    """Phases that were entered earlier do not count."""
    assert moments.decided_at(_rollback(), 30) is None


def test_a_pod_that_leaves_no_longer_serves_though_its_condition_says_ready() -> None:
    """Kubernetes sets the deletion time first and the condition later."""
    world = World()
    world.changed(Kind.POD, _pod("p", "r", ready=True), 1)
    assert world.ready_pods == ["p"]
    world.changed(Kind.POD, _pod("p", "r", ready=True, leaving=True), 2)
    assert world.ready_pods == []
    assert not world.empty()


def test_a_list_after_a_lost_watch_removes_what_has_gone() -> None:
    """Deletions that nobody told of are found by their absence."""
    world = World()
    world.changed(Kind.SIS, _sis("Serving"), 1)
    world.listed(Kind.POD, [_pod("a", "r", ready=True), _pod("b", "r", ready=True)], 1)
    world.listed(Kind.POD, [_pod("b", "r", ready=True)], 2)
    assert list(world.pods) == ["b"]
    world.listed(Kind.POD, [], 3)
    world.listed(Kind.SIS, [], 3)
    assert world.empty()


def test_a_sis_without_status_is_there_and_has_no_phase() -> None:
    """Just applied, before the operator looked at it."""
    world = World()
    world.changed(Kind.SIS, _sis(None), 1)
    assert world.phase == ""
    assert not world.empty()
    assert not world.turns


def test_a_phase_is_a_turn_only_when_it_is_entered() -> None:
    """Status writes in between move numbers, not the story."""
    world = World()
    for at, phase in enumerate(("Watching", "Watching", "Responding", "Responding", "Watching")):
        world.changed(Kind.SIS, _sis(phase), at)
    assert [(turn.at, turn.phase) for turn in world.turns] == [(0, "Watching"), (2, "Responding"), (4, "Watching")]


def test_listed_events_are_of_the_past() -> None:
    """An earlier run's Events lie in the namespace for an hour."""
    world = World()
    event = {"reason": "RollingBack", "message": "AcceptanceRateLow"}
    world.listed(Kind.EVENT, [event], 1)
    assert world.last_event == ""
    world.changed(Kind.EVENT, event, 2)
    assert world.last_event == "RollingBack: AcceptanceRateLow"
