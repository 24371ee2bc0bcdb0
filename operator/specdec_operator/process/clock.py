"""The operator's clock: epoch seconds that pass as time passes, whatever is done to the machine's clock meanwhile."""

import time
from collections.abc import Callable


class SteadyClock:
    """Tells epoch seconds: the machine's clock when this was made, and the seconds that have really passed since.

    A window, a deadline or a wait that is measured with it is as long as it says, and never begins anew, when the
    machine's clock is set. That a clock was set is followed at the operator's next start.
    wall: tells epoch seconds, and may jump. monotonic: tells seconds since some moment, and never jumps.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._epoch = wall() - monotonic()

    def __call__(self) -> float:
        return self._epoch + self._monotonic()
