"""The clock's sums between two processes: the engine's leaves them in a file, the server's reads it."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_runtime.clock.sums import StepKind, StepSums, read, rows

if TYPE_CHECKING:
    from collections.abc import Mapping


def note() -> Path:
    """Return where the engine's process leaves the sums."""
    return Path(tempfile.gettempdir()) / "specdec-steps.json"


def leave(sums: Mapping[StepKind, StepSums]) -> None:
    """Write the sums. Raises OSError."""
    path = note()
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(rows(sums)), encoding="utf-8")
    new.replace(path)


def left() -> dict[StepKind, StepSums]:
    """Return the sums; none before the first step, and none of a file that is not the clock's."""
    try:
        return read(json.loads(note().read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def forget() -> None:
    """Remove the sums of a start before this one: the folder may outlive a container."""
    try:
        note().unlink(missing_ok=True)
    except OSError as error:
        print(f"specdec: {note()} cannot be removed: {error}", flush=True)
