"""The time that the dial's hooks take in each step by themselves: that of a hook, less what it calls of vLLM.

Whole steps with the hooks in and out differ by more from one block of steps to the next than by the hooks.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

_OF_SCHEDULER: Final = ("schedule", "update_from_output", "_update_after_schedule", "update_draft_token_ids")
_OF_RUNNER: Final = ("execute_model", "_input_fits_in_drafter", "propose_draft_token_ids", "_sample")


class OwnTime:
    """seconds: that hooks took since it was last set to 0."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def before_hooks(self, scheduler: Any, runner: Any) -> None:
        """Take away what vLLM's own methods take, in their classes: the hooks are put on the objects."""
        for owner, names in ((type(scheduler), _OF_SCHEDULER), (type(runner), _OF_RUNNER)):
            for name in names:
                if hasattr(owner, name):
                    setattr(owner, name, self._timed(getattr(owner, name), -1))

    def after_hooks(self, scheduler: Any, runner: Any) -> None:
        """Add what the hooks take, with all that they call."""
        for owner, names in ((scheduler, _OF_SCHEDULER), (runner, _OF_RUNNER)):
            for name in set(names) & vars(owner).keys():
                setattr(owner, name, self._timed(vars(owner)[name], 1))

    def _timed(self, function: Callable[..., Any], sign: int) -> Callable[..., Any]:
        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                self.seconds += sign * (time.perf_counter() - begun)

        return call
