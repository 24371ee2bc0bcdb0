"""How much acceptance was lost: points below its minimum x hours, less what was gained above it, never below zero.

A one-sided cumulative sum (E. S. Page, Biometrika 41 (1954) 100-115). It takes 20 points for six minutes, or 10 for
twelve, as traffic without a pause or in bursts; acceptance that wanders about a mean above its minimum comes and goes.
What was lost long ago fades, so that a draft is not taken out for yesterday.
"""

from math import exp2, sqrt
from typing import Final

from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.policy import Thresholds

_HALF_LIFE: Final = 45 * 60.0
"""Seconds in which half of it fades. With a shorter time, 10 points below the minimum take longer than 15 minutes to
spend a budget of 2 point-hours. With a longer time, acceptance 5 points above the minimum that varies by 5 points over
5 minutes spends it more often. `make bench-guard` measures how often.
"""
_ENOUGH: Final = 16.0
"""Answers whose mean is enough evidence about the draft. The tokens of one answer are correlated."""


def lost(evidence: Evidence, thresholds: Thresholds) -> float | None:
    """What one window adds, in point-hours; negative above the minimum. None if it drafted too few tokens.

    If a length is required too, the worse of the two counts: a length is 1 + rate x tokens per draft. A window of fewer
    than 16 answers has less weight, by as much as the error of its mean is larger.
    """
    rate, drafts, tokens = evidence.acceptance_rate, evidence.drafts, evidence.draft_tokens
    if rate is None or drafts <= 0 or tokens < thresholds.min_draft_tokens:
        return None
    rates = [] if thresholds.acceptance_rate is None else [thresholds.acceptance_rate]
    if thresholds.acceptance_length is not None:
        rates.append((thresholds.acceptance_length - 1) * drafts / tokens)
    weight = 1.0 if evidence.at_work is None else min(1.0, sqrt(evidence.at_work / _ENOUGH))
    return weight * 100 * (max(rates) - rate) * evidence.seconds / 3600 if rates else None


def spent(before: float, more: float, seconds: float) -> float:
    """What is spent after a window. before: what was `seconds` ago; more: what the window adds."""
    return max(0.0, before * exp2(-max(0.0, seconds) / _HALF_LIFE) + more)
