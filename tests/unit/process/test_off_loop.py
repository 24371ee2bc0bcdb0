"""Work beside the event loop."""

import asyncio
import threading
import time

import pytest

from specdec_operator.process.off_loop import OffLoop


async def test_the_loop_goes_on_while_a_thread_works_and_errors_come_back() -> None:
    """The result, and what the function raises."""
    off_loop, turns = OffLoop(10.0), 0
    call = asyncio.create_task(off_loop.call("a", lambda: (time.sleep(0.2), threading.current_thread().name)[1]))
    while not call.done():
        turns += 1
        await asyncio.sleep(0.01)
    assert turns > 3
    assert (await call).startswith("off-loop")
    with pytest.raises(ZeroDivisionError):
        await off_loop.call("a", lambda: 1 // 0)


async def test_what_takes_too_long_holds_one_thread_and_no_other_namespace() -> None:
    """Its result is not waited for. The next work of its namespace waits for a thread, and that wait is not counted."""
    off_loop, go_on = OffLoop(0.1), threading.Event()
    with pytest.raises(TimeoutError):
        await off_loop.call("a", go_on.wait, 10.0)
    waiting = asyncio.create_task(off_loop.call("a", lambda: "next"))
    assert [await off_loop.call("b", lambda: "other") for _ in range(3)] == ["other"] * 3
    await asyncio.sleep(0.2)
    assert not waiting.done()
    go_on.set()
    assert await waiting == "next"
