"""Records whether this process has served, and whether a signal requested its stop: vLLM's exit code shows neither.

One process serves, so there is one such record: the engine's entry point and the middleware share it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from specdec_runtime import family

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LOOPS = frozenset({"asyncio", "uvloop"})
_set = signal.signal


@dataclass(slots=True)
class Stop:
    """served: whether the server was up. asked: whether a signal then requested a stop."""

    served: bool = False
    asked: bool = False

    def noting(self, handler: Callable[..., object]) -> Callable[..., None]:
        """Return a handler that notes the signal and then does what another would have done."""

        def note(*signal_and_frame: object) -> None:
            self.asked = True
            handler(*signal_and_frame)

        return note


STOP = Stop()


def interrupt_start() -> None:
    """Have signals end a start at once: the first process of a container ignores them where it has no handler."""
    for each in _SIGNALS:
        _set(each, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def watch_handlers() -> None:
    """Learn from what vLLM does with these signals where it is; its child processes are left alone.

    During a start its handler raises KeyboardInterrupt, which its handshake with the engine's process swallows: it
    would then wait ten minutes for an engine that it has not answered. So interrupt_start's handler stays.
    Once the engine is up it has its event loop listen; that is the sign that it serves, in each version.
    """
    signal.signal = _watching(os.getpid())  # type: ignore[assignment]


def _watching(process: int) -> Callable[[int, Any], Any]:
    def set_handler(number: int, handler: Any) -> Any:
        if os.getpid() != process or number not in _SIGNALS:
            return _set(number, handler)
        if (getattr(handler, "__module__", None) or "").partition(".")[0] in _LOOPS:
            STOP.served = True
            return _set(number, STOP.noting(handler))
        return _set(number, handler) if STOP.served else signal.getsignal(number)

    return set_handler


def keep_for_later() -> None:
    """Keep signals that come while this process becomes another program: interrupt_start lets them through there."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def _leave(*_: object) -> NoReturn:
    """End this process and those that it has started; nothing has been served, so there is nothing to finish."""
    try:
        # Not print: the signal may have come in the middle of one.
        os.write(1, b"specdec: asked to stop before the server was up\n")
        # All descendants, listed before any is killed: a worker whose parent was killed is no longer listed below this
        # process.
        for each in family.descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)
    finally:
        # Whatever failed above: raised from here, it would have the start fail, and Python wait for its children.
        os._exit(0)
