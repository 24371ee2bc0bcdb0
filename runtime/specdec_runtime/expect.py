"""What prove may expect of a server's drafts, by the note that launch left. It asks no server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specdec_engine.methods import LOOKUPS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OWN_WAYS = {
    "custom_class": "custom_class decides in its own code when to draft",
    "extract_hidden_states": "extract_hidden_states reads the target's states and does not have to draft",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedMethod:
    """method: the speculative method, None for a plain server and where nothing is known.

    excuse: why a healthy server may draft nothing for the probe, or None where it must draft.
    """

    method: str | None = None
    excuse: str | None = None


def read(plan: Path) -> ExpectedMethod:
    """Return what launch's note lets expect; without a note, what the counters show decides."""
    try:
        note = json.loads(plan.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ExpectedMethod()
    method = note.get("method") if isinstance(note, dict) else None
    if not isinstance(method, str):
        return ExpectedMethod()
    return ExpectedMethod(method=method, excuse=_excuse(method, note))


def _excuse(method: str, note: Mapping[str, object]) -> str | None:
    if method in LOOKUPS:
        return f"{method} found no match in the probe's prompt"
    if _idle_when_alone(note.get("schedule")):
        return "the schedule of tokens by batch size drafts no tokens for a single request"
    return _OWN_WAYS.get(method)


def _idle_when_alone(schedule: object) -> bool:
    """Whether a schedule, rows of first batch size, last batch size and tokens, has no tokens for a batch of one."""
    if not isinstance(schedule, list):
        return False
    rows = [row for row in schedule if isinstance(row, list) and len(row) == 3]
    return any(row[0] <= 1 <= row[1] and row[2] == 0 for row in rows)
