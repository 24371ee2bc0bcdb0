"""Follows the setting's file from a thread of the engine's process: the engine's own steps read one number, and never a
file.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from specdec_runtime.clock.shown import ShownSums
from specdec_runtime.dial import files, schedule, state

if TYPE_CHECKING:
    from specdec_runtime.clock.hooks import StepClock
    from specdec_runtime.dial.files import Stamp
    from specdec_runtime.dial.hooks import DialPosition
    from specdec_runtime.dial.state import DialledPod

PAUSE: Final = 0.05
"""Seconds between two looks at the file's time and number; it is read only when they change."""
_LOG = logging.getLogger("vllm.specdec")


def now() -> state.Now:
    """Return the present moment by both clocks."""
    return state.Now(wall=time.time(), steady=time.monotonic())


class DialWatch(threading.Thread):
    """The thread. position: what the engine's steps read. clock: of its steps."""

    def __init__(self, pod: DialledPod, position: DialPosition, clock: StepClock | None = None) -> None:
        super().__init__(name="specdec-dial", daemon=True)
        self._pod = pod
        self._position = position
        self._shown = ShownSums(clock)
        self._stamp: Stamp | None = None
        self._state = state.begin(pod, now())
        files.leave(state.shown(self._state, pod, now()))

    def run(self) -> None:
        """Look for as long as the process lives."""
        while True:
            self.look()
            self.show(time.monotonic())
            time.sleep(PAUSE)

    def show(self, at: float) -> None:
        """Leave the clock's sums for the server."""
        self._shown.show(at)

    def look(self) -> None:
        """Bring into force what changed. Nothing that goes wrong here may end the thread: settings have to run out."""
        try:
            found = self._found()
        except Exception as error:
            _LOG.warning("specdec: the dial's setting cannot be read: %r", error)
            found = state.expire(self._state, self._pod, now())
        if found == self._state:
            return
        if found.refused != self._state.refused and found.refused:
            _LOG.warning("specdec: a setting of the dial is not used: %s", found.refused.why)
        if (found.tokens, found.rows) != (self._state.tokens, self._state.rows):
            how = f", by load {schedule.shown(found.rows)}" if found.rows else ""
            _LOG.info("specdec: %d tokens are drafted from the next step%s: %s", found.tokens, how, found.why)
        self._position.tokens = found.tokens
        if found.rows != self._position.rows:
            self._position.rows = found.rows
        self._state = found
        files.leave(state.shown(found, self._pod, now()))

    def _found(self) -> state.DialState:
        found, stamp = self._state, files.stamp()
        if stamp != self._stamp:
            text = files.setting()
            self._stamp = stamp
            found = state.read(found, self._pod, text, now())
        return state.expire(found, self._pod, now())
