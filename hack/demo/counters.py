"""The engine's own speculation counters, read from its /metrics page. Pure, and apart from the operator's reading.

The demo reads the engine itself, so that its acceptance is a second opinion and not the operator's word.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hack.demo.speed import Span

_LINE = re.compile(
    r"^vllm:spec_decode_num_(draft_tokens|accepted_tokens)_total(?:\{[^}]*\})? ([0-9.eE+-]+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one pod's counters said at one moment."""

    at: float
    pod: str
    drafted: float
    accepted: float


def read(page: str, *, pod: str, at: float) -> Reading | None:
    """Find the counters on a page; None where the engine does not speculate."""
    sums: dict[str, float] = {}
    for name, value in _LINE.findall(page):
        sums[name] = sums.get(name, 0.0) + float(value)
    if len(sums) < 2:
        return None
    return Reading(at=at, pod=pod, drafted=sums["draft_tokens"], accepted=sums["accepted_tokens"])


def acceptance(readings: Sequence[Reading], span: Span) -> float | None:
    """Accepted / drafted tokens inside a span, summed over the pods; None where nothing was drafted."""
    inside: dict[str, list[Reading]] = {}
    for each in readings:
        if span.begin <= each.at <= span.end:
            inside.setdefault(each.pod, []).append(each)
    drafted = sum(each[-1].drafted - each[0].drafted for each in inside.values())
    accepted = sum(each[-1].accepted - each[0].accepted for each in inside.values())
    return accepted / drafted if drafted > 0 else None


def course(readings: Sequence[Reading]) -> list[tuple[float, float]]:
    """Acceptance from one reading of a pod to its next: (time of the later one, acceptance), in order of time."""
    before: dict[str, Reading] = {}
    points: list[tuple[float, float]] = []
    for each in sorted(readings, key=lambda reading: reading.at):
        earlier = before.get(each.pod)
        if earlier is not None and each.drafted > earlier.drafted:
            points.append((each.at, (each.accepted - earlier.accepted) / (each.drafted - earlier.drafted)))
        before[each.pod] = each
    return points
