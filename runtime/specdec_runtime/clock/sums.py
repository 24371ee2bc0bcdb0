"""What the steps of an engine took and brought, added up by kind of step. Pure.

Sums are bounded: a kind is a number of draft tokens, a power of two of requests, and whether a prompt is taken in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGEST: Final = 1024
"""Larger batches are counted as this one."""


@dataclass(frozen=True, order=True, slots=True)
class StepKind:
    """tokens: that the step was to draft, a request. batch: the smallest power of two that is not below its requests.
    prompt: whether it took a prompt in.
    """

    tokens: int
    batch: int
    prompt: bool


@dataclass(slots=True)
class StepSums:
    """Of one kind. seconds: of the steps. requests: that got tokens in them, summed up. tokens: that they got. drafted:
    draft tokens that were verified; accepted: those that were kept, by position, first position first.
    """

    steps: int = 0
    seconds: float = 0.0
    requests: int = 0
    tokens: int = 0
    drafted: int = 0
    accepted: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedStep:
    """One step. requests: how many were in it; answered: how many of them got tokens. kept: of each request with a
    draft, how many of its tokens were accepted.
    """

    asked: int
    requests: int
    answered: int
    prompt: bool
    seconds: float
    tokens: int
    drafted: int
    kept: Sequence[int]


def batch_of(requests: int) -> int:
    """Return the smallest power of two that is not below a number of requests."""
    return min(_LARGEST, 1 << max(0, requests - 1).bit_length())


def add(sums: dict[StepKind, StepSums], step: TimedStep) -> None:
    """Add a step to the sums of its kind."""
    kind = StepKind(step.asked, batch_of(step.requests), step.prompt)
    found = sums.setdefault(kind, StepSums())
    found.steps += 1
    found.seconds += step.seconds
    found.requests += step.answered
    found.tokens += step.tokens
    found.drafted += step.drafted
    if (most := max(step.kept, default=0)) > len(found.accepted):
        found.accepted += [0] * (most - len(found.accepted))
    for kept in step.kept:
        for position in range(kept):
            found.accepted[position] += 1
