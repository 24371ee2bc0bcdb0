"""The checks of a window: what speaks against speculation, and what cannot be told. Each docstring of one is a line of
the documentation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specdec_operator.guard.baseline import FEWEST_REQUESTS, Comparison
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.statistics import wilson_upper
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

RARELY: Final = 0.25
"""Share of steps with a draft below which acceptance says little, for a method that drafts at every step."""

_SEVERE: Final = 0.6
"""Share of its minimum below which acceptance has collapsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Evidence, what it is compared with, and how it compares with the plain service (None: it cannot be told).

    longer: the same comparison over all failing windows in a row, this one included.
    """

    evidence: Evidence
    thresholds: Thresholds
    comparison: Comparison | None
    longer: Comparison | None


Check = Callable[[Case], Verdict | None]


def enough(case: Case) -> bool:
    """Whether enough tokens were drafted to judge the draft."""
    return case.evidence.draft_tokens >= case.thresholds.min_draft_tokens


def measurable(case: Case) -> bool:
    """Whether there was traffic enough to judge its speed, drafted or not."""
    evidence = case.evidence
    return (
        evidence.generation_tokens >= case.thresholds.min_draft_tokens
        and evidence.token_time.requests >= FEWEST_REQUESTS
    )


def failed(reason: Reason, message: str, *, severe: bool = True) -> Verdict:
    """A verdict against speculation."""
    return Verdict(outcome=Outcome.FAIL, reason=reason, message=message, severe=severe)


def unsure(reason: Reason, message: str) -> Verdict:
    """A verdict that proves nothing."""
    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason, message=message)


def over(evidence: Evidence) -> str:
    """What the numbers before it come from."""
    pods = f"{evidence.pods} pod{'' if evidence.pods == 1 else 's'}"
    return f" over {evidence.seconds:.0f} s, {evidence.draft_tokens:.0f} drafted tokens, {pods}"


def speedup_text(comparison: Comparison) -> str:
    """How fast it was against plain."""
    interval = f"95 % interval {comparison.low:.2f} to {comparison.high:.2f}"
    times = f"{1000 * comparison.seconds:.1f} ms per output token, plain {1000 * comparison.plain:.1f} ms"
    return f"speedup {comparison.speedup:.2f} ({interval}; {times})"


def rarely_drafted_text(case: Case) -> str:
    """How rarely a step had a draft, where that is worth a word."""
    share = case.evidence.drafted_share
    if share is None or share >= RARELY or not case.thresholds.always_drafts:
        return ""
    return f", {100 * share:.0f} % of the steps had a draft (structured output cuts drafts)"


def not_drafting(case: Case) -> Verdict | None:
    """**Fail** (NotDrafting): `minDraftTokens` tokens or more were generated after the first ones of their answers, and
    none was drafted, by a method that always drafts; or the engine has no speculation counters at all.
    """
    evidence, thresholds = case.evidence, case.thresholds
    expected = thresholds.always_drafts or not evidence.speculative
    if evidence.draft_tokens > 0 or not expected or evidence.decode_tokens < thresholds.min_draft_tokens:
        return None
    if not evidence.speculative and not thresholds.direct:
        message = "there are no speculation counters: does the scrape job of the Prometheus server drop them?"
        return unsure(Reason.SCRAPE_FAILED, message)
    what = "drafted none" if evidence.speculative else "has no speculation counters"
    message = f"the engine decoded {evidence.decode_tokens:.0f} tokens and {what}{over(evidence)}"
    return failed(Reason.NOT_DRAFTING, message)


def acceptance_rate(case: Case) -> Verdict | None:
    """**Fail** (AcceptanceRateLow): accepted / drafted tokens are below `acceptanceRate.min`, and so is the upper 95 %
    Wilson bound with the drafts as the sample.
    """
    evidence, least = case.evidence, case.thresholds.acceptance_rate
    rate = evidence.acceptance_rate
    if least is None or rate is None or rate >= least or not enough(case):
        return None
    # The tokens of one draft stand and fall together, so the drafts are the sample, not their tokens.
    bound = wilson_upper(rate, evidence.drafts)
    message = f"acceptance {rate:.2f} < {least:.2f} (95 % bound {bound:.2f}){over(evidence)}"
    severe = rate < _SEVERE * least
    return failed(Reason.ACCEPTANCE_RATE_LOW, message, severe=severe) if bound < least else None


def acceptance_length(case: Case) -> Verdict | None:
    """**Fail** (AcceptanceLengthLow): the same for the tokens per step and `acceptanceLength.min`."""
    evidence, least, longest = case.evidence, case.thresholds.acceptance_length, case.thresholds.draft_length
    length = evidence.acceptance_length
    if least is None or length is None or length >= least or not enough(case):
        return None
    bound = 1 + longest * wilson_upper(min(1.0, (length - 1) / longest), evidence.drafts)
    message = f"acceptance length {length:.2f} < {least:.2f} (95 % bound {bound:.2f}){over(evidence)}"
    severe = length - 1 < _SEVERE * (least - 1)
    return failed(Reason.ACCEPTANCE_LENGTH_LOW, message, severe=severe) if bound < least else None


def slower(case: Case) -> Verdict | None:
    """**Fail** (SlowerThanPlain): against the plain service at the same load the speedup is below `speedup.min`, and
    over all failing windows in a row so is the upper end of its 95 % interval.
    """
    least, comparison, longer = case.thresholds.speedup, case.comparison, case.longer
    if least is None or comparison is None or longer is None or not measurable(case):
        return None
    if comparison.speedup >= least or longer.high >= least:
        return None
    message = f"{speedup_text(comparison)} < {least:.2f}{rarely_drafted_text(case)}{over(case.evidence)}"
    return failed(Reason.SLOWER_THAN_PLAIN, message)


def too_slow(case: Case) -> Verdict | None:
    """**Fail** (TooSlow): the time per output token is above `timePerOutputToken.max`, and so is the lower end of its
    95 % interval. **Inconclusive** (NotMeasured) where the plain service is not known at this load, and (PlainIsSlower)
    where it took longer still.
    """
    most, times, comparison = case.thresholds.time_per_output_token, case.evidence.token_time.times, case.comparison
    if most is None or times.mean is None or times.mean <= most or not measurable(case):
        return None
    width = times.half_width()
    if width is None or times.mean - width <= most:
        return None
    message = f"{1000 * times.mean:.1f} ms per output token > {1000 * most:.1f} ms (± {1000 * width:.1f} ms)"
    if comparison is None and not case.thresholds.plain:
        unknown = "without the plain service's time at this load it cannot be told whether speculation is what is slow"
        return unsure(Reason.NOT_MEASURED, f"{message}; {unknown}{over(case.evidence)}")
    if comparison is not None and comparison.speedup > 1:
        plain = f"plain took {1000 * comparison.plain:.1f} ms at this load, so speculation is not what is slow"
        return unsure(Reason.PLAIN_IS_SLOWER, f"{message}; {plain}{over(case.evidence)}")
    return failed(Reason.TOO_SLOW, message + over(case.evidence))


def unread(case: Case) -> Verdict | None:
    """**Inconclusive** (ScrapeFailed): a pod could not be read for three intervals, or never."""
    evidence = case.evidence
    if evidence.unread:
        return unsure(Reason.SCRAPE_FAILED, f"{evidence.unread} pods never answered in {evidence.seconds:.0f} s")
    if evidence.longest_gap > case.thresholds.longest_gap:
        message = f"no metrics for {evidence.longest_gap:.0f} s of {evidence.seconds:.0f} s"
        return unsure(Reason.SCRAPE_FAILED, message)
    return None


def restarted(case: Case) -> Verdict | None:
    """**Inconclusive** (Restarted): an engine restarted inside the window."""
    return unsure(Reason.RESTARTED, "an engine restarted inside the window") if case.evidence.restarted else None


def implausible(case: Case) -> Verdict | None:
    """**Inconclusive** (Implausible): more tokens accepted than drafted, or more drafts than drafted tokens."""
    evidence = case.evidence
    step = case.thresholds.draft_length
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
    evidence, least = case.evidence, case.thresholds.min_draft_tokens
    if evidence.draft_tokens >= least:
        return None
    return unsure(Reason.FEW_TOKENS, f"{evidence.draft_tokens:.0f} drafted tokens, {least} are needed{over(evidence)}")


def not_significant(case: Case) -> Verdict | None:
    """**Inconclusive** (NotSignificant): acceptance is below its threshold, but chance can explain it."""
    evidence, thresholds = case.evidence, case.thresholds
    rate, length = evidence.acceptance_rate, evidence.acceptance_length
    low_rate = thresholds.acceptance_rate is not None and rate is not None and rate < thresholds.acceptance_rate
    low_length = (
        thresholds.acceptance_length is not None and length is not None and length < thresholds.acceptance_length
    )
    if not low_rate and not low_length:
        return None
    message = f"acceptance {rate or 0:.2f}, {length or 1:.2f} tokens per step: too little to rule out chance"
    return unsure(Reason.NOT_SIGNIFICANT, message + over(evidence))


def not_compared(case: Case) -> Verdict | None:
    """**Inconclusive** (NotMeasured): `speedup.min` is asked for, and the plain service was never measured at this
    load, or fewer than ten requests ended; or (NotSignificant) the speedup is below it, and chance can explain that.
    """
    comparison, least = case.comparison, case.thresholds.speedup
    if least is None:
        return None
    ended = case.evidence.token_time.requests
    if comparison is None and ended < FEWEST_REQUESTS:
        message = f"{ended:.0f} requests ended, {FEWEST_REQUESTS} are needed to compare their speed"
        return unsure(Reason.NOT_MEASURED, message + over(case.evidence))
    if comparison is None:
        loads = ", ".join(str(load) for load in sorted(case.evidence.token_times)) or "none"
        measured = ", ".join(str(each.load) for each in case.thresholds.baseline if each.known) or "none"
        message = f"no plain time per output token at this load: seen at {loads} running requests, known at {measured}"
        return unsure(Reason.NOT_MEASURED, message + over(case.evidence))
    if comparison.speedup < least:
        return unsure(Reason.NOT_SIGNIFICANT, f"{speedup_text(comparison)} < {least:.2f}, but chance can explain it")
    return None


def rarely_drafts(case: Case) -> Verdict | None:
    """**Inconclusive** (RarelyDrafts): fewer than a quarter of the steps had a draft, and there is no baseline to
    compare the speed with.
    """
    rarely = rarely_drafted_text(case)
    if case.comparison is not None or not rarely:
        return None
    return unsure(Reason.RARELY_DRAFTS, f"acceptance says little here{rarely}; no baseline{over(case.evidence)}")
