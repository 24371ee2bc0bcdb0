"""Wakes the loop of one sis, or lets it sleep until a timeout."""

import asyncio
from collections import defaultdict
from typing import TypeAlias

Key: TypeAlias = tuple[str, str]
"""Namespace and name of a sis."""


class Wakeups:
    """One event for each sis. A wake-up that comes while the loop works is not lost."""

    def __init__(self) -> None:
        self._events: defaultdict[Key, asyncio.Event] = defaultdict(asyncio.Event)
        self._seen: dict[Key, object] = {}

    def wake(self, key: Key) -> None:
        """Ends the present or the next wait of this sis."""
        self._events[key].set()

    def wake_if_new(self, key: Key, version: object) -> None:
        """Wakes only for another version than the last one, so that our own status writes wake nobody."""
        if self._seen.get(key) != version:
            self._seen[key] = version
            self.wake(key)

    async def wait(self, key: Key, timeout: float) -> None:
        """Sleeps until woken, for `timeout` seconds at most."""
        event = self._events[key]
        try:
            await asyncio.wait_for(event.wait(), max(0.0, timeout))
        except TimeoutError:
            return
        finally:
            event.clear()

    def forget(self, key: Key) -> None:
        """Drops what is kept for a deleted sis."""
        self._events.pop(key, None)
        self._seen.pop(key, None)
