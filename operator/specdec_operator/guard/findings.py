"""What several windows of speculating and baseline pods prove about each measure.

A sequential test of means. The error is learnt between windows. More evidence is needed if neighbouring windows
resemble each other, if pods differ, or if the arms get different traffic.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import fmean
from typing import Final

from specdec_operator.api.kept import means
from specdec_operator.guard.arms import Measure, Pair
from specdec_operator.guard.statistics import student95

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
class Finding:
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


def about(findings: Iterable[Finding], measure: Measure) -> Finding | None:
    """The finding about one measure; None where there is none."""
    return next((each for each in findings if each.measure is measure), None)


def finding_of(pairs: Sequence[Pair], measure: Measure, limit: float) -> Finding | None:
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


def _sudden(pairs: Sequence[Pair], limit: float) -> Finding | None:
    """The result of two windows, if each of them is far below the limit and their score reaches the bound; otherwise
    None.
    """
    if len(pairs) < FEWEST_PAIRS - 1 or any(exp(each.seen[Measure.SPEED][0]) >= _SUDDEN * limit for each in pairs):
        return None
    found = _over(pairs, Measure.SPEED, limit)
    return found if found.convicts else None


def _over(pairs: Sequence[Pair], measure: Measure, limit: float) -> Finding:
    values = [each.seen[measure][0] for each in pairs]
    mean, error = fmean(values), _error(pairs, measure)
    difference = measure is Measure.HIT_RATE
    at, wide = limit if difference else log(limit), student95(len(values) - 1 + _PRIOR) * error
    wrong = at - mean if measure in _AT_LEAST else mean - at
    low, value, high = (each if difference else exp(each) for each in (mean - wide, mean, mean + wide))
    return Finding(
        measure=measure,
        value=value,
        low=low,
        high=high,
        limit=limit,
        score=wrong / error if error > 0 else inf if wrong > 0 else -inf,
        windows=len(values),
        unlike=exp(_unlikeness(pairs)),
    )


def _error(pairs: Sequence[Pair], measure: Measure) -> float:
    """Standard error of the mean over windows, from their own scatter. The first guess is the error within one window.
    The error is larger if neighbouring windows resemble each other, if pods differ, or if the arms get different
    traffic.
    """
    values = [each.seen[measure][0] for each in pairs]
    number, mean = len(values), fmean(values)
    misses = [value - mean for value in values]
    scatter = sum(each * each for each in misses)
    within = fmean(each.seen[measure][1] ** 2 for each in pairs)
    variance = (_PRIOR * _LIKE_ONE**2 * within + scatter) / (_PRIOR + number - 1)
    alike = sum(one * other for one, other in pairwise(misses)) + _ALIKE_FOR * _ALIKE * variance
    kept = min(_MOST_ALIKE, max(0.0, alike / (scatter + _ALIKE_FOR * variance))) if variance else 0.0
    of_mean = variance / number * (1 + kept) / (1 - kept)
    of_pods = _between_pods(pairs) if measure is Measure.SPEED else 0.0
    excess = max(0.0, _unlikeness(pairs) - _UNLIKE) / _UNLIKE
    return sqrt(max(of_mean, of_pods) * (1 + excess * excess))


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


def _unlikeness(pairs: Sequence[Pair]) -> float:
    """By how much the arms' traffic differs over these windows: what differs in one of them by chance cancels out."""
    return max(abs(fmean(each.unlike[index] for each in pairs)) for index in range(3))


def shows_fast_enough(findings: Sequence[Finding]) -> bool:
    """Whether five windows or more show that the whole interval of the speedup is at or above its limit."""
    speed = about(findings, Measure.SPEED)
    return speed is not None and speed.windows >= _FEWEST_TO_ACQUIT and speed.clear


def too_costly(
    told: Sequence[Measure], findings: Sequence[Finding], limited: Container[Measure]
) -> tuple[Measure, ...]:
    """The measures other than speed that are clearly worse than their limit. `told`: the earlier result; a measure in
    it stays until it is clearly within its limit, or has no limit any more. limited: the measures with a limit.
    """
    found = {each.measure: each for each in findings if each.measure is not Measure.SPEED}
    stays = {each for each in told if each in limited and (each not in found or not found[each].clear)}
    return tuple(sorted(stays | {each.measure for each in found.values() if each.convicts}))
