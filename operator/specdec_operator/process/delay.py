"""How late the event loop is: everything of this process waits for what runs on it."""

import asyncio
from collections.abc import Callable
from typing import Final

_EVERY: Final = 0.25
"""Seconds between two timers: a loop that stands still for longer is late by nearly all of that time."""


async def keep_timing(note: Callable[[float], None]) -> None:
    """Sets one timer after the other, and notes by how many seconds each was late. Never returns."""
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + _EVERY
        await asyncio.sleep(_EVERY)
        note(max(0.0, clock() - due))
