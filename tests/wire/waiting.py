"""Waiting for what is to come, with a deadline: what a test waits for, not how long, decides when it goes on."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

_PAUSE = 0.05


async def until(
    what: str, probe: Callable[[], Awaitable[Any]], seconds: float = 60.0, *, state: Callable[[], Any] = lambda: ""
) -> Any:
    """Waits until the probe gives something; returns it. state: what a failure tells besides."""
    deadline = time.monotonic() + seconds
    while not (found := await probe()):
        if time.monotonic() > deadline:
            told = state()
            said = await told if isinstance(told, Awaitable) else told
            raise AssertionError(f"{what}: not within {seconds:.0f} s; {said}")
        await asyncio.sleep(_PAUSE)
    return found
