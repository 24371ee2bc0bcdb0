"""What is free in the middle of the heap goes back to the system."""

import asyncio
import contextlib
import ctypes
import random

import pytest

from specdec_operator.process import memory


def _mib() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library than glibc")
async def test_what_is_free_between_pieces_that_are_not_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the pieces are dropped, none of them at the end; whole pages of them are free."""
    monkeypatch.setattr(memory, "_EVERY", 0.01)
    kept = [bytes(20_000) for _ in range(4000)]
    random.Random(1).shuffle(kept)  # noqa: S311 - guards nothing
    del kept[:2000]
    before, task = _mib(), asyncio.create_task(memory.keep_small())
    async with asyncio.timeout(30):
        while before - _mib() <= 20:
            await asyncio.sleep(0.01)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert len(kept) == 2000
