"""The operator's clock: epoch seconds that pass as time passes, whatever is done to the machine's clock meanwhile."""

import time
from collections.abc import Callable


class SteadyClock:
    """Returns epoch seconds: the machine's clock when this was made, plus the seconds that have really passed since.

    A window, a deadline or a wait that is measured with it keeps its length, and never begins again, when the machine's
    clock is set. A new setting of the clock takes effect at the operator's next start.
    wall: returns epoch seconds, and may jump. monotonic: returns seconds since some moment, and never jumps.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._epoch = wall() - monotonic()

    def __call__(self) -> float:
        return self._epoch + self._monotonic()
