"""The work queue: who goes first, and how many at once."""

import asyncio

from tests.unit.reconcile.queued import KEY, LATER, PLACES, Work, now, queue_test, settle

from specdec_operator.names import Key
from specdec_operator.reconcile.loop import ReconcileResult

READ_AT_ONCE = ReconcileResult(requeue_after=1.0, reading=True)
PLACES_OF_READINGS = 48
PLACES_OF_DECISIONS = 56


async def _with_hanging_readings(number: int) -> tuple[Work, list[Key]]:
    """A queue in which readings of so many services are due and hang."""
    work = Work(READ_AT_ONCE)
    keys = [(f"slow-{each % 2}", str(each)) for each in range(number)]
    work.add(*keys)
    await asyncio.sleep(0.5)
    work.hold(*keys)
    await asyncio.sleep(1)
    return work, keys


@queue_test
async def test_readings_take_at_most_48_of_64_places_and_do_not_delay_a_decision() -> None:
    """However many pods hang."""
    work, _ = await _with_hanging_readings(100)
    assert len(work.running) == PLACES_OF_READINGS
    before = now()
    decisions = [("b", str(each)) for each in range(10)]
    work.add(*decisions)
    await settle()
    assert set(decisions) <= set(work.called())
    assert now() - before < 0.01
    assert len(work.running) == PLACES_OF_READINGS


@queue_test
async def test_readings_of_one_namespace_leave_places_for_those_of_others() -> None:
    """300 services whose pods hang hold 36 of the 48 places: a reading of another namespace begins when it is due."""
    work = Work(READ_AT_ONCE)
    hanging, good = [("hog", str(each)) for each in range(300)], ("good", "x")
    work.add(*hanging, good)
    await asyncio.sleep(0.5)
    work.hold(*hanging)
    await asyncio.sleep(10)
    assert len(work.running) == 36
    assert [round(at) for at in work.times(good)] == list(range(11))


@queue_test
async def test_a_reading_that_waits_becomes_a_decision_when_it_is_woken() -> None:
    """It leaves the line of the readings, and is reconciled once."""
    work, keys = await _with_hanging_readings(50)
    waits = next(key for key in keys if key not in work.running)
    before = work.times(waits)
    work.gates.pop(waits)
    work.results[waits] = LATER
    work.queue.wake(waits)
    await settle()
    assert len(work.times(waits)) == len(before) + 1
    work.gates[keys[0]].set()
    await asyncio.sleep(0.5)
    assert len(work.times(waits)) == len(before) + 1


@queue_test
async def test_a_decision_goes_before_readings_that_wait() -> None:
    """With all places taken, the next free one is for the decision, though the readings wait for longer."""
    work, keys = await _with_hanging_readings(60)
    held = [("b", str(each)) for each in range(PLACES - PLACES_OF_READINGS)]
    gate = work.hold(*held)
    work.add(*held)
    await settle()
    assert len(work.running) == PLACES
    work.queue.add(KEY)
    await settle()
    assert KEY not in work.called()
    first = len(work.begun)
    work.gates.pop(held[0])
    gate.set()
    await settle()
    assert work.called()[first] == KEY
    assert keys[0] in work.running


@queue_test
async def test_readings_go_on_while_a_fleet_is_rolled_out() -> None:
    """Though decisions wait for a place: else no draft would be watched for as long as that takes."""
    work = Work(READ_AT_ONCE)
    watched = ("a", "watched")
    work.queue.add(watched)
    await settle()
    keys = [("b", str(each)) for each in range(200)]
    work.hold(*keys)
    work.add(*keys)
    await asyncio.sleep(3.5)
    assert len(work.running) == PLACES_OF_DECISIONS
    assert len(work.times(watched)) == 4


@queue_test
async def test_three_namespaces_take_turns() -> None:
    """One after the other, whatever the order in which they came; within one of them in order."""
    work = Work()
    full = [("first", str(each)) for each in range(PLACES_OF_DECISIONS)]
    gate = work.hold(*full)
    work.add(*full)
    await settle()
    work.add(*(("a", str(n)) for n in range(4)), *(("b", str(n)) for n in range(2)), ("c", "0"))
    gate.set()
    await settle()
    names = ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]
    assert [namespace + name for namespace, name in work.called()[PLACES_OF_DECISIONS:]] == names
