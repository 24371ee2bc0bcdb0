"""How many rollouts the operator begins by itself, in which order, and what is never kept waiting."""

from typing import Any

import pytest
from tests.unit.builders import NAME
from tests.unit.stage import Stage, baseline, watching

from specdec_operator.names import Key
from specdec_operator.reconcile.throttle import RolloutRequest, Throttle

NOW, WINDOW = 1000.0, 10.0


def key(number: int) -> Key:
    """A sis."""
    return "team", f"svc-{number}"


class Queue:
    """A throttle of two, and whom it woke."""

    def __init__(self, most: int = 2) -> None:
        self.woken: list[Key] = []
        self.throttle = Throttle(most, self.woken.append)

    def ask(self, number: int, *, urgent: bool = True, at: float = NOW) -> bool:
        """Whether the rollout of a sis may begin."""
        request = RolloutRequest.URGENT if urgent else RolloutRequest.ORDINARY
        self.waits = self.throttle.ticket(key(number), at).answer(request)
        self.throttle.settle(key(number), request, waits=bool(self.waits), now=at)
        return not self.waits


def test_so_many_begin_and_the_others_wait() -> None:
    """A service that has begun may ask again, and none begins twice."""
    queue = Queue()
    assert [queue.ask(number) for number in (1, 2, 3, 1, 2, 3)] == [True, True, False, True, True, False]


def test_the_end_of_one_wakes_the_next_in_turn() -> None:
    """In the order in which they asked."""
    queue = Queue()
    for number in (1, 2, 3, 4):
        queue.ask(number)
    queue.throttle.ended(key(1))
    assert queue.woken == [key(3)]
    assert (queue.ask(4), queue.ask(3), queue.ask(4)) == (False, True, False)


def test_a_rollback_goes_before_what_may_wait() -> None:
    """A draft that is in the way is taken out before a fleet that only gets other flags."""
    queue = Queue()
    for number in (1, 2, 3):
        queue.ask(number, urgent=False)
    queue.ask(4, urgent=True)
    queue.throttle.ended(key(1))
    assert (queue.ask(3, urgent=False), queue.ask(4)) == (False, True)


def test_a_rollout_that_does_not_end_keeps_others_waiting_for_a_minute() -> None:
    """What hangs must not keep a bad draft in service."""
    queue = Queue()
    for number in (1, 2, 3):
        queue.ask(number)
    assert queue.throttle.seconds(NOW + 20) == 40
    assert (queue.ask(3, at=NOW + 59), queue.ask(3, at=NOW + 60)) == (False, True)


@pytest.mark.parametrize("leave", ["settle", "ended"])
def test_a_service_that_waits_no_longer_does_not_block_the_queue(leave: str) -> None:
    """Deleted, or changed by its user, at the head of the queue."""
    queue = Queue()
    for number in (1, 2, 3, 4):
        queue.ask(number)
    if leave == "ended":
        queue.throttle.ended(key(3))
    else:
        queue.throttle.settle(key(3), RolloutRequest.NONE, waits=False, now=NOW)
    queue.throttle.ended(key(1))
    assert queue.ask(4)


def test_zero_is_any_number() -> None:
    """As many as ask."""
    queue = Queue(0)
    assert all(queue.ask(number) for number in range(100))


def test_the_message_has_what_it_waits_for_and_where_that_is_set() -> None:
    """An operator's own limit must not look like an error of the cluster."""
    queue = Queue()
    for number in (1, 2, 3):
        queue.ask(number)
    assert queue.waits == (
        "waiting for its turn: the operator's rollouts in progress are 2, the limit is 2 (SPECDEC_ROLLOUTS), 1 "
        "services wait"
    )


async def crowded(**sis: Any) -> Stage:
    """A draft that is found useless while as many others are being rolled back as may be."""
    stage, engine = await watching(**sis)
    engine.acceptance = 0.0
    await stage.run(2.5 * WINDOW)
    stage.crowd(20)
    await stage.until("Responding")
    return stage


async def test_a_decision_is_reported_at_once_and_carried_out_in_its_turn() -> None:
    """The status shows what it waits for; the pods continue until then."""
    stage = await crowded()
    assert stage.conditions()["Reconciling"]["reason"] == "WaitingForTurn"
    assert stage.cluster.status["guard"]["rollback"]["reason"] == "AcceptanceRateLow"
    assert stage.flags(), "it speculates on"
    stage.crowd(0)
    await stage.turn()
    assert not stage.flags()
    stage.roll_out(baseline())
    await stage.until("RolledBack")
    assert [event.reason for event in stage.events].count("RollbackStarted") <= 1


async def test_a_deadline_counts_from_the_turn() -> None:
    """Who waited for longer than the deadline has not failed to come up."""
    stage = await crowded(rollout={"deadline": "20s"})
    await stage.run(40)
    assert stage.conditions()["Reconciling"]["reason"] == "WaitingForTurn"
    stage.crowd(0)
    await stage.run(15)
    assert (stage.phases[-1], stage.flags()) == ("Responding", {})
    await stage.until("Stalled", 20)
    assert stage.conditions()["Stalled"]["reason"] == "DeadlineExceeded"


async def test_a_service_moves_to_another_runtime_in_its_turn() -> None:
    """An upgrade brings another runtime for every service; the old one is there until the last has left it."""
    stage, _ = await watching()
    before, decided = stage.cluster.child, stage.cluster.status["guard"]
    stage.runtimes = (("cpu", "specdec-cpu-2"),)
    stage.restart()
    stage.crowd(20)
    await stage.turn()
    assert stage.conditions()["Reconciling"]["reason"] == "WaitingForTurn"
    assert stage.cluster.child == before, "its pods go on in the old one"
    stage.crowd(0)
    await stage.turn()
    assert stage.predictor["model"]["runtime"] == "specdec-cpu-2"
    guard, kept = stage.cluster.status["guard"], ("speculation", "service", "rollbacks", "baseline", "lastGood")
    assert [guard.get(each) for each in kept] == [decided.get(each) for each in kept]


async def test_a_change_of_the_spec_begins_at_once() -> None:
    """A user's change does not wait for other services."""
    stage, _ = await watching()
    stage.crowd(20)
    stage.sis |= {"generation": 2, "speculation": None}
    await stage.turn()
    assert (NAME, stage.flags()) == (NAME, {})
