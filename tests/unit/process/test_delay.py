"""How late the event loop is."""

import asyncio
import time

from specdec_operator.process.delay import keep_timing


async def test_a_loop_that_stands_still_is_late_by_that_time() -> None:
    """By all of it but the time between two timers."""
    noted: list[float] = []
    timing = asyncio.create_task(keep_timing(noted.append))
    await asyncio.sleep(0.6)
    assert len(noted) >= 1
    before = sum(noted)
    time.sleep(1.0)
    await asyncio.sleep(0.3)
    timing.cancel()
    assert sum(noted) - before >= 0.7
    assert max(noted) <= sum(noted)
