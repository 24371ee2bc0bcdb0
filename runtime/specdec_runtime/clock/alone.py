"""The clock in an engine that does not speculate, as baseline pods have it: what its steps take shows by how much an
engine that only leaves its draft out is slower. It has no dial, and nothing of its steps is changed.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from specdec_engine.found_engine import VARIABLE
from specdec_runtime.clock.dips import Dips
from specdec_runtime.clock.hooks import StepClock
from specdec_runtime.clock.shown import ShownSums
from specdec_runtime.dial.hooks import DialPosition

if TYPE_CHECKING:
    from collections.abc import Callable

DIPS: Final = "SPECDEC_DIPS"
"""The share of the steps that draft less, or nothing, to be compared; 0: none, and no clock in a baseline pod."""
_PAUSE: Final = 1.0
"""Seconds between two looks at whether there were steps."""
_LOG = logging.getLogger("vllm.specdec")


class SumsThread(threading.Thread):
    """Leaves the clock's sums for the server for as long as the process lives."""

    def __init__(self, clock: StepClock) -> None:
        super().__init__(name="specdec-clock", daemon=True)
        self._shown = ShownSums(clock)

    def run(self) -> None:
        """Look once a second."""
        while True:
            self._shown.show(time.monotonic())
            time.sleep(_PAUSE)


def wanted() -> bool:
    """Whether an engine of this pod is timed without a dial too: in the operator's own pods, unless dips are off."""
    return bool(os.environ.get(VARIABLE)) and not _off()


def _off() -> bool:
    try:
        return float(os.environ.get(DIPS) or 1.0) == 0
    except ValueError:
        return False


def begin(
    core: Any, make: Callable[[StepClock], threading.Thread] = SumsThread, draw: Callable[[], float] = random.random
) -> StepClock | None:
    """Time the steps of an engine without speculation, if it is the only one of its pod: several would write one file.
    It never raises: vLLM would not start.
    """
    try:
        config = core.vllm_config
        if config.speculative_config is not None or config.parallel_config.data_parallel_size > 1:
            return None
        clock = StepClock(core.scheduler, DialPosition(tokens=0, drafted=0), Dips(draw, 0.0))
        clock.install()
        make(clock).start()
    except Exception as error:
        _LOG.warning("specdec: steps are not timed: %r", error)
        return None
    return clock
