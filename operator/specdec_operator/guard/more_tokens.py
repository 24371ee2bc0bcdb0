"""Whether more tokens per step would pay, out of how the acceptance falls from one position to the next.

It is only ever recommended: what no position has shown is a guess.
"""

from collections.abc import Callable
from typing import Final

from specdec_engine.methods import MOST_TOKENS
from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.counterfactual import WORTH, Advice, estimate, surely
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.statistics import wilson_lower

_HIGH: Final = 0.8
"""Acceptance, and share that goes on to the last position, from which more tokens pay for all but heavy drafts. After
four positions that come to 0.8 a fifth yields an eighth more tokens a step, which pays for a draft that takes up to a
quarter of the target's time. It is the number that guides to the engines give."""


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
        longer = min(rate, onward) >= _HIGH and length >= WORTH * (evidence.acceptance_length or length)
        pays = longer if low is None else (speedup or 0.0) >= WORTH * low
        if pays and takes(larger):
            return Advice(tokens=larger, message=_text(tokens, larger, last, length, speedup))
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


def _text(tokens: int, larger: int, last: float, length: float, speedup: float | None) -> str:
    faster = f", speedup {speedup:.2f}" if speedup is not None else ""
    return (
        f"position {tokens} is accepted in {last:.2f} of the drafts; estimate with {larger} tokens: {length:.2f} "
        f"tokens per step{faster}; the guard does not raise K by itself"
    )
