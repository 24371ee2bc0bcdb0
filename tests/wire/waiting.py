"""Waiting for what is to come, with a deadline: what a test waits for, not how long, decides when it goes on."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

PATIENCE: Final = 240.0
"""Seconds for whatever is to come: it must come, however busy the machine. No test proves by it how soon.

Where a third of all requests fails, a step takes a dozen reconciles, five seconds from each failure to the next.
"""
_PAUSE: Final = 0.05, 0.25
"""Seconds between two looks: the first and the longest, a tenth of the wait in between, and at least twice as long as a
look takes. All tests share one API server and two cores, and most waits are for seconds.
"""


async def until(
    what: str,
    probe: Callable[[], Awaitable[Any]],
    *,
    state: Callable[[], Any] = lambda: "",
    patience: float = PATIENCE,
) -> Any:
    """Waits until the probe gives something; returns it. state: added to a failure's message. patience: seconds."""
    first, longest = _PAUSE
    asked = time.monotonic()
    while True:
        begun = time.monotonic()
        if found := await probe():
            return found
        now = time.monotonic()
        if now - asked > patience:
            told = state()
            said = await told if isinstance(told, Awaitable) else told
            raise AssertionError(f"{what}: not within {patience:.0f} s; {said}")
        await asyncio.sleep(max(first, min(longest, 0.1 * (now - asked)), 2 * (now - begun)))
