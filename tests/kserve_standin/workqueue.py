"""Hands keys to workers: each key to one worker at a time, and once more if it changed meanwhile.

It knows nothing of what a key means. A key that fails comes back later and later.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kserve_standin.model import Key

_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 30.0


@dataclass(slots=True)
class Workqueue:
    """Keys that wait, keys that are worked on, and how often a key has failed in a row."""

    _ready: asyncio.Queue[Key] = field(default_factory=asyncio.Queue)
    _waiting: set[Key] = field(default_factory=set)
    _running: set[Key] = field(default_factory=set)
    _failures: dict[Key, int] = field(default_factory=dict)

    def add(self, key: Key) -> None:
        """Ask for a key to be worked on; asking twice before it starts is asking once."""
        if key not in self._waiting:
            self._waiting.add(key)
            if key not in self._running:
                self._ready.put_nowait(key)

    async def take(self) -> Key:
        """Wait for the next key and mark it as worked on."""
        key = await self._ready.get()
        self._waiting.discard(key)
        self._running.add(key)
        return key

    def done(self, key: Key, *, failed: bool) -> None:
        """Take a key back from its worker; a failed one is due again after a delay that doubles."""
        self._running.discard(key)
        if key in self._waiting:
            self._ready.put_nowait(key)
        if not failed:
            self._failures.pop(key, None)
            return
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(_FIRST_RETRY_SECONDS * 2 ** (self._failures[key] - 1), _LAST_RETRY_SECONDS)
        asyncio.get_running_loop().call_later(delay, self.add, key)
