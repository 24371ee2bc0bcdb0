"""What a check of a window gets and gives, and the checks for missing data. Each docstring of a check is a line of the
documentation.
"""

from collections.abc import Callable
from dataclasses import dataclass

from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.baseline_pods import Measure, MeasureFinding, about
from specdec_operator.guard.gain import DipGain
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.window import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCase:
    """Evidence, the thresholds, and the comparison with the baseline (None: unknown).

    longer: the same comparison over all failing windows in a row, this one included. findings: the results of the
    windows of both arms, if baseline pods run; then both comparisons are those of the findings. pairs: number of these
    windows. gain: what the dips of this window and of those before it show.
    """

    evidence: Evidence
    thresholds: Thresholds
    comparison: Comparison | None
    longer: Comparison | None
    findings: tuple[MeasureFinding, ...] = ()
    pairs: int = 0
    gain: DipGain | None = None

    def finding(self, measure: Measure) -> MeasureFinding | None:
        """The result of both arms for one measure."""
        return about(self.findings, measure)


Check = Callable[[WindowCase], Verdict | None]


def enough(case: WindowCase) -> bool:
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


def unread(case: WindowCase) -> Verdict | None:
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


def restarted(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (Restarted): an engine restarted during the window."""
    return unsure(Reason.RESTARTED, "an engine restarted during the window") if case.evidence.restarted else None


def implausible(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (Implausible): more tokens accepted than drafted, or more drafts than drafted tokens."""
    evidence = case.evidence
    step = case.thresholds.draft_length
    if evidence.accepted_tokens <= evidence.draft_tokens + step and evidence.drafts <= evidence.draft_tokens + step:
        return None
    counted = f"{evidence.accepted_tokens:.0f} accepted of {evidence.draft_tokens:.0f} drafted tokens"
    return unsure(Reason.IMPLAUSIBLE, f"the counters contradict each other: {counted} in {evidence.drafts:.0f} drafts")


def stalls(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (Stalled): requests are in the engine, and nothing was generated."""
    evidence = case.evidence
    if evidence.generation_tokens > 0 or not evidence.standstills:
        return None
    told = (f"pod {pod}: {each.message}" for pod, each in evidence.standstills.items())
    return unsure(Reason.STALLED, "; ".join(told))


def no_traffic(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (NoTraffic): nothing was generated."""
    if case.evidence.generation_tokens > 0:
        return None
    return unsure(Reason.NO_TRAFFIC, f"no token generated in {case.evidence.seconds:.0f} s")


def dialled(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (Dialled): the dial asks the pods for fewer draft tokens than the spec does. If ReduceTokens set
    it, windows are judged as soon as all pods follow.
    """
    tokens = case.thresholds.dialled
    if tokens is None:
        return None
    by_load = " by load, which not all pods follow yet" if case.thresholds.by_load else ""
    return unsure(Reason.DIALLED, f"the dial is at {tokens} draft tokens{by_load}{over(case.evidence)}")


def few_tokens(case: WindowCase) -> Verdict | None:
    """**Inconclusive** (FewTokens): fewer than `minDraftTokens` tokens were drafted."""
    evidence, least = case.evidence, case.thresholds.min_draft_tokens
    if evidence.draft_tokens >= least:
        return None
    return unsure(
        Reason.FEW_TOKENS,
        f"{evidence.draft_tokens:.0f} drafted tokens, fewer than the {least} needed{over(evidence)}",
    )
