"""The checks of a window: failures of speculation, and inconclusive results. Each docstring of a check is a line of the
documentation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specdec_operator.guard.arms import Measure
from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.findings import Finding, about
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.statistics import wilson_upper
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

RARELY: Final = 0.25
"""Share of steps with a draft below which acceptance proves little, for a method that drafts at every step."""

_SEVERE: Final = 0.6
"""Share of its minimum below which acceptance has collapsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Evidence, the thresholds, and the comparison with the baseline (None: unknown).

    longer: the same comparison over all failing windows in a row, this one included. findings: the results of the
    windows of both arms, if baseline pods run; then both comparisons are those of the findings. pairs: number of these
    windows.
    """

    evidence: Evidence
    thresholds: Thresholds
    comparison: Comparison | None
    longer: Comparison | None
    findings: tuple[Finding, ...] = ()
    pairs: int = 0

    def finding(self, measure: Measure) -> Finding | None:
        """The result of both arms for one measure."""
        return about(self.findings, measure)


Check = Callable[[Case], Verdict | None]


def enough(case: Case) -> bool:
    """Whether enough tokens were drafted to judge the draft."""
    return case.evidence.draft_tokens >= case.thresholds.min_draft_tokens


def failed(reason: Reason, message: str, *, severe: bool = True, final: bool = False, grave: bool = False) -> Verdict:
    """A verdict against speculation."""
    return Verdict(outcome=Outcome.FAIL, reason=reason, message=message, severe=severe, final=final, grave=grave)


def unsure(reason: Reason, message: str) -> Verdict:
    """A verdict that proves nothing."""
    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason, message=message)


def over(evidence: Evidence) -> str:
    """What the numbers before it come from."""
    pods = f"{evidence.pods} pod{'' if evidence.pods == 1 else 's'}"
    return f" over {evidence.seconds:.0f} s, {evidence.draft_tokens:.0f} drafted tokens, {pods}"


def rarely_drafted_text(case: Case) -> str:
    """How rarely a step had a draft; empty if that is not rare."""
    share = case.evidence.drafted_share
    if share is None or share >= RARELY or not case.thresholds.always_drafts:
        return ""
    return f", {100 * share:.0f} % of the steps had a draft (structured output cuts drafts)"


def not_drafting(case: Case) -> Verdict | None:
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


def acceptance_rate(case: Case) -> Verdict | None:
    """**Fail** (AcceptanceRateLow): accepted / drafted tokens are below `acceptanceRate.min`. The upper end of Wilson's
    interval (sample: drafts) is also below it. This is a first filter: the interval is too narrow for bursty traffic.
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


def acceptance_length(case: Case) -> Verdict | None:
    """**Fail** (AcceptanceLengthLow): the same for the tokens per step and `acceptanceLength.min`."""
    evidence, least, longest = case.evidence, case.thresholds.acceptance_length, case.thresholds.draft_length
    length = evidence.acceptance_length
    if least is None or length is None or length >= least or not enough(case):
        return None
    bound = 1 + longest * wilson_upper(min(1.0, (length - 1) / longest), evidence.drafts)
    message = f"acceptance length {length:.2f} < {least:.2f} (bound {bound:.2f}){over(evidence)}"
    severe = length - 1 < _SEVERE * (least - 1)
    return failed(Reason.ACCEPTANCE_LENGTH_LOW, message, severe=severe) if bound < least else None


def unread(case: Case) -> Verdict | None:
    """**Inconclusive** (ScrapeFailed): a pod could not be read for three intervals, or never. **Inconclusive**
    (NoTraffic) if no pod existed: the service is scaled to zero, or its pods are new.
    """
    evidence = case.evidence
    if not evidence.pods and not evidence.unread:
        message = f"no pod existed to read metrics from in {evidence.seconds:.0f} s"
        return unsure(Reason.NO_TRAFFIC, message)
    if evidence.unread:
        return unsure(Reason.SCRAPE_FAILED, f"{evidence.unread} pods returned no metrics in {evidence.seconds:.0f} s")
    if evidence.longest_gap > case.thresholds.longest_gap:
        message = f"no metrics for {evidence.longest_gap:.0f} s of {evidence.seconds:.0f} s"
        return unsure(Reason.SCRAPE_FAILED, message)
    return None


def restarted(case: Case) -> Verdict | None:
    """**Inconclusive** (Restarted): an engine restarted during the window."""
    return unsure(Reason.RESTARTED, "an engine restarted during the window") if case.evidence.restarted else None


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
    return unsure(
        Reason.FEW_TOKENS,
        f"{evidence.draft_tokens:.0f} drafted tokens, fewer than the {least} needed{over(evidence)}",
    )


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
    message = f"acceptance {rate or 0:.2f}, {length or 1:.2f} tokens per step: too few drafts to rule out chance"
    return unsure(Reason.NOT_SIGNIFICANT, message + over(evidence))


def rarely_drafts(case: Case) -> Verdict | None:
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
