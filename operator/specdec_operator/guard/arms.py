"""Compares speculating pods with baseline pods that serve the same traffic in the same minutes.

A baseline measured on another day answers another question: longer prompts or a larger batch slow both arms.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import log, sqrt
from typing import Annotated, Final

from specdec_operator.api.kept import Form, Milliseconds, Time, means, rounded
from specdec_operator.guard.baseline import FEWEST_REQUESTS
from specdec_operator.guard.evidence import Evidence, pooled
from specdec_operator.guard.kv_cache import KvCache
from specdec_operator.guard.statistics import TokenTime, TokenTimes

_LEAST_SCATTER: Final = 0.1
"""Scatter of the requests' times per output token about their mean, at least."""


class Measure(StrEnum):
    """What is compared between the arms. Each word is that of the finding."""

    SPEED = "time-per-output-token"
    """Logarithm of baseline / speculation."""
    FIRST_TOKEN = "time-to-first-token"  # noqa: S105 - a time, no password
    """Logarithm of speculation / baseline, as for all that follow except the hit rate."""
    QUEUE = "queue-time"
    PREEMPTIONS = "preemptions"
    HIT_RATE = "prefix-hit-rate"
    """Baseline less speculation."""
    THROUGHPUT = "throughput"


_MEASURES: Final = frozenset(Measure)
_Short = Annotated[float, rounded(4)]


def _known(names: Iterable[str]) -> tuple[Measure, ...]:
    """The measures that this release knows. Other measures, of a newer release, are ignored."""
    return tuple(Measure(each) for each in names if each in _MEASURES)


def _seen(kept: Mapping[str, tuple[float, float]]) -> dict[Measure, tuple[float, float]]:
    return {each: kept[each] for each in _known(kept)}


_Seen = Annotated[Mapping[Measure, tuple[float, float]], Form(_seen, dict, dict[str, tuple[_Short, _Short]])]
Measures = Annotated[tuple[Measure, ...], Form(_known, list, list[str])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One window of both arms."""

    at: Time = field(metadata=means("Time at which the window closed."))
    plain: Milliseconds = field(
        default=0.0,
        metadata=means("Time per output token of the baseline, in milliseconds.", name="plainMs"),
    )
    seconds: Milliseconds = field(default=0.0, metadata=means("The same value with speculation.", name="speculatingMs"))
    seen: _Seen = field(
        metadata=means(
            "By measure: the logarithm of the ratio of both arms (for the hit rate the difference), and its error."
        )
    )
    unlike: tuple[_Short, _Short, _Short] = field(
        default=(0.0, 0.0, 0.0),
        metadata=means(
            "Logarithms of baseline / speculating requests per pod, tokens per prompt, and tokens per answer."
        ),
    )
    pods: tuple[int, int] = field(default=(1, 1), metadata=means("Speculating and baseline pods."))
    by_pod: Mapping[str, float] = field(
        default_factory=dict,
        metadata=means("Logarithm of each speculating pod's time per output token in seconds.", kept=False),
    )
    times: TokenTimes = field(
        default_factory=dict, metadata=means("Times per output token of the baseline pods.", kept=False)
    )
    kv_cache: KvCache | None = field(default=None, metadata=means("Of the baseline pods.", kept=False))


def pair_of(speculating: Mapping[str, Evidence], plain: Mapping[str, Evidence], at: float) -> Pair | None:
    """Compares both arms in one window, by pod; None if too few requests ended in one of them."""
    ours, theirs = (pooled(arm, seconds=0, unread=0) for arm in (speculating, plain))
    times = ours.token_time.times, theirs.token_time.times
    if min(ours.token_time.requests, theirs.token_time.requests) < FEWEST_REQUESTS:
        return None
    if not (times[0].mean and times[1].mean):
        return None
    error = sqrt(sum(_relative(arm.token_time) ** 2 for arm in (ours, theirs)))
    seen = {Measure.SPEED: (log(times[1].mean / times[0].mean), error), **_collateral(ours, theirs)}
    means = {pod: part.token_time.times.mean for pod, part in speculating.items()}
    return Pair(
        at=at,
        seen=seen,
        unlike=_unlike(ours, theirs),
        plain=times[1].mean,
        seconds=times[0].mean,
        by_pod={pod: log(mean) for pod, mean in means.items() if mean},
        times=theirs.token_times,
        pods=(len(speculating), len(plain)),
        kv_cache=theirs.kv_cache,
    )


def _relative(seen: TokenTime) -> float:
    """Relative error of the mean time per output token, from the blocks of the window. It has a lower bound, because a
    few blocks can agree by chance although their requests differ.
    """
    times = seen.times
    known = times.error / times.mean if times.error is not None and times.mean else 1.0
    return max(known, _LEAST_SCATTER / sqrt(seen.requests))


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _log(one: float | None, other: float | None) -> float | None:
    """Logarithm of one / other; None where one of them is not known or nothing."""
    return log(one / other) if one and other else None


def _unlike(ours: Evidence, theirs: Evidence) -> tuple[float, float, float]:
    """Logarithms of baseline / speculation: of requests per pod, tokens per prompt and tokens per answer."""
    share = _log(theirs.answers / theirs.pods, ours.answers / ours.pods)
    prompts = [_ratio(each.side.prompt_tokens, each.answers) for each in (theirs, ours)]
    answers = [_ratio(each.token_time.times.of, each.token_time.requests) for each in (theirs, ours)]
    return share or 0.0, _log(*prompts) or 0.0, _log(*answers) or 0.0


def _collateral(ours: Evidence, theirs: Evidence) -> dict[Measure, tuple[float, float]]:
    """The measures other than speed, if the pages have them. The sample is the request. The standard deviation of the
    time to first token and of the queue time is taken to be as large as their mean.
    """
    if min(ours.answers, theirs.answers) < FEWEST_REQUESTS:
        return {}
    one, other = ours.side, theirs.side
    error = sqrt(1 / ours.answers + 1 / theirs.answers)
    hits = [_ratio(each.cache_hits, each.cache_queries) for each in (other, one)]
    found = {
        Measure.FIRST_TOKEN: _log(
            _ratio(one.first_token_seconds, ours.answers), _ratio(other.first_token_seconds, theirs.answers)
        ),
        Measure.QUEUE: _log(_ratio(one.queue_seconds, ours.answers), _ratio(other.queue_seconds, theirs.answers)),
        Measure.THROUGHPUT: _log(ours.generation_tokens / ours.pods, theirs.generation_tokens / theirs.pods),
        Measure.HIT_RATE: None if None in hits else (hits[0] or 0.0) - (hits[1] or 0.0),
    }
    seen = {measure: (value, error) for measure, value in found.items() if value is not None}
    if one.preemptions is not None and other.preemptions is not None:  # half of one more: most windows have none
        value = log((one.preemptions + 0.5) / ours.answers) - log((other.preemptions + 0.5) / theirs.answers)
        seen[Measure.PREEMPTIONS] = value, sqrt(1 / (one.preemptions + 0.5) + 1 / (other.preemptions + 0.5))
    return seen
