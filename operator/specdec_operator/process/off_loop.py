"""Pure work of unknown length beside the event loop: in two threads, of which no namespace holds both.

A thread cannot be ended. Work that takes too long keeps its thread until it ends, and its result is dropped.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from specdec_operator.process.places import Places

_THREADS: Final = 2
_Result = TypeVar("_Result")


class OffLoop:
    """seconds: how long one call may take once it has begun."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="off-loop")
        self._places = Places(_THREADS)
        self._running: set[asyncio.Task[Any]] = set()

    async def call(self, namespace: str, work: Callable[..., _Result], *args: Any) -> _Result:
        """The result of a function. Raises TimeoutError if it takes too long, and what the function raises."""
        begun = asyncio.Event()
        task = asyncio.create_task(self._in_thread(namespace, begun, work, args))
        self._running.add(task)
        task.add_done_callback(self._ended)
        await begun.wait()  # waiting for a thread is not counted
        done, _ = await asyncio.wait({task}, timeout=self.seconds)
        if not done:
            raise TimeoutError(f"not done within {self.seconds:g} s")
        return task.result()

    async def _in_thread(
        self, namespace: str, begun: asyncio.Event, work: Callable[..., _Result], args: tuple[Any, ...]
    ) -> _Result:
        async with self._places.place(namespace):
            begun.set()
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        """An error of work that was given up is not logged."""
        self._running.discard(task)
        if not task.cancelled():
            task.exception()
