"""What the tests of the work queue let it call."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from tests.unit.virtual_time import in_virtual_time

from specdec_operator.names import Key
from specdec_operator.reconcile.loop import ReconcileResult
from specdec_operator.reconcile.queue import WorkQueue

KEY, OTHER = ("a", "x"), ("a", "y")
LATER = ReconcileResult(requeue_after=300.0)
FAILED = ReconcileResult(requeue_after=5.0, failed=True)
PLACES = 64
_Args = ParamSpec("_Args")


def now() -> float:
    """Seconds of the loop."""
    return asyncio.get_running_loop().time()


def queue_test(test: Callable[_Args, Coroutine[Any, Any, None]]) -> Callable[_Args, None]:
    """A test in virtual time, after which its queues are closed."""

    @in_virtual_time
    @functools.wraps(test)
    async def run(*args: _Args.args, **kwargs: _Args.kwargs) -> None:
        try:
            await test(*args, **kwargs)
        finally:
            while _MADE:
                await _MADE.pop().queue.close()

    return run


class Work:
    """What the queue calls. begun: every call, with its seconds since the first; running: the calls under way.

    result: of a key's calls. gates: keys whose calls wait until the gate is open.
    """

    def __init__(self, result: ReconcileResult = LATER) -> None:
        self.queue = WorkQueue(self)
        _MADE.append(self)
        self.results: dict[Key, ReconcileResult] = {}
        self.gates: dict[Key, asyncio.Event] = {}
        self.begun: list[tuple[Key, float, bool]] = []
        self.running: list[Key] = []
        self.most = 0
        self._result = result
        self._since = now()

    async def __call__(self, key: Key, woken: bool) -> ReconcileResult:
        self.begun.append((key, now() - self._since, woken))
        self.running.append(key)
        self.most = max(self.most, len(self.running))
        try:
            if key in self.gates:
                await self.gates[key].wait()
            return self.results.get(key, self._result)
        finally:
            self.running.remove(key)

    def hold(self, *keys: Key) -> asyncio.Event:
        """Lets the calls for keys wait until the returned gate is open."""
        gate = asyncio.Event()
        self.gates.update(dict.fromkeys(keys, gate))
        return gate

    def add(self, *keys: Key) -> None:
        """Adds services to the queue."""
        for key in keys:
            self.queue.add(key)

    def called(self) -> list[Key]:
        """The keys of all calls, in order."""
        return [key for key, _, _ in self.begun]

    def times(self, key: Key = KEY) -> list[float]:
        """When a key's calls began."""
        return [at for each, at, _ in self.begun if each == key]


async def settle() -> None:
    """Lets everything happen that takes no time."""
    await asyncio.sleep(0.001)


_MADE: list[Work] = []
