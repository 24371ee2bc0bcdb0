"""Checks for what speaks against speculation. Each docstring is a line of the documentation."""

from specdec_operator.guard.bounds import wilson_upper
from specdec_operator.guard.case import Case, cut_words, enough, failed, measurable, over, speed_words, unsure
from specdec_operator.guard.verdict import Reason, Verdict


def not_drafting(case: Case) -> Verdict | None:
    """**Fail** (NotDrafting): at least `minDraftTokens` tokens were generated and none drafted, by a method that always
    drafts; or the engine has no speculation counters at all.
    """
    evidence, limits = case.evidence, case.limits
    expected = limits.always_drafts or not evidence.speculative
    if evidence.draft_tokens > 0 or not expected or evidence.generation_tokens < limits.min_draft_tokens:
        return None
    if not evidence.speculative and not limits.direct:
        message = "there are no speculation counters: does the scrape job of the Prometheus server drop them?"
        return unsure(Reason.SCRAPE_FAILED, message)
    what = "drafted none" if evidence.speculative else "has no speculation counters"
    message = f"the engine generated {evidence.generation_tokens:.0f} tokens and {what}{over(evidence)}"
    return failed(Reason.NOT_DRAFTING, message)


def acceptance_rate(case: Case) -> Verdict | None:
    """**Fail** (AcceptanceRateLow): accepted / drafted tokens are below `acceptanceRate.min`, and so is the upper 95 %
    Wilson bound with the drafts as the sample.
    """
    evidence, least = case.evidence, case.limits.acceptance_rate
    rate = evidence.acceptance_rate
    if least is None or rate is None or rate >= least or not enough(case):
        return None
    # The tokens of one draft stand and fall together, so the drafts are the sample, not their tokens.
    bound = wilson_upper(rate, evidence.drafts)
    message = f"acceptance {rate:.2f} < {least:.2f} (95 % bound {bound:.2f}){over(evidence)}"
    return failed(Reason.ACCEPTANCE_RATE_LOW, message) if bound < least else None


def acceptance_length(case: Case) -> Verdict | None:
    """**Fail** (AcceptanceLengthLow): the same for the tokens per step and `acceptanceLength.min`."""
    evidence, least, longest = case.evidence, case.limits.acceptance_length, case.limits.draft_length
    length = evidence.acceptance_length
    if least is None or length is None or length >= least or not enough(case):
        return None
    bound = 1 + longest * wilson_upper(min(1.0, (length - 1) / longest), evidence.drafts)
    message = f"acceptance length {length:.2f} < {least:.2f} (95 % bound {bound:.2f}){over(evidence)}"
    return failed(Reason.ACCEPTANCE_LENGTH_LOW, message) if bound < least else None


def slower(case: Case) -> Verdict | None:
    """**Fail** (SlowerThanPlain): against the plain service at the same load the speedup is below `speedup.min`, and
    over all failing windows in a row so is the upper end of its 95 % interval.
    """
    least, found, longer = case.limits.speedup, case.comparison, case.longer
    if least is None or found is None or longer is None or not measurable(case):
        return None
    if found.speedup >= least or longer.high >= least:
        return None
    return failed(Reason.SLOWER_THAN_PLAIN, f"{speed_words(found)} < {least:.2f}{cut_words(case)}{over(case.evidence)}")


def too_slow(case: Case) -> Verdict | None:
    """**Fail** (TooSlow): the time per output token is above `timePerOutputToken.max`, and so is the lower end of its
    95 % interval. **Inconclusive** (PlainIsSlower) where the plain service took longer still at this load.
    """
    most, times, found = case.limits.time_per_output_token, case.evidence.pace.times, case.comparison
    if most is None or times.mean is None or times.mean <= most or not measurable(case):
        return None
    width = times.half_width()
    if width is None or times.mean - width <= most:
        return None
    message = f"{1000 * times.mean:.1f} ms per output token > {1000 * most:.1f} ms (± {1000 * width:.1f} ms)"
    if found is not None and found.speedup > 1:
        slower = f"{message}; plain took {1000 * found.plain:.1f} ms at this load, so speculation is not what is slow"
        return unsure(Reason.PLAIN_IS_SLOWER, slower + over(case.evidence))
    return failed(Reason.TOO_SLOW, message + over(case.evidence))
