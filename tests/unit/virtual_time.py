"""An asyncio event loop whose seconds cost none: where nothing is left to do, its clock goes on to the next timer.

Nothing but timers may be waited for: no sockets, no threads.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

_Args = ParamSpec("_Args")


class _Selector(selectors.SelectSelector):
    """Passes the time instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now."""
        assert timeout is not None, "everything waits, and nothing is left that could happen"
        self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """See above."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Virtual seconds."""
        return self._virtual.now


def in_virtual_time(test: Callable[_Args, Coroutine[Any, Any, None]]) -> Callable[_Args, None]:
    """A test that runs in such a loop."""

    @functools.wraps(test)
    def run(*args: _Args.args, **kwargs: _Args.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run
