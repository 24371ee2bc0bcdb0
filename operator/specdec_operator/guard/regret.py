"""How much acceptance was lost: points below its minimum x hours, less what was gained above it, never below nothing.

A one-sided cumulative sum (E. S. Page, Biometrika 41 (1954) 100-115). It takes 20 points for six minutes, or 10 for
twelve, as traffic without a pause or in bursts; acceptance that wanders about a mean above its minimum comes and goes.
What was lost long ago fades, so that a draft is not taken out for yesterday.
"""

from math import exp2
from typing import Final

from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.policy import Thresholds

_HALF_LIFE: Final = 45 * 60.0
"""Seconds in which half of it fades. Simulated: acceptance 5 points above the minimum that wanders by 5 points over 5
minutes spends a budget of 2 point-hours 0.03 times a day (0.10 where nothing fades), and 10 points below spend it in 13
minutes (12)."""


def lost(evidence: Evidence, thresholds: Thresholds) -> float | None:
    """What one window adds, in point-hours; negative above the minimum. None where it drafted too little to tell.

    Where a length is asked for too, the worse of the two counts: a length is 1 + rate x tokens per draft.
    """
    rate, drafts, tokens = evidence.acceptance_rate, evidence.drafts, evidence.draft_tokens
    if rate is None or drafts <= 0 or tokens < thresholds.min_draft_tokens:
        return None
    rates = [] if thresholds.acceptance_rate is None else [thresholds.acceptance_rate]
    if thresholds.acceptance_length is not None:
        rates.append((thresholds.acceptance_length - 1) * drafts / tokens)
    return 100 * (max(rates) - rate) * evidence.seconds / 3600 if rates else None


def spent(before: float, more: float, seconds: float) -> float:
    """What is spent after a window. before: what was `seconds` ago; more: what the window adds."""
    return max(0.0, before * exp2(-max(0.0, seconds) / _HALF_LIFE) + more)
