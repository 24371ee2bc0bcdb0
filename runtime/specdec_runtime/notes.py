"""Notes that the processes of one engine leave for each other: files in the temporary folder of their container."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

ERRORS: Final = "specdec-errors.jsonl"
"""Why the engine's processes died (witness.py)."""
DIAL: Final = "specdec-dial.json"
"""What the dial asks for (dial/files.py)."""
STEPS: Final = "specdec-steps.json"
"""What the steps of the engine took (clock/page.py)."""


def path(name: str) -> Path:
    """Return where a note is."""
    return Path(tempfile.gettempdir()) / name


def leave(name: str, text: str) -> None:
    """Write a note as a whole: who reads it sees the one before, or this one. Raises OSError."""
    note = path(name)
    new = note.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(note)


def forget() -> None:
    """Remove the notes of a start before this one: the folder may outlive a container."""
    for name in (ERRORS, DIAL, STEPS):
        try:
            path(name).unlink(missing_ok=True)
        except OSError as error:
            print(f"specdec: {path(name)} cannot be removed: {error}", flush=True)
