"""The work queue: one entry a service, and a bounded number of reconciles at once.

First reconciles, decisions and rollouts go before readings of counters, and within both the namespaces take turns: a
tenant with a thousand services, or with pods that hang, keeps no other one waiting.
"""

import asyncio
import heapq
import itertools
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from specdec_operator.names import Key
from specdec_operator.reconcile.loop import ReconcileResult

_LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 64
"""Reconciles at once. Most of one is waiting for others: the API server, pods, Prometheus."""
_LONGEST_BACK_OFF: Final = 10.0
"""Seconds between two tries of a service that fails again and again."""
_MOST_DOUBLINGS: Final = 10
"""Of the back-off: enough for the longest one, and a number that a float can hold however often a service fails."""
_AFTER_FAULT: Final = 5.0
"""Seconds until a service is tried again whose reconcile had a fault of ours."""


class Priority(IntEnum):
    """What goes first. DECISION: whatever may change what is served. READING: counters of pods, and nothing else."""

    DECISION = 0
    READING = 1


_MOST: Final = {Priority.DECISION: 56, Priority.READING: 48}
"""Of these, of one priority: decisions find a place however many pods hang, and readings however much is rolled out.
With 10,000 new services no pod at all was read for minutes."""
_MOST_READINGS_OF_ONE: Final = 36
"""Of one namespace: a reading of pods that hang keeps its place for long, and there may be hundreds of them."""


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One service. due: when its timer ends; woken: whether anything is new since its last reconcile began.

    ready: with which priority it waits for a place, None: it does not. failures: reconciles in a row that failed.
    A service that is removed and added again is another entry.
    """

    due: float | None = None
    priority: Priority = Priority.DECISION
    woken: bool = True
    ready: Priority | None = None
    failures: int = 0


@dataclass(slots=True, kw_only=True)
class _Line:
    """Keys of one priority that wait for a place: namespaces take turns, and each is served in order."""

    namespaces: OrderedDict[str, deque[Key]] = field(default_factory=OrderedDict)

    def put(self, key: Key) -> None:
        self.namespaces.setdefault(key[0], deque()).append(key)

    def take(self, full: Container[str]) -> Key | None:
        """The next key; its namespace goes to the end of the line. full: namespaces that are passed over."""
        namespace = next((each for each in self.namespaces if each not in full), None)
        if namespace is None:
            return None
        keys = self.namespaces.pop(namespace)
        key = keys.popleft()
        if keys:
            self.namespaces[namespace] = keys
        return key


class WorkQueue:
    """Calls `reconcile` for each service that was added: when it is woken, and when its last result asked for it.

    reconcile: of a key, and whether anything is new. It raises nothing that is expected.
    """

    def __init__(self, reconcile: Callable[[Key, bool], Awaitable[ReconcileResult]]) -> None:
        self._reconcile = reconcile
        self._entries: dict[Key, _Entry] = {}
        self._lines = {priority: _Line() for priority in Priority}
        self._timers: list[tuple[float, int, Key]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._running: dict[Key, Priority] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def add(self, key: Key) -> None:
        """From now on this service is reconciled, beginning now."""
        self._entries.setdefault(key, _Entry())
        self.wake(key)

    def wake(self, key: Key) -> None:
        """Something is new about a service. One that is being reconciled is reconciled once more after it."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.woken = True
            self._make_ready(key, entry, Priority.DECISION)

    def remove(self, key: Key) -> None:
        """This service is not reconciled any more. What is under way ends, and nothing follows it."""
        self._entries.pop(key, None)

    async def close(self) -> None:
        """Begins nothing any more, and waits for what is under way."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _make_ready(self, key: Key, entry: _Entry, priority: Priority) -> None:
        if entry.ready is None or priority < entry.ready:
            entry.ready = priority  # the place in the other line is passed over when its turn comes
            self._lines[priority].put(key)
        self._fill()

    def _fill(self) -> None:
        """Begins what there are places for."""
        while not self._closed and (chosen := self._next()) is not None:
            key, priority = chosen
            entry = self._entries[key]
            entry.ready, self._running[key] = None, priority
            woken, entry.woken = entry.woken, False
            task = asyncio.get_running_loop().create_task(self._work(key, entry, woken))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next(self) -> tuple[Key, Priority] | None:
        for priority in Priority:
            if len(self._running) >= _AT_ONCE:
                return None
            if [*self._running.values()].count(priority) >= _MOST[priority]:
                continue
            full = self._full(priority)
            while (key := self._lines[priority].take(full)) is not None:
                entry = self._entries.get(key)
                if entry is not None and entry.ready is priority and key not in self._running:
                    return key, priority
        return None

    def _full(self, priority: Priority) -> Container[str]:
        """The namespaces that have as many readings under way as one may have."""
        if priority is not Priority.READING:
            return ()
        held = Counter(namespace for (namespace, _), each in self._running.items() if each is priority)
        return {namespace for namespace, number in held.items() if number >= _MOST_READINGS_OF_ONE}

    async def _work(self, key: Key, entry: _Entry, woken: bool) -> None:
        result = ReconcileResult(requeue_after=_AFTER_FAULT, failed=True)
        try:
            result = await self._reconcile(key, woken)
        except Exception:
            _LOG.exception("service=%s/%s a reconcile failed with a bug", *key)
        finally:
            del self._running[key]
            self._after(key, entry, result)

    def _after(self, key: Key, entry: _Entry, result: ReconcileResult) -> None:
        current = self._entries.get(key)
        if current is entry:
            entry.failures = entry.failures + 1 if result.failed else 0
            entry.woken |= result.failed  # what was new is still not followed
            entry.priority = Priority.READING if result.reading else Priority.DECISION
            self._set_timer(key, entry, max(result.requeue_after, _back_off(entry.failures, result.requeue_after)))
        if current is not None and current.ready is not None:  # it was woken meanwhile, or added again
            current.ready = None
            self._make_ready(key, current, Priority.DECISION)
        self._fill()

    def _set_timer(self, key: Key, entry: _Entry, seconds: float) -> None:
        entry.due = asyncio.get_running_loop().time() + max(0.0, seconds)
        heapq.heappush(self._timers, (entry.due, next(self._numbers), key))
        self._arm()

    def _arm(self) -> None:
        """Sets the one timer of the loop to the earliest entry."""
        if self._timer is not None:
            self._timer.cancel()
        if self._timers and not self._closed:
            self._timer = asyncio.get_running_loop().call_at(self._timers[0][0], self._ring)

    def _ring(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0][0] <= now:
            due, _, key = heapq.heappop(self._timers)
            entry = self._entries.get(key)
            if entry is not None and entry.due == due and key not in self._running:
                self._make_ready(key, entry, entry.priority)
        self._arm()


def _back_off(failures: int, first: float) -> float:
    """Seconds to the next try: as many as asked for after the first failure, and twice as many after each other one."""
    return min(_LONGEST_BACK_OFF, first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)) if failures else 0.0
