"""Less memory than planned, since an engine with this speculation ran out of it."""

from dataclasses import dataclass, field
from typing import Final

from specdec_operator.api.kept import Time, means

STEP: Final = 0.05
"""Share of the device that one step takes off."""
MOST_STEPS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """A decision for less memory than planned."""

    reason: str = field(metadata=means("Reason, in one word."))
    message: str = field(metadata=means("How the engine ran out of memory, and its memory settings at that start."))
    at: Time = field(metadata=means("Time of the last decision."))
    steps: int = field(
        metadata=means("Number of steps of 0.05 of the device by which the memory is lowered; at most two.")
    )
