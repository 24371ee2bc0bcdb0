"""The clock's sums between two processes: the engine's leaves them in a file, the server's reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from specdec_runtime import notes
from specdec_runtime.clock.sums import StepKind, StepSums, read, rows

if TYPE_CHECKING:
    from collections.abc import Mapping


def leave(sums: Mapping[StepKind, StepSums]) -> None:
    """Write the sums. Raises OSError."""
    notes.leave(notes.STEPS, json.dumps(rows(sums)))


def left() -> dict[StepKind, StepSums]:
    """Return the sums; none before the first step, and none of a file that is not the clock's."""
    try:
        return read(json.loads(notes.path(notes.STEPS).read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}
