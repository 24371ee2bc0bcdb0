"""Checks for what cannot be told. Each docstring is a line of the documentation."""

from specdec_operator.guard.baseline import FEWEST_REQUESTS
from specdec_operator.guard.case import RARELY, Case, cut_words, over, speed_words, unsure
from specdec_operator.guard.verdict import Reason, Verdict


def unread(case: Case) -> Verdict | None:
    """**Inconclusive** (ScrapeFailed): a pod could not be read for three intervals, or never."""
    evidence = case.evidence
    if evidence.unread:
        return unsure(Reason.SCRAPE_FAILED, f"{evidence.unread} pods never answered in {evidence.seconds:.0f} s")
    if evidence.longest_gap > case.limits.longest_gap:
        message = f"no metrics for {evidence.longest_gap:.0f} s of {evidence.seconds:.0f} s"
        return unsure(Reason.SCRAPE_FAILED, message)
    return None


def restarted(case: Case) -> Verdict | None:
    """**Inconclusive** (Restarted): an engine restarted inside the window."""
    return unsure(Reason.RESTARTED, "an engine restarted inside the window") if case.evidence.restarted else None


def implausible(case: Case) -> Verdict | None:
    """**Inconclusive** (Implausible): more tokens accepted than drafted, or more drafts than drafted tokens."""
    evidence = case.evidence
    step = case.limits.draft_length
    if evidence.accepted_tokens <= evidence.draft_tokens + step and evidence.drafts <= evidence.draft_tokens + step:
        return None
    counted = f"{evidence.accepted_tokens:.0f} accepted of {evidence.draft_tokens:.0f} drafted tokens"
    return unsure(Reason.IMPLAUSIBLE, f"the counters contradict each other: {counted} in {evidence.drafts:.0f} drafts")


def no_traffic(case: Case) -> Verdict | None:
    """**Inconclusive** (NoTraffic): nothing was generated."""
    if case.evidence.generation_tokens > 0:
        return None
    return unsure(Reason.NO_TRAFFIC, f"no token generated in {case.evidence.seconds:.0f} s")


def few_tokens(case: Case) -> Verdict | None:
    """**Inconclusive** (FewTokens): fewer than `minDraftTokens` tokens were drafted."""
    evidence, least = case.evidence, case.limits.min_draft_tokens
    if evidence.draft_tokens >= least:
        return None
    return unsure(Reason.FEW_TOKENS, f"{evidence.draft_tokens:.0f} drafted tokens, {least} are needed{over(evidence)}")


def not_significant(case: Case) -> Verdict | None:
    """**Inconclusive** (NotSignificant): acceptance is below its threshold, but chance can explain it."""
    evidence, limits = case.evidence, case.limits
    rate, length = evidence.acceptance_rate, evidence.acceptance_length
    low_rate = limits.acceptance_rate is not None and rate is not None and rate < limits.acceptance_rate
    low_length = limits.acceptance_length is not None and length is not None and length < limits.acceptance_length
    if not low_rate and not low_length:
        return None
    message = f"acceptance {rate or 0:.2f}, {length or 1:.2f} tokens per step: too little to rule out chance"
    return unsure(Reason.NOT_SIGNIFICANT, message + over(evidence))


def not_compared(case: Case) -> Verdict | None:
    """**Inconclusive** (NotMeasured): `speedup.min` is asked for, and the plain service was never measured at this
    load, or fewer than ten requests ended; or (NotSignificant) the speedup is below it, and chance can explain that.
    """
    found, least = case.comparison, case.limits.speedup
    if least is None:
        return None
    ended = case.evidence.pace.times.of
    if found is None and ended < FEWEST_REQUESTS:
        message = f"{ended:.0f} requests ended, {FEWEST_REQUESTS} are needed to compare their speed"
        return unsure(Reason.NOT_MEASURED, message + over(case.evidence))
    if found is None:
        loads = ", ".join(str(load) for load in sorted(case.evidence.paces)) or "none"
        known = ", ".join(str(each.load) for each in case.limits.baseline if each.known) or "none"
        message = f"no plain time per output token at this load: seen at {loads} running requests, known at {known}"
        return unsure(Reason.NOT_MEASURED, message + over(case.evidence))
    if found.speedup < least:
        return unsure(Reason.NOT_SIGNIFICANT, f"{speed_words(found)} < {least:.2f}, but chance can explain it")
    return None


def rarely_drafts(case: Case) -> Verdict | None:
    """**Inconclusive** (RarelyDrafts): fewer than a quarter of the steps had a draft, and there is no baseline to
    compare the speed with.
    """
    share = case.evidence.drafted_share
    if case.comparison is not None or not case.limits.always_drafts or share is None or share >= RARELY:
        return None
    return unsure(
        Reason.RARELY_DRAFTS, f"acceptance says little here{cut_words(case)}; no baseline{over(case.evidence)}"
    )
