"""The baseline speed by load, measured while the service runs without speculation, and the speedup against a baseline.

The speedup is always estimated on the logarithm, with an error and its degrees of freedom. What these are computed from
differs: totals at the same loads (here), windows of the same minutes (`baseline_pods.py`), or windows before and after
(`trial.py`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, inf, log, sqrt
from typing import Annotated, Final

from specdec_operator.api.kept import Form, means
from specdec_operator.guard.statistics import Estimate, RatioSums
from specdec_operator.guard.token_time import UNKNOWN_LOAD, Mix, TokenTime, TokenTimes

MOST_LOADS: Final = 11
"""1 to 1024 by powers of two."""
FEWEST_REQUESTS: Final = 10
"""Requests that have to end at a load before its speed is known."""
_FEWEST_BLOCKS: Final = 4
"""Blocks of time that have to be measured before it is known how much they differ."""
_MOST_BLOCKS: Final = 64
"""Blocks that are remembered: older ones fade, so that a new day corrects an old one."""
_LIKE: Final = 0.5
"""Share of the requests that must have run at loads with a known baseline. Below it, the two are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSpeed:
    """The baseline at one load. token_time: of one pod; its tokens are the demand, not the limit of the pod."""

    load: int
    token_time: TokenTime

    @property
    def known(self) -> bool:
        """Whether it may be compared with."""
        times = self.token_time.times
        return times.blocks >= _FEWEST_BLOCKS and self.token_time.requests >= FEWEST_REQUESTS


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptBaselineSpeed:
    """The baseline at one load."""

    load: int = field(metadata=means("Running requests per pod, rounded to a power of two."))
    time_per_output_token_ms: float = field(metadata=means("Mean, in milliseconds."))
    error_ms: float | None = field(default=None, metadata=means("Standard error of the mean, in milliseconds."))
    tokens_per_second: float = field(metadata=means("Tokens per second of one pod at this load."))
    requests: int = field(metadata=means("Requests that ended."))
    blocks: int = field(metadata=means("Measured blocks of time."))
    sums: tuple[float, float, float, float, float, float, float] = field(
        metadata=means(
            "For the operator: sums over the blocks of seconds, output tokens, their squares and products, tokens "
            "generated, and seconds measured."
        )
    )
    mix: Mix | None = field(default=None, metadata=means("The traffic of the measurement; absent: unknown."))


def _read(kept: _KeptBaselineSpeed) -> BaselineSpeed:
    total, of, total_total, total_of, of_of, tokens, seconds = kept.sums
    times = RatioSums(blocks=kept.blocks, total=total, of=of, total_total=total_total, total_of=total_of, of_of=of_of)
    seen = TokenTime(times=times, requests=kept.requests, tokens=tokens, seconds=seconds, mix=kept.mix)
    return BaselineSpeed(load=kept.load, token_time=seen)


def _written(speed: BaselineSpeed) -> _KeptBaselineSpeed:
    seen, times = speed.token_time, speed.token_time.times
    return _KeptBaselineSpeed(
        load=speed.load,
        time_per_output_token_ms=round(1000 * (times.mean or 0.0), 3),
        error_ms=None if times.error is None else round(1000 * times.error, 4),
        tokens_per_second=round(seen.tokens / seen.seconds, 1) if seen.seconds else 0.0,
        requests=round(seen.requests),
        blocks=times.blocks,
        sums=(times.total, times.of, times.total_total, times.total_of, times.of_of, seen.tokens, seen.seconds),
        mix=seen.mix,
    )


Baseline = tuple[Annotated[BaselineSpeed, Form(_read, _written, _KeptBaselineSpeed)], ...]
"""By load, rising. Empty: nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Baseline time per output token / that with speculation, with its 95 % interval.

    share: of the requests with speculation, the share that ran at loads with a known baseline. baseline, seconds: both
    times, in seconds.
    """

    speedup: float
    low: float
    high: float
    share: float
    baseline: float
    seconds: float


def comparison_of(ratio: Estimate, *, baseline: float, seconds: float, share: float = 1.0) -> Comparison:
    """The speedup with its interval, from an estimate of its logarithm: of one by load, of windows of the same minutes,
    or of windows one after the other.
    """
    width = min(_UNKNOWN, ratio.half_width)
    low, speedup, high = (exp(ratio.mean + each) for each in (-width, 0.0, width))
    return Comparison(speedup=speedup, low=low, high=high, share=share, baseline=baseline, seconds=seconds)


_UNKNOWN: Final = log(1000)
"""Half the width of an interval of which nothing is known."""


def learnt(baseline: Baseline, token_times: TokenTimes) -> Baseline:
    """The baseline with one more baseline window. If the traffic at a load has changed, the new window replaces the
    earlier measurement.
    """
    by_load = {each.load: each.token_time for each in baseline}
    for load, seen in token_times.items():
        if seen.times.blocks and load != UNKNOWN_LOAD:
            known = by_load.get(load)
            anew = known is None or seen.unlike(known)
            by_load[load] = seen if known is None or anew else _faded(known, seen.times.blocks).merged(seen)
    return tuple(BaselineSpeed(load=load, token_time=by_load[load]) for load in sorted(by_load))[:MOST_LOADS]


def _faded(known: TokenTime, fresh: int) -> TokenTime:
    """What was known, made to leave room for fresh blocks."""
    blocks = max(1, _MOST_BLOCKS - fresh)
    if known.times.blocks <= blocks:
        return known
    share = blocks / known.times.blocks
    return TokenTime(
        times=known.times.faded(blocks),
        requests=known.requests * share,
        tokens=known.tokens * share,
        seconds=known.seconds * share,
        mix=known.mix and known.mix.faded(share),
    )


def compare(baseline: Baseline, token_times: TokenTimes) -> Comparison | None:
    """Compares both sides at the same loads and with similar traffic; None if too few requests ran at such loads.

    Both sides weight each load by the output tokens that were generated at it with speculation. The interval is that of
    a ratio of two totals by their relative errors (delta method, on the logarithm), with Welch's degrees of freedom.
    """
    both = _same_load(baseline, token_times)
    known_times = {load: known.times for load, (known, seen) in both.items() if not seen.unlike(known, speculates=True)}
    requests = sum(each.requests for each in token_times.values())
    alike = {load: each for load, each in token_times.items() if load in known_times and each.times.of > 0}
    compared = sum(each.requests for each in alike.values())
    if compared < max(FEWEST_REQUESTS, _LIKE * requests):
        return None
    ours = {load: each.times for load, each in alike.items()}
    tokens = sum(times.of for times in ours.values())
    before = sum((known_times[load].mean or 0.0) * times.of for load, times in ours.items())
    after = sum(times.total for times in ours.values())
    if before <= 0 or after <= 0:
        return None
    theirs = [(known_times[load], times.of) for load, times in ours.items()]
    ratio = _ratio(before / after, _relative(ours.values(), after), _relative_baseline(theirs, before))
    return comparison_of(ratio, baseline=before / tokens, seconds=after / tokens, share=compared / requests)


def unlike(baseline: Baseline, token_times: TokenTimes) -> str:
    """The difference between this traffic and that of the baseline at the same load, with numbers; empty if the traffic
    is similar or the baseline is unknown.
    """
    differences = (seen.unlike(known, speculates=True) for known, seen in _same_load(baseline, token_times).values())
    return next((each for each in differences if each), "")


def is_alike(baseline: Baseline, token_times: TokenTimes) -> bool:
    """Whether some of this traffic ran at a load of the baseline, and none of that differs."""
    both = _same_load(baseline, token_times).values()
    return bool(both) and not any(seen.unlike(known, speculates=True) for known, seen in both)


def _same_load(baseline: Baseline, token_times: TokenTimes) -> dict[int, tuple[TokenTime, TokenTime]]:
    """The known baseline and the observed time, for each load that both have."""
    known = {each.load: each.token_time for each in baseline if each.known}
    return {load: (known[load], seen) for load, seen in token_times.items() if load in known}


Error = tuple[float, float]
"""Relative variance of a total, and its degrees of freedom."""


def _relative(moments: Iterable[RatioSums], total: float) -> Error:
    """Of our own total: the scatter of all blocks about the mean of their load: a load may have one block only."""
    parts = tuple(moments)
    blocks, scatter = sum(each.even for each in parts), sum(each.scatter for each in parts)
    degrees = blocks - len(parts)
    return (scatter * blocks / degrees / total**2 if degrees > 0 else inf), degrees


def _relative_baseline(parts: list[tuple[RatioSums, float]], total: float) -> Error:
    """Of the baseline's total: the mean of each load is weighted by the output tokens with speculation at that load."""
    variance = sum(((each.error or 0.0) * requests) ** 2 for each, requests in parts)
    return variance / total**2, sum(each.even - 1 for each, _ in parts)


def _ratio(ratio: float, ours: Error, theirs: Error) -> Estimate:
    """The logarithm of a ratio of two totals, by their relative variances (delta method)."""
    variance = ours[0] + theirs[0]
    spread = sum(part * part / max(1.0, degrees) for part, degrees in (ours, theirs))
    degrees = max(1.0, variance * variance / spread) if 0 < spread < inf else 1.0
    return Estimate(mean=log(ratio), error=sqrt(variance), degrees=degrees)
