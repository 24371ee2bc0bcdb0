"""Less memory than planned, since an engine with this speculation ran out of it."""

from dataclasses import dataclass
from typing import Final

STEP: Final = 0.05
"""Share of the device that one step takes off."""
MOST_STEPS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """A decision for less memory than planned: by how many steps in all; of the last one, why and when."""

    reason: str
    message: str
    at: float
    steps: int
