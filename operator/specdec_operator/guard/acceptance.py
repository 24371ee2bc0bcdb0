"""The checks of a window's acceptance, and how much acceptance was lost. Docstrings of checks are lines of the
documentation.

What was lost is the regret: points below the minimum x hours, less what was gained above it, never below zero. A
one-sided cumulative sum (E. S. Page, Biometrika 41 (1954) 100-115). It takes 20 points for six minutes, or 10 for
twelve, as traffic without a pause or in bursts; acceptance that wanders about a mean above its minimum comes and goes.
What was lost long ago fades, so that a draft is not taken out for yesterday.
"""

from math import exp2, sqrt
from typing import Final

from specdec_operator.guard.checks import WindowCase, enough, failed, over, unsure
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.statistics import wilson_upper
from specdec_operator.guard.verdict import Reason, Verdict
from specdec_operator.guard.window import Evidence

RARELY: Final = 0.25
"""Share of steps with a draft below which acceptance proves little, for a method that drafts at every step."""

_SEVERE: Final = 0.6
"""Share of its minimum below which acceptance has collapsed."""


def not_drafting(case: WindowCase) -> Verdict | None:
    """**Fail** (NotDrafting): at least `minDraftTokens` tokens were generated after the first ones of their answers,
    and a method that always drafts has drafted none; or the engine has no speculation counters.
    """
    evidence, thresholds = case.evidence, case.thresholds
    expected = thresholds.always_drafts or not evidence.speculative
    if evidence.draft_tokens > 0 or not expected or evidence.decode_tokens < thresholds.min_draft_tokens:
        return None
    if not evidence.speculative and not thresholds.direct:
        message = "no speculation counters; check whether the scrape job of the Prometheus server drops them"
        return unsure(Reason.SCRAPE_FAILED, message)
    what = "drafted none" if evidence.speculative else "has no speculation counters"
    message = f"the engine decoded {evidence.decode_tokens:.0f} tokens and {what}{over(evidence)}"
    return failed(Reason.NOT_DRAFTING, message)


def acceptance_rate(case: WindowCase) -> Verdict | None:
    """**Fail** (AcceptanceRateLow): accepted / drafted tokens are below `acceptanceRate.min`. The upper end of Wilson's
    interval (sample: drafts) is also below it. This is a first filter: the interval is too narrow for bursty traffic. A
    default minimum, which the user did not set, does not count while speculation was measured not to be slower.
    """
    evidence, least = case.evidence, case.thresholds.acceptance_rate
    rate = evidence.acceptance_rate
    if least is None or rate is None or rate >= least or not enough(case):
        return None
    # The tokens of one draft stand and fall together, so the drafts are the sample, not their tokens.
    bound = wilson_upper(rate, evidence.drafts)
    message = f"acceptance {rate:.2f} < {least:.2f} (bound {bound:.2f}){over(evidence)}"
    severe = rate < _SEVERE * least
    return failed(Reason.ACCEPTANCE_RATE_LOW, message, severe=severe) if bound < least else None


def acceptance_length(case: WindowCase) -> Verdict | None:
    """**Fail** (AcceptanceLengthLow): the same for the tokens per step and `acceptanceLength.min`."""
    evidence, least, longest = case.evidence, case.thresholds.acceptance_length, case.thresholds.draft_length
    length = evidence.acceptance_length
    if least is None or length is None or length >= least or not enough(case):
        return None
    bound = 1 + longest * wilson_upper(min(1.0, (length - 1) / longest), evidence.drafts)
    message = f"acceptance length {length:.2f} < {least:.2f} (bound {bound:.2f}){over(evidence)}"
    severe = length - 1 < _SEVERE * (least - 1)
    return failed(Reason.ACCEPTANCE_LENGTH_LOW, message, severe=severe) if bound < least else None


def not_significant(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (NotSignificant): acceptance is below its threshold, but chance can explain it."""
    evidence, thresholds = case.evidence, case.thresholds
    rate, length = evidence.acceptance_rate, evidence.acceptance_length
    low_rate = thresholds.acceptance_rate is not None and rate is not None and rate < thresholds.acceptance_rate
    low_length = (
        thresholds.acceptance_length is not None and length is not None and length < thresholds.acceptance_length
    )
    if not low_rate and not low_length:
        return None
    message = f"acceptance {rate or 0:.2f}, {length or 1:.2f} tokens per step: too few drafts to rule out chance"
    return unsure(Reason.NOT_SIGNIFICANT, message + over(evidence))


def rarely_drafts(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (RarelyDrafts): fewer than a quarter of the steps had a draft, and no baseline is known to
    compare the speed with.
    """
    rarely = rarely_drafted_text(case)
    if case.comparison is not None or not rarely:
        return None
    return unsure(
        Reason.RARELY_DRAFTS,
        f"acceptance alone is not enough evidence{rarely}, and there is no baseline speed{over(case.evidence)}",
    )


def rarely_drafted_text(case: WindowCase) -> str:
    """How rarely a step had a draft; empty if that is not rare."""
    share = case.evidence.drafted_share
    if share is None or share >= RARELY or not case.thresholds.always_drafts:
        return ""
    return f", {100 * share:.0f} % of the steps had a draft (structured output cuts drafts)"


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
