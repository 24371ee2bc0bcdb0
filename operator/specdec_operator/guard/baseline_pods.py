"""Compares speculating pods with baseline pods that serve the same traffic in the same minutes: what one window of both
shows, and what several of them prove about each measure.

A baseline measured on another day answers another question: longer prompts or a larger batch slow both arms.

A sequential test of means. The error is learnt between windows. More evidence is needed if neighbouring windows
resemble each other, if pods differ, or if the arms get different traffic.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import fmean
from typing import Annotated, Final

from specdec_operator.api.kept import Form, Milliseconds, Time, means, rounded
from specdec_operator.guard.baseline import FEWEST_REQUESTS
from specdec_operator.guard.kv_cache import KvCache
from specdec_operator.guard.statistics import Estimate, variance_of_means
from specdec_operator.guard.token_time import TokenTime, TokenTimes
from specdec_operator.guard.window import Evidence, pooled

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
    baseline: Milliseconds = field(
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


def pair_of(speculating: Mapping[str, Evidence], baseline: Mapping[str, Evidence], at: float) -> Pair | None:
    """Compares both arms in one window, by pod; None if too few requests ended in one of them."""
    ours, theirs = (pooled(pods, seconds=0, unread=0) for pods in (speculating, baseline))
    times = ours.token_time.times, theirs.token_time.times
    if min(ours.token_time.requests, theirs.token_time.requests) < FEWEST_REQUESTS:
        return None
    if not (times[0].mean and times[1].mean):
        return None
    error = sqrt(sum(_relative(pods.token_time) ** 2 for pods in (ours, theirs)))
    seen = {Measure.SPEED: (log(times[1].mean / times[0].mean), error), **_collateral(ours, theirs)}
    means = {pod: part.token_time.times.mean for pod, part in speculating.items()}
    return Pair(
        at=at,
        seen=seen,
        unlike=_unlike(ours, theirs),
        baseline=times[1].mean,
        seconds=times[0].mean,
        by_pod={pod: log(mean) for pod, mean in means.items() if mean},
        times=theirs.token_times,
        pods=(len(speculating), len(baseline)),
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


MOST_PAIRS: Final = 30
"""Windows of both arms that are remembered: an hour of two minutes each."""
FEWEST_PAIRS: Final = 3
"""Windows before which nothing is concluded: how much they differ among themselves is not known yet."""
_SUDDEN: Final = 0.7
"""Share of the least speedup below which two windows in a row are enough: so far no machine wanders, and no window of
ten requests misses.
"""
BOUND: Final = 4.5
"""Standard errors beyond the limit from which speculation fails. The error is learnt from few windows, and the test
runs after each of them, at nine lengths. With a bound of 2, half of the services that are as fast as the baseline would
fail within hours.
"""
_LENGTHS: Final = (3, 4, 5, 6, 8, 10, 15, 20, 30)
"""How many of the last windows are looked at together: a sudden fall shows in few, a small one in many."""
_FEWEST_TO_ACQUIT: Final = 5
_SHOWN: Final = 5
"""Windows whose mean is shown."""
_LIKE_ONE: Final = 2.0
"""Scatter between windows / error within one, before it is learnt."""
_PRIOR: Final = 2
"""Windows that this counts as."""
_ALIKE: Final = 0.4
_ALIKE_FOR: Final = 3
"""Correlation of neighbouring windows before it is learnt, and windows that this counts as."""
_MOST_ALIKE: Final = 0.8
"""Largest assumed correlation of neighbouring windows: a few windows cannot distinguish a larger one from 1."""
_UNLIKE: Final = log(1.1)
"""By how much the arms' traffic may differ before what they show counts less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFinding:
    """Comparison of one measure in the last windows of both arms."""

    measure: Measure = field(metadata=means("time-per-output-token, time-to-first-token, queue-time, ..."))
    value: float = field(
        metadata=means(
            "Time per output token: baseline / speculation. Hit rate: the difference. Other measures: speculation / "
            "baseline."
        )
    )
    low: float = field(metadata=means("Lower end of its 95 % interval."))
    high: float = field(metadata=means("Upper end."))
    limit: float = field(metadata=means("The limit."))
    score: float = field(metadata=means("Standard errors on the wrong side of the limit."))
    bound: float = field(default=BOUND, metadata=means("The score needed for a result."))
    windows: int = field(metadata=means("Number of compared windows."))
    unlike: float = field(
        metadata=means("Ratio by which the traffic of both arms differs; above 1.1 the windows have less weight.")
    )

    @property
    def convicts(self) -> bool:
        """Whether the limit is missed beyond doubt."""
        return self.score >= self.bound

    @property
    def clear(self) -> bool:
        """Whether the limit is kept: the whole interval is on its right side."""
        least = self.measure in _AT_LEAST
        return self.low >= self.limit if least else self.high <= self.limit


_AT_LEAST: Final = frozenset({Measure.SPEED, Measure.THROUGHPUT})
"""Measures that a limit bounds from below."""


def about(findings: Iterable[MeasureFinding], measure: Measure) -> MeasureFinding | None:
    """The finding about one measure; None where there is none."""
    return next((each for each in findings if each.measure is measure), None)


def finding_of(pairs: Sequence[Pair], measure: Measure, limit: float) -> MeasureFinding | None:
    """The result of the windows so far; None if there are too few. limit: a ratio; for the hit rate a difference.

    The score is the highest over all lengths: a sudden fall shows in few windows, and a slow fall in many. If it
    reaches the bound, the numbers are those of the same length; otherwise those of the last five windows.
    """
    known = [each for each in pairs[-MOST_PAIRS:] if measure in each.seen]
    if measure is Measure.SPEED and (sudden := _sudden(known[1 - FEWEST_PAIRS :], limit)):
        return sudden
    if len(known) < FEWEST_PAIRS:
        return None
    each_length = (_over(known[-length:], measure, limit) for length in _LENGTHS if length <= len(known))
    worst = max(each_length, key=lambda found: found.score)
    return worst if worst.convicts else replace(_over(known[-_SHOWN:], measure, limit), score=worst.score)


def _sudden(pairs: Sequence[Pair], limit: float) -> MeasureFinding | None:
    """The result of two windows, if each of them is far below the limit and their score reaches the bound; otherwise
    None.
    """
    if len(pairs) < FEWEST_PAIRS - 1 or any(exp(each.seen[Measure.SPEED][0]) >= _SUDDEN * limit for each in pairs):
        return None
    found = _over(pairs, Measure.SPEED, limit)
    return found if found.convicts else None


def _over(pairs: Sequence[Pair], measure: Measure, limit: float) -> MeasureFinding:
    difference = measure is Measure.HIT_RATE
    at = limit if difference else log(limit)
    unlike = _unlikeness(pairs, own=_is_own(pairs, measure, at))
    found = _estimate(pairs, measure, unlike)
    width = found.half_width
    wrong = at - found.mean if measure in _AT_LEAST else found.mean - at
    low, value, high = (found.mean + each if difference else exp(found.mean + each) for each in (-width, 0.0, width))
    return MeasureFinding(
        measure=measure,
        value=value,
        low=low,
        high=high,
        limit=limit,
        score=wrong / found.error if found.error > 0 else inf if wrong > 0 else -inf,
        windows=len(pairs),
        unlike=exp(unlike),
    )


def _is_own(pairs: Sequence[Pair], measure: Measure, at: float) -> bool:
    """Whether it is speculation's own effect, and not other traffic, if its pods begin fewer requests: the measure is
    beyond its limit although the baseline serves more. Throughput and hits follow the number of requests by themselves.
    """
    if measure in (Measure.THROUGHPUT, Measure.HIT_RATE):
        return False
    mean = fmean(each.seen[measure][0] for each in pairs)
    return mean < at if measure in _AT_LEAST else mean > at


def _estimate(pairs: Sequence[Pair], measure: Measure, unlike: float) -> Estimate:
    """The mean over windows, with an error from their own scatter. The first guess is the error within one window. The
    error is larger if neighbouring windows resemble each other, if pods differ, or if the arms get different
    traffic (unlike: a logarithm).
    """
    values = [each.seen[measure][0] for each in pairs]
    number, mean = len(values), fmean(values)
    misses = [value - mean for value in values]
    scatter = sum(each * each for each in misses)
    within = fmean(each.seen[measure][1] ** 2 for each in pairs)
    variance = (_PRIOR * _LIKE_ONE**2 * within + scatter) / (_PRIOR + number - 1)
    alike = sum(one * other for one, other in pairwise(misses)) + _ALIKE_FOR * _ALIKE * variance
    kept = min(_MOST_ALIKE, max(0.0, alike / (scatter + _ALIKE_FOR * variance))) if variance else 0.0
    of_mean = variance_of_means(variance, (number,), kept)
    of_pods = _between_pods(pairs) if measure is Measure.SPEED else 0.0
    excess = max(0.0, unlike - _UNLIKE) / _UNLIKE
    error = sqrt(max(of_mean, of_pods) * (1 + excess * excess))
    return Estimate(mean=mean, error=error, degrees=number - 1 + _PRIOR)


def _between_pods(pairs: Sequence[Pair]) -> float:
    """Variance that comes from which pods are in which arm: a slow node stays slow however long it is watched."""
    pods = set.intersection(*({*each.by_pod} for each in pairs))
    if len(pods) < 2:
        return 0.0
    means = [fmean(each.by_pod[pod] for each in pairs) for pod in pods]
    middle = fmean(means)
    variance = sum((each - middle) ** 2 for each in means) / (len(means) - 1)
    ours, theirs = pairs[-1].pods
    return variance * (1 / ours + 1 / theirs)


def _unlikeness(pairs: Sequence[Pair], *, own: bool) -> float:
    """By how much the arms' traffic differs over these windows: what differs in one of them by chance cancels out. own:
    whether fewer requests with speculation are its own effect.
    """
    share, prompts, answers = (fmean(each.unlike[index] for each in pairs) for index in range(3))
    return max(abs(min(0.0, share) if own else share), abs(prompts), abs(answers))


def shows_fast_enough(findings: Sequence[MeasureFinding]) -> bool:
    """Whether five windows or more show that the whole interval of the speedup is at or above its limit."""
    speed = about(findings, Measure.SPEED)
    return speed is not None and speed.windows >= _FEWEST_TO_ACQUIT and speed.clear


def too_costly(
    told: Sequence[Measure], findings: Sequence[MeasureFinding], limited: Container[Measure]
) -> tuple[Measure, ...]:
    """The measures other than speed that are clearly worse than their limit. `told`: the earlier result; a measure in
    it stays until it is clearly within its limit, or has no limit any more. limited: the measures with a limit.
    """
    found = {each.measure: each for each in findings if each.measure is not Measure.SPEED}
    stays = {each for each in told if each in limited and (each not in found or not found[each].clear)}
    return tuple(sorted(stays | {each.measure for each in found.values() if each.convicts}))
