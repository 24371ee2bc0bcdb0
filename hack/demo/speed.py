"""Tokens per second out of single requests. Pure: it is told when a request ran and how many tokens it brought."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answered request: its times in seconds, and the completion tokens that its usage reports."""

    began: float
    ended: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One request that was not answered."""

    at: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time, in seconds."""

    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Tokens per second: the median of equal slices of a span, with the slowest and the fastest of them."""

    median: float
    lowest: float
    highest: float
    slices: int


def rate(completions: Iterable[Completion], span: Span) -> float:
    """Tokens per second within a span.

    A request that reaches over an edge counts by the share of its time inside, so that slices of few requests do not
    jump by a whole answer.
    """
    tokens = 0.0
    for each in completions:
        inside = min(each.ended, span.end) - max(each.began, span.begin)
        if inside > 0:
            tokens += each.tokens * inside / (each.ended - each.began)
    return tokens / (span.end - span.begin)


def slices(span: Span, length: float) -> list[Span]:
    """Cut a span into equal slices of about `length` seconds, at least one."""
    count = max(1, round((span.end - span.begin) / length))
    step = (span.end - span.begin) / count
    return [Span(begin=span.begin + i * step, end=span.begin + (i + 1) * step) for i in range(count)]


def measured(completions: Sequence[Completion], span: Span, length: float) -> Speed:
    """The speed in a span, over slices of about `length` seconds."""
    rates = [rate(completions, part) for part in slices(span, length)]
    return Speed(median=statistics.median(rates), lowest=min(rates), highest=max(rates), slices=len(rates))
