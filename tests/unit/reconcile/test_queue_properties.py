"""The work queue, whatever comes in whatever order: never twice at once, never too many, and nothing is lost."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.virtual_time import VirtualLoop

from specdec_operator.names import Key
from specdec_operator.reconcile.loop import ReconcileResult
from specdec_operator.reconcile.queue import WorkQueue

PLACES, PLACES_OF_READINGS = 64, 48
LONGEST = 60.0
"""Seconds in which everything that was asked for has happened: the longest wait of a result, and of a back-off."""
KEYS = [(f"n{each % 3}", str(each)) for each in range(9)]
CROWD = [("crowd", str(each)) for each in range(70)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one reconcile takes and gives. raises: whether it has a fault of ours."""

    takes: float
    requeue_after: float
    reading: bool
    failed: bool
    raises: bool


RUNS = st.builds(
    Run,
    takes=st.sampled_from([0.0, 0.0, 0.5, 4.0]),
    requeue_after=st.sampled_from([0.25, 1.0, 7.0, 50.0]),
    reading=st.booleans(),
    failed=st.booleans(),
    raises=st.booleans(),
)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["add", "wake", "wake", "remove"]), st.sampled_from(KEYS)),
    st.tuples(st.sampled_from(["crowd", "leave"]), st.just(KEYS[0])),
    st.tuples(st.sampled_from(["pass"]), st.sampled_from([0.0, 0.1, 3.0, 12.0])),
)


@dataclass(slots=True)
class Checked:
    """A reconcile that checks the queue's promises each time that it is called.

    asked: when each existing service was added or woken last, until a reconcile begins after that and gets this as its
    argument; after: when the next one is due at the latest. broken: what did not hold.
    """

    runs: list[Run]
    running: dict[Key, bool] = field(default_factory=dict)
    asked: dict[Key, float] = field(default_factory=dict)
    after: defaultdict[Key, float] = field(default_factory=lambda: defaultdict(float))
    readings: set[Key] = field(default_factory=set)
    begun: int = 0
    broken: list[str] = field(default_factory=list)

    def _check(self, holds: bool, promise: str) -> None:
        """An assertion here would be taken for a fault of the reconcile, and tried again."""
        if not holds:
            self.broken.append(promise)

    async def __call__(self, key: Key, woken: bool) -> ReconcileResult:
        loop = asyncio.get_running_loop()
        self._check(key not in self.running, f"{key} twice at once")
        self.running[key] = key in self.readings and not woken
        self._check(len(self.running) <= PLACES, "too many")
        self._check(sum(self.running.values()) <= PLACES_OF_READINGS, "too many readings")
        if woken:
            self.asked.pop(key, None)
        run = self.runs[self.begun % len(self.runs)]
        self.begun += 1
        try:
            await asyncio.sleep(run.takes)
            if run.raises:
                raise ValueError("a fault")
            (self.readings.add if run.reading and not run.failed else self.readings.discard)(key)
            self.after[key] = loop.time() + LONGEST
            return ReconcileResult(
                requeue_after=run.requeue_after, reading=run.reading and not run.failed, failed=run.failed
            )
        except ValueError:
            self.readings.discard(key)
            self.after[key] = loop.time() + LONGEST
            raise
        finally:
            del self.running[key]


async def _play(runs: list[Run], steps: list[tuple[str, object]]) -> None:
    loop = asyncio.get_running_loop()
    checked = Checked(runs)
    queue = WorkQueue(checked)
    there: set[Key] = set()
    for act, what in steps:
        match act, what:
            case "pass", float(seconds):
                await asyncio.sleep(seconds)
                continue
            case "crowd" | "leave", _:
                keys = CROWD
            case _, (str(namespace), str(name)):
                keys = [(namespace, name)]
        for key in keys:
            if act in ("remove", "leave"):
                queue.remove(key)
                there.discard(key)
                checked.asked.pop(key, None)
            elif act in ("add", "crowd") or key in there:
                there.add(key)
                checked.asked[key] = loop.time()
                (queue.wake if act == "wake" else queue.add)(key)
            else:
                queue.wake(key)
    assert {key for key in {*KEYS, *CROWD} if key in queue} == there
    await asyncio.sleep(LONGEST)
    assert not set(checked.asked) & there, "was asked for, and never reconciled"
    begun = loop.time()
    await asyncio.sleep(2 * LONGEST)
    assert all(checked.after[key] > begun for key in there), "was not reconciled when its result asked for it"
    await queue.close()
    assert checked.broken == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


@given(runs=st.lists(RUNS, min_size=1, max_size=8), steps=st.lists(STEPS, max_size=40))
def test_never_twice_at_once_never_too_many_and_nothing_is_lost(
    runs: list[Run], steps: list[tuple[str, object]]
) -> None:
    """Adds, wake-ups, removals and results in any order and at any time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(_play(runs, steps))
