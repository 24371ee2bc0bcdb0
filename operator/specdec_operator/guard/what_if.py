"""What another number of tokens per step would have done, out of what each position of the draft really did. It costs
nothing.

With K' < K the first K' positions are drafted and judged as they are now, so their counters estimate those of K'.
With K' the same answer takes more steps. The additional ones probably lie in runs that the draft guesses, so the rate
of K' can be higher: 0.56 where 0.46 was estimated, for one token instead of four (tests/node/test_guard.py).
Drafts that end before K (n-gram, suffix, near the end of an answer) are counted, but not their lengths: how many tokens
K' would have drafted is then known within bounds only.

Whether more tokens would pay is estimated out of how the acceptance falls from one position to the next. It is only
ever recommended: what no position has shown is a guess.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Annotated, Final

from specdec_engine.methods import MOST_TOKENS
from specdec_operator.api.kept import KEPT, means, rounded
from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.rows import Rows
from specdec_operator.guard.statistics import wilson_lower
from specdec_operator.guard.verdict import Outcome, Verdict
from specdec_operator.guard.window import Evidence

WORTH: Final = 1.05
"""How much faster another K has to be, by the estimate, to be recommended over one that passes."""


_SEEN: Final = 0.005
"""A difference of rates that two digits show."""


_Shown = Annotated[float, rounded(2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fewer:
    """Estimate for fewer tokens per step in the last measured window."""

    __pydantic_config__ = KEPT

    tokens: int = field(metadata=means("Tokens per step."))
    rate: _Shown = field(metadata=means("Accepted / drafted tokens; the lower bound if rateHigh is present."))
    rate_high: _Shown | None = field(
        default=None,
        metadata=means("Upper bound, present if drafts end before K and the engine does not count their lengths."),
    )
    length: _Shown = field(metadata=means("Tokens that one step of the target yields."))
    speedup: _Shown | None = field(default=None, metadata=means("Estimated speedup compared with the baseline."))
    passes: bool | None = field(
        default=None,
        metadata=means("Whether all thresholds would be met; absent if the result is within chance."),
    )


def fewer_tokens(evidence: Evidence, thresholds: Thresholds, comparison: Comparison | None) -> tuple[Fewer, ...]:
    """A row for each K' from 1 to K, of one window. comparison: of that window with the baseline.

    K is judged as the window was, and each other K' by the minimum that holds once it runs. Empty if nothing was
    drafted, or if the engine does not count positions.
    """
    if evidence.drafts <= 0:
        return ()
    counted = enumerate(accumulate(evidence.accepted_per_position), start=1)
    return tuple(_row(evidence, thresholds, comparison, tokens, accepted) for tokens, accepted in counted)


def _row(
    evidence: Evidence, thresholds: Thresholds, comparison: Comparison | None, tokens: int, accepted: float
) -> Fewer:
    fewest, most = drafted(evidence, tokens)
    rate, rate_high = (min(1.0, accepted / each) for each in (most, fewest))
    length = 1 + accepted / evidence.drafts
    is_now = tokens == len(evidence.accepted_per_position)
    least = thresholds.acceptance_rate if is_now else thresholds.least_rate(tokens)
    known = (None, None) if comparison is None else (comparison.low, comparison.speedup)
    low, speedup = (estimate(evidence, each, length, most) for each in known)
    at_least = (
        (least, surely(evidence, rate), rate_high),
        (thresholds.acceptance_length, 1 + tokens * surely(evidence, (length - 1) / tokens), length),
        (None if speedup is None else thresholds.speedup, low or 0.0, speedup or 0.0),
    )
    kept = [_kept(*each) for each in at_least] + [_slo(evidence, thresholds, comparison, length, low, speedup)]
    return Fewer(
        tokens=tokens,
        rate=rate,
        length=length,
        speedup=speedup,
        passes=False if False in kept else None if None in kept else True,
        rate_high=rate_high if rate_high - rate >= _SEEN else None,
    )


def drafted(evidence: Evidence, tokens: int) -> tuple[float, float]:
    """The fewest and the most tokens that the window's drafts have within their first `tokens` positions.

    Fewest: as many drafts as possible go on to the last position, and the others have one token. Most: as few tokens as
    possible are beyond. What was accepted at a position was drafted there. Both are the same where all drafts are full.
    """
    positions, drafts = evidence.accepted_per_position, evidence.drafts
    total = max(evidence.draft_tokens, drafts)
    longest = max(len(positions), total / drafts)
    most = min(total - sum(positions[tokens:]), drafts * tokens)
    extremes = drafts + (total - drafts) * (tokens - 1) / max(1.0, longest - 1)
    return min(most, max(extremes, drafts + sum(positions[1:tokens]))), most


def surely(evidence: Evidence, share: float) -> float:
    """The lower end of the 95 % interval of a share of the drafted tokens: by the drafts, and by the scatter of blocks
    of time. A window fails by the same bounds on their other side.
    """
    width, rate = evidence.acceptance.half_width(), evidence.acceptance.mean
    scattered = share * max(0.0, 1 - width / rate) if width is not None and rate else share
    return min(wilson_lower(min(1.0, share), evidence.drafts), scattered)


def _kept(least: float | None, surely: float, at_most: float) -> bool | None:
    """Whether a threshold is met; None if unknown. surely: lower bound of the value; at_most: its upper bound."""
    if least is None or surely >= least:
        return True
    return None if at_most >= least else False


def _slo(
    evidence: Evidence,
    thresholds: Thresholds,
    comparison: Comparison | None,
    length: float,
    low: float | None,
    speedup: float | None,
) -> bool | None:
    """Whether the limit of the time per output token is met. As in a window, a missed limit does not count if the
    baseline is even slower, or if the baseline is unknown and the limit is missed already. Without an estimate, a step
    is assumed to take as long as now.
    """
    most, seconds = thresholds.time_per_output_token, evidence.token_time.times.mean
    if most is None or seconds is None:
        return True
    if comparison is None or low is None or speedup is None:
        longest = seconds * (evidence.acceptance_length or length) / length
        return True if longest <= most or seconds > most else None
    if low > 1 or comparison.baseline <= most * low:
        return True
    return None if speedup > 1 or comparison.baseline <= most * speedup else False


def estimate(evidence: Evidence, speedup: float | None, length: float, tokens: float) -> float | None:
    """The speedup with `tokens` tokens drafted in all, and steps of `length` where they have a draft.

    A drafted token costs the same share c of a step of the target: speedup = length / (1 + c K) (Leviathan, Kalman,
    Matias, ICML 2023, arXiv 2211.17192, section 3.3), solved for c. A step without a draft yields one token at no cost.
    """
    now, total = evidence.acceptance_length, max(evidence.draft_tokens, evidence.drafts)
    if speedup is None or speedup <= 0 or now is None:
        return None
    share = 1.0 if evidence.drafted_share is None else evidence.drafted_share
    all_costs = max(0.0, (1 + share * (now - 1)) / speedup - 1)
    return (1 + share * (length - 1)) / (1 + all_costs * tokens / total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The recommendation that follows from one window."""

    tokens: int = field(metadata=means("Tokens per step; 0: no speculation."))
    by_batch_size: Rows = field(
        default=(),
        metadata=means(
            "Tokens per step by load, for spec.speculation.tokensByBatchSize.", name="tokensByBatchSize", empty=False
        ),
    )
    message: str = field(metadata=means("Reason, with numbers."))


def advise(
    rows: tuple[Fewer, ...],
    verdict: Verdict,
    fewer: int | None,
    more: Advice | None = None,
    at_loads: Advice | None = None,
) -> Advice | None:
    """The recommendation from a window; None if the window proves nothing, or no better K is known.

    fewer: the largest K' that would have passed. more: the recommendation of a larger K; at_loads: of a smaller K at
    some loads, which was measured and not estimated.
    """
    by_tokens = {row.tokens: row for row in rows}
    match verdict.outcome:
        case Outcome.FAIL if verdict.pods:
            return None  # the pod is to blame
        case Outcome.FAIL if fewer is not None:
            return Advice(tokens=fewer, message=f"{_row_text(by_tokens[fewer])}: this would have passed")
        case Outcome.FAIL:
            return Advice(tokens=0, message=f"serve without speculation: {verdict.message}")
        case Outcome.PASS:
            return at_loads or _faster(rows) or more
    return None


def _faster(rows: tuple[Fewer, ...]) -> Advice | None:
    """The K' that is faster than the K of the last row by the estimate."""
    now = rows[-1].speedup if rows else None
    best = max(rows, key=lambda row: row.speedup or 0.0, default=None)
    if now is None or best is None or (best.speedup or 0.0) < WORTH * now:
        return None
    return Advice(tokens=best.tokens, message=f"{_row_text(best)}: this would be faster than {rows[-1].tokens} tokens")


def _row_text(row: Fewer) -> str:
    speed = f", estimated speedup {row.speedup:.2f}" if row.speedup is not None else ""
    rate = f"{row.rate:.2f}" if row.rate_high is None else f"{row.rate:.2f} to {row.rate_high:.2f}"
    return f"with {row.tokens} tokens: acceptance {rate}, {row.length:.2f} tokens per step{speed}"


def most_that_pass(rows: Iterable[Fewer], below: int) -> int | None:
    """The largest K' < `below` that would have passed; None where none surely would."""
    return max((row.tokens for row in rows if row.passes and row.tokens < below), default=None)


HIGH: Final = 0.8
"""Acceptance, and share that goes on to the last position, from which more tokens pay for all but heavy drafts. After
four positions that come to 0.8 a fifth yields an eighth more tokens a step, which pays for a draft that takes up to a
quarter of the target's time. It is the number that guides to the engines give."""
STRONGER: Final = "use a stronger draft (a larger one, or a head trained for this target)"
"""The other way to use an acceptance that is high: text that one draft guesses, a larger one guesses further."""


def more_tokens(evidence: Evidence, comparison: Comparison | None, takes: Callable[[int], bool]) -> Advice | None:
    """The smallest larger K, at most twice the present one, that pays; None if none is known to pay.

    takes: whether the engine accepts a K. If the speed is known, the estimate for K must be faster by the factor WORTH,
    at the lower end of the measured interval. Otherwise the rate as a whole and the step to the last position must both
    be high, and a step must yield more tokens by the same factor.
    """
    positions, tokens = evidence.accepted_per_position, len(evidence.accepted_per_position)
    last, onward = _last(evidence)
    if not last or not onward:
        return None
    rate, low = surely(evidence, evidence.acceptance_rate or 0.0), comparison.low if comparison else None
    for larger in range(tokens + 1, min(2 * tokens, MOST_TOKENS) + 1):
        length = (
            1 + sum(positions) / evidence.drafts + sum(last * onward**step for step in range(1, larger - tokens + 1))
        )
        drawn = evidence.draft_tokens + (larger - tokens) * evidence.drafts
        speedup = estimate(evidence, low, length, drawn)
        longer = min(rate, onward) >= HIGH and length >= WORTH * (evidence.acceptance_length or length)
        pays = longer if low is None else (speedup or 0.0) >= WORTH * low
        if pays and takes(larger):
            stronger = f"; or {STRONGER}" if rate >= HIGH else ""
            return Advice(tokens=larger, message=_more_text(tokens, larger, last, length, speedup) + stronger)
    return None


def _last(evidence: Evidence) -> tuple[float, float]:
    """Share of the drafts whose last position was accepted, and share of those before it that went on to it, both at
    the lower end of their 95 % interval. Nothing where nothing was accepted.
    """
    positions = evidence.accepted_per_position
    before = positions[-2] if len(positions) > 1 else evidence.drafts
    if not positions or before <= 0 or evidence.drafts <= 0:
        return 0.0, 0.0
    last, onward = (wilson_lower(min(1.0, positions[-1] / of), of) for of in (evidence.drafts, before))
    return last, onward


def _more_text(tokens: int, larger: int, last: float, length: float, speedup: float | None) -> str:
    faster = f", speedup {speedup:.2f}" if speedup is not None else ""
    return (
        f"position {tokens} is accepted in {last:.2f} of the drafts; estimate with {larger} tokens: {length:.2f} "
        f"tokens per step{faster}; the guard does not raise K by itself"
    )
