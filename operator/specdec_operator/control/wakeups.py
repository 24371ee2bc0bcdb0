"""Wakes the loop of one sis, or lets it sleep until a timeout."""

import asyncio
from typing import TypeAlias

Key: TypeAlias = tuple[str, str]
"""Namespace and name of a sis."""


class Wakeups:
    """One event for each sis. A wake-up that comes while the loop works is not lost."""

    def __init__(self) -> None:
        self._events: dict[Key, asyncio.Event] = {}
        self._seen: dict[Key, object] = {}

    def follow(self, key: Key) -> None:
        """From now on this sis can be woken. What wakes it earlier is seen by its first turn anyway."""
        self._events.setdefault(key, asyncio.Event())

    def follows(self, key: Key) -> bool:
        """Whether this sis can be woken: it is neither unknown nor forgotten."""
        return key in self._events

    def wake(self, key: Key) -> None:
        """Ends the present or the next wait of this sis, where it is followed: what it owned goes after it."""
        if event := self._events.get(key):
            event.set()

    def wake_if_new(self, key: Key, version: object) -> None:
        """Wakes only for another version than the last one, so that our own status writes wake nobody."""
        if self._seen.get(key) != version:
            self._seen[key] = version
            self.wake(key)

    async def wait(self, key: Key, timeout: float) -> bool:
        """Sleeps until woken, for `timeout` seconds at most; returns whether it was woken."""
        self.follow(key)
        event = self._events[key]
        try:
            async with asyncio.timeout(max(0.0, timeout)):  # unlike wait_for, without a task for each sis
                return await event.wait()
        except TimeoutError:
            return False
        finally:
            event.clear()

    def forget(self, key: Key) -> None:
        """Drops what is kept for a deleted sis."""
        self._events.pop(key, None)
        self._seen.pop(key, None)
