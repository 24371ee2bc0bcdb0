"""Judges one closed window by an ordered list of checks; the first that has something to say decides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specdec_operator.guard import evidence as evidences
from specdec_operator.guard.bounds import wilson_upper
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What a window is compared with.

    acceptance_rate: accepted / drafted tokens, at least. acceptance_length: 1 + accepted tokens / drafts, at least.
    min_draft_tokens: fewer drafted tokens prove nothing. always_drafts: whether the method drafts at every step.
    longest_gap: longest time without a reading that still counts as a full window, in seconds.
    draft_length: K, tokens drafted per step.
    """

    acceptance_rate: float | None
    acceptance_length: float | None
    min_draft_tokens: int
    always_drafts: bool
    longest_gap: float
    draft_length: int


Check = Callable[[Evidence, Thresholds], Verdict | None]


def _unread(evidence: Evidence, limits: Thresholds) -> Verdict | None:
    if evidence.unread:
        return _inconclusive(Reason.SCRAPE_FAILED, f"{evidence.unread} pods never answered in {evidence.seconds:.0f} s")
    if evidence.longest_gap > limits.longest_gap:
        message = f"no metrics for {evidence.longest_gap:.0f} s of {evidence.seconds:.0f} s"
        return _inconclusive(Reason.SCRAPE_FAILED, message)
    return None


def _restarted(evidence: Evidence, _: Thresholds) -> Verdict | None:
    return _inconclusive(Reason.RESTARTED, "an engine restarted inside the window") if evidence.restarted else None


def _no_traffic(evidence: Evidence, _: Thresholds) -> Verdict | None:
    if evidence.generation_tokens > 0:
        return None
    return _inconclusive(Reason.NO_TRAFFIC, f"no token generated in {evidence.seconds:.0f} s")


def _not_drafting(evidence: Evidence, limits: Thresholds) -> Verdict | None:
    expected = limits.always_drafts or not evidence.speculative
    if evidence.draft_tokens > 0 or not expected or evidence.generation_tokens < limits.min_draft_tokens:
        return None
    what = "drafted none" if evidence.speculative else "has no speculation counters"
    return _fail(
        Reason.NOT_DRAFTING,
        f"the engine generated {evidence.generation_tokens:.0f} tokens and {what}{_over(evidence)}",
    )


def _few_tokens(evidence: Evidence, limits: Thresholds) -> Verdict | None:
    if evidence.draft_tokens >= limits.min_draft_tokens:
        return None
    message = f"{evidence.draft_tokens:.0f} drafted tokens, {limits.min_draft_tokens} are needed{_over(evidence)}"
    return _inconclusive(Reason.FEW_TOKENS, message)


def _acceptance_rate(evidence: Evidence, limits: Thresholds) -> Verdict | None:
    rate = evidence.acceptance_rate
    if limits.acceptance_rate is None or rate is None or rate >= limits.acceptance_rate:
        return None
    # The tokens of one draft stand and fall together, so the drafts are the sample, not their tokens.
    bound = wilson_upper(rate, evidence.drafts)
    message = f"acceptance {rate:.2f} < {limits.acceptance_rate:.2f} (95 % bound {bound:.2f}){_over(evidence)}"
    if bound < limits.acceptance_rate:
        return _fail(Reason.ACCEPTANCE_RATE_LOW, message)
    return _inconclusive(Reason.NOT_SIGNIFICANT, message)


def _acceptance_length(evidence: Evidence, limits: Thresholds) -> Verdict | None:
    length = evidence.acceptance_length
    if limits.acceptance_length is None or length is None or length >= limits.acceptance_length:
        return None
    share = min(1.0, (length - 1) / limits.draft_length)
    bound = 1 + limits.draft_length * wilson_upper(share, evidence.drafts)
    message = (
        f"acceptance length {length:.2f} < {limits.acceptance_length:.2f} (95 % bound {bound:.2f}){_over(evidence)}"
    )
    if bound < limits.acceptance_length:
        return _fail(Reason.ACCEPTANCE_LENGTH_LOW, message)
    return _inconclusive(Reason.NOT_SIGNIFICANT, message)


CHECKS: Final[tuple[Check, ...]] = (
    _unread,  # missing data first: nothing that follows may be read into it
    _restarted,
    _no_traffic,
    _not_drafting,
    _few_tokens,
    _acceptance_rate,
    _acceptance_length,
)


def judge_evidence(evidence: Evidence, limits: Thresholds) -> Verdict:
    """The verdict on one piece of evidence."""
    for check in CHECKS:
        if verdict := check(evidence, limits):
            return verdict
    rate, length = evidence.acceptance_rate or 0.0, evidence.acceptance_length or 1.0
    message = f"acceptance {rate:.2f}, {length:.2f} tokens per step{_over(evidence)}"
    return Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message=message)


def judge(window: Window, limits: Thresholds, now: float) -> tuple[Verdict, Evidence]:
    """The verdict on a closed window, and the pooled evidence.

    Each pod is judged before the pool: summed up, a broken pod and a good one would condemn both.
    """
    parts = evidences.by_pod(window, now)
    pool = evidences.pooled(parts, seconds=now - window.opened, unread=len(window.unread))
    verdict = judge_evidence(pool, limits)
    if verdict.outcome is not Outcome.FAIL or len(parts) < 2:
        return verdict, pool
    passing = [pod for pod, part in parts.items() if judge_evidence(part, limits).outcome is Outcome.PASS]
    if not passing:
        return verdict, pool
    failing = ", ".join(pod for pod in parts if pod not in passing)
    return _inconclusive(Reason.POD_SKEW, f"{verdict.message}, but only in {failing}; {', '.join(passing)} pass"), pool


def _over(evidence: Evidence) -> str:
    pods = f"{evidence.pods} pod{'' if evidence.pods == 1 else 's'}"
    return f" over {evidence.seconds:.0f} s, {evidence.draft_tokens:.0f} drafted tokens, {pods}"


def _fail(reason: Reason, message: str) -> Verdict:
    return Verdict(outcome=Outcome.FAIL, reason=reason, message=message)


def _inconclusive(reason: Reason, message: str) -> Verdict:
    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason, message=message)
