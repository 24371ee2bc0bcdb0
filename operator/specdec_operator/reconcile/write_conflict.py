"""Other clients that change the InferenceService repeatedly: each restore waits longer, and the status shows it."""

from dataclasses import dataclass, replace
from typing import Final

_LONGEST: Final = 60.0
_PEACE: Final = 600.0
"""Seconds without a change by others after which it is over."""
_TOLD: Final = 3
"""Restores in a row after which the user is informed: one change is not a conflict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteConflict:
    """times: how often it was restored in a row; at: when last, epoch seconds; by: who changed it then.

    waits: whether a change is left for now, to be reverted when that is due.
    """

    times: int = 0
    at: float = 0.0
    by: str = ""
    waits: bool = False

    @property
    def due(self) -> float:
        """When it may be put back next, epoch seconds: at once, then after 2 s, 4 s, ... and at most a minute."""
        return self.at + min(_LONGEST, 2.0**self.times) if self.times else 0.0

    @property
    def words(self) -> str:
        """The message to the user; empty if there is nothing to report."""
        if self.times < _TOLD:
            return ""
        return (
            f"{self.by or 'another client'} changes the InferenceService repeatedly; the operator restores it, each "
            "time after a longer wait; let only one of the two write it"
        )

    def so_far(self, now: float) -> "WriteConflict":
        """What is left of it now: nothing after ten minutes without a change by others."""
        return WriteConflict() if now - self.at > _PEACE else replace(self, waits=False)

    def waiting(self) -> "WriteConflict":
        """A change is left for now."""
        return replace(self, waits=True)

    def put_back(self, by: str, now: float) -> "WriteConflict":
        """It is put back now."""
        return WriteConflict(times=self.times + 1, at=now, by=by)
