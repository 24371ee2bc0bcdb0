"""The work queue: when a service is reconciled, in an event loop whose time the tests let go by."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from tests.unit.reconcile.queued import FAILED, KEY, LATER, OTHER, Work, now, queue_test, settle

from specdec_operator.names import Key
from specdec_operator.reconcile.loop import ReconcileResult
from specdec_operator.reconcile.queue import WorkQueue


@queue_test
async def test_a_service_is_reconciled_when_it_is_added_and_when_its_result_asks_for_it() -> None:
    """Only the first one has anything new."""
    work = Work()
    work.queue.add(KEY)
    await asyncio.sleep(700)
    assert [(round(at), woken) for _, at, woken in work.begun] == [(0, True), (300, False), (600, False)]


@queue_test
async def test_wake_ups_during_a_reconcile_lead_to_exactly_one_more() -> None:
    """It read what there was when it began; what came later is looked at by the next."""
    work = Work()
    gate = work.hold(KEY)
    work.queue.add(KEY)
    await settle()
    for _ in range(3):
        work.queue.wake(KEY)
        await settle()
    assert len(work.begun) == 1
    gate.set()
    await settle()
    assert [woken for _, _, woken in work.begun] == [True, True]
    await asyncio.sleep(200)
    assert len(work.begun) == 2


@queue_test
async def test_a_service_wakes_only_itself_and_an_unknown_one_wakes_none() -> None:
    """Events of pods of a deleted service come for a while."""
    work = Work()
    work.add(KEY, OTHER)
    await settle()
    work.queue.wake(OTHER)
    work.queue.wake(("a", "gone"))
    await settle()
    assert work.called() == [KEY, OTHER, OTHER]
    assert ("a", "gone") not in work.queue


@queue_test
async def test_the_timer_of_an_earlier_result_is_void() -> None:
    """Else a service that is woken often would be reconciled ever more often."""
    work = Work(ReconcileResult(requeue_after=10.0))
    work.queue.add(KEY)
    await asyncio.sleep(6)
    work.queue.wake(KEY)
    await asyncio.sleep(25)
    assert [round(at) for at in work.times()] == [0, 6, 16, 26]


@queue_test
async def test_a_timer_that_ends_during_a_reconcile_is_void_too() -> None:
    """The reconcile that was running then sets the time of the next one."""
    work = Work(ReconcileResult(requeue_after=10.0))
    work.queue.add(KEY)
    await asyncio.sleep(9)
    gate = work.hold(KEY)
    work.queue.wake(KEY)
    await asyncio.sleep(6)
    gate.set()
    await asyncio.sleep(9)
    assert [round(at) for at in work.times()] == [0, 9]
    await asyncio.sleep(2)
    assert [round(at) for at in work.times()] == [0, 9, 25]


@queue_test
async def test_a_wait_in_the_past_is_due_at_once() -> None:
    """A look that is overdue."""
    work = Work()
    work.results[KEY] = ReconcileResult(requeue_after=-5.0)
    gate = work.hold(KEY)
    work.queue.add(KEY)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(work.begun) == 1
    gate.set()
    while len(work.begun) == 1:
        await asyncio.sleep(0)
    assert now() - 1000 < 0.001
    work.results[KEY] = LATER


@queue_test
async def test_the_back_off_doubles_to_10_seconds_and_is_reset_by_success() -> None:
    """Of this service alone; what was new stays new until it is followed."""
    work = Work(FAILED)
    work.queue.add(KEY)
    await asyncio.sleep(5 + 10 + 10 + 10 + 1)
    at = work.times()
    assert [round(b - a) for a, b in pairwise(at)] == [5, 10, 10, 10]
    assert all(woken for _, _, woken in work.begun)
    work.results[KEY] = ReconcileResult(requeue_after=3.0)
    await asyncio.sleep(10)
    work.results.clear()
    await asyncio.sleep(3)
    begun = len(work.begun)
    await asyncio.sleep(5)
    assert len(work.begun) == begun + 1


@queue_test
async def test_a_longer_wait_that_the_server_asked_for_is_respected() -> None:
    """Retry-After."""
    work = Work(ReconcileResult(requeue_after=120.0, failed=True))
    work.queue.add(KEY)
    await asyncio.sleep(361)
    assert [round(at) for at in work.times()] == [0, 120, 240, 360]


@queue_test
async def test_a_service_that_fails_for_days_is_tried_on() -> None:
    """Every 10 seconds; twice as long each time is soon more than a float can hold."""
    work = Work(FAILED)
    work.queue.add(KEY)
    await asyncio.sleep(2 * 86400)
    assert len(work.begun) > 4000
    assert now() - work.begun[-1][1] - 1000 <= 11


@queue_test
async def test_a_fault_of_ours_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """A service whose reconcile raises is not lost, and its place is free again."""
    tries: list[float] = []

    async def reconcile(_: Key, __: bool) -> ReconcileResult:
        tries.append(now())
        if len(tries) < 3:
            raise KeyError("a fault")
        return LATER

    queue = WorkQueue(reconcile)
    queue.add(KEY)
    with caplog.at_level(logging.ERROR):
        await asyncio.sleep(60)
    assert [round(each - tries[0]) for each in tries] == [0, 5, 15]
    assert [record.message for record in caplog.records] == ["service=a/x a reconcile failed with a bug"] * 2
    assert caplog.records[0].exc_info is not None


@queue_test
async def test_a_service_that_is_removed_is_not_reconciled_any_more() -> None:
    """Not by its timer, not by a wake-up, and not if it already waits in the queue."""
    work = Work()
    work.queue.add(KEY)
    await settle()
    work.queue.wake(KEY)
    work.queue.remove(KEY)
    work.queue.wake(KEY)
    work.queue.remove(KEY)  # a second call is not an error
    await asyncio.sleep(1000)
    assert len(work.begun) <= 2
    assert len(work.queue) == 0


@queue_test
async def test_a_reconcile_under_way_ends_after_its_service_is_removed_and_nothing_follows() -> None:
    """It is not broken off: half a reconcile is worse than one too many."""
    work = Work()
    gate = work.hold(KEY)
    work.queue.add(KEY)
    await settle()
    work.queue.wake(KEY)
    work.queue.remove(KEY)
    await settle()
    assert work.running == [KEY]
    gate.set()
    await asyncio.sleep(1000)
    assert (work.running, len(work.begun)) == ([], 1)


@queue_test
async def test_closing_ends_what_is_under_way_and_begins_nothing() -> None:
    """No waiting service, no new service, and no service of a timer begins."""
    work = Work()
    keys = [("a", str(each)) for each in range(100)]
    work.hold(*keys)
    work.add(*keys)
    work.queue.add(("b", "x"))
    await settle()
    begun = len(work.begun)
    await work.queue.close()
    assert work.running == []
    work.queue.add(OTHER)
    work.queue.wake(("b", "x"))
    await asyncio.sleep(1000)
    assert len(work.begun) == begun
    assert asyncio.all_tasks() == {asyncio.current_task()}


@queue_test
async def test_services_at_rest_hold_no_task_and_one_timer() -> None:
    """10,000 of them: memory and a start are paid for each."""
    work = Work()
    begun = time.monotonic()
    for each in range(10_000):
        work.queue.add((f"n{each % 50}", str(each)))
    await asyncio.sleep(10)
    assert len({*work.called()}) == 10_000
    assert asyncio.all_tasks() == {asyncio.current_task()}
    loop = asyncio.get_running_loop()
    assert len([each for each in loop._scheduled if not each.cancelled()]) == 1  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 60  # a quadratic line would take minutes


@pytest.mark.parametrize("act", [WorkQueue.wake, WorkQueue.remove], ids=["wake", "remove"])
def test_an_empty_queue_takes_events_of_unknown_services(act: Callable[[WorkQueue, Key], None]) -> None:
    """They come at any time, also before the queue has a loop."""

    async def reconcile(_: Key, __: bool) -> ReconcileResult:
        raise AssertionError("nothing is to be reconciled")

    call: Callable[[Key, bool], Awaitable[ReconcileResult]] = reconcile
    queue = WorkQueue(call)
    act(queue, KEY)
    assert len(queue) == 0
