"""The clock's sums between two processes: the engine's leaves them in a file, the server's reads it."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

from specdec_runtime import notes
from specdec_runtime.clock.dips import DipKind, DipSums
from specdec_runtime.clock.sums import StepKind, StepSums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class EngineSums:
    """What an engine's steps came to, and its dips, by kind."""

    steps: Mapping[StepKind, StepSums] = field(default_factory=dict)
    dips: Mapping[DipKind, DipSums] = field(default_factory=dict)


def leave(sums: EngineSums) -> None:
    """Write the sums. Raises OSError."""
    found = {"steps": _rows(sums.steps), "dips": _rows(sums.dips)}
    notes.leave(notes.STEPS, json.dumps(found))


def left() -> EngineSums:
    """Return the sums; none before the first step, and none of a file that is not the clock's."""
    try:
        found = json.loads(notes.path(notes.STEPS).read_bytes())
        return EngineSums(dict(map(_step, found["steps"])), dict(map(_dip, found["dips"])))
    except (OSError, ValueError, TypeError, KeyError):
        return EngineSums()


def _rows(sums: Mapping[Any, Any]) -> list[tuple[Any, ...]]:
    """A kind and its sums, in the order of their fields."""
    return [(*astuple(kind), *astuple(each)) for kind, each in sorted(sums.items(), key=lambda pair: pair[0])]


def _step(row: Sequence[Any]) -> tuple[StepKind, StepSums]:
    tokens, batch, prompt, steps, seconds, requests, brought, drafted, accepted = row
    kept = [int(each) for each in accepted]
    sums = StepSums(int(steps), float(seconds), int(requests), int(brought), int(drafted), kept)
    return StepKind(int(tokens), int(batch), bool(prompt)), sums


def _dip(row: Sequence[Any]) -> tuple[DipKind, DipSums]:
    tokens, batch, dip, dips, ratios, squares = row
    return DipKind(int(tokens), int(batch), int(dip)), DipSums(int(dips), float(ratios), float(squares))
