"""Leaves what the clock has added up where the server's /metrics reads it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from specdec_runtime.clock import page

if TYPE_CHECKING:
    from specdec_runtime.clock.hooks import StepClock

_SHOWN: Final = 1.0
"""Seconds between two times that the clock's sums are written, if there were steps."""
_LOG = logging.getLogger("vllm.specdec")


class ShownSums:
    """The sums of one clock, as they were last left."""

    def __init__(self, clock: StepClock | None) -> None:
        self._clock = clock
        self._steps = 0
        self._due = 0.0

    def show(self, at: float) -> None:
        """Leave the sums for the server. What cannot be written is not shown, and the engine goes on."""
        if self._clock is None or at < self._due:
            return
        self._due = at + _SHOWN
        try:
            sums = page.EngineSums(dict(self._clock.sums), dict(self._clock.dips.sums))
            if (steps := sum(each.steps for each in sums.steps.values())) != self._steps:
                page.leave(sums)
                self._steps = steps
        except Exception as error:
            _LOG.warning("specdec: /metrics does not show the engine's steps: %r", error)
            self._clock = None
