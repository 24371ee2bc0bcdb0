"""Judges one closed window: each pod first, then all of them together."""

from dataclasses import dataclass, field, replace
from typing import Final

from specdec_operator.guard import evidence as evidences
from specdec_operator.guard.baseline import Comparison, compare
from specdec_operator.guard.case import Case
from specdec_operator.guard.checks import judge_case
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.moments import Moments
from specdec_operator.guard.pace import Paces, together
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.window import Window

_FAR_BELOW: Final = 0.8
"""Share of its siblings' acceptance below which a pod is another one than they are."""
_BY_ACCEPTANCE: Final = frozenset({Reason.ACCEPTANCE_RATE_LOW, Reason.ACCEPTANCE_LENGTH_LOW})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What failing windows in a row showed together: accepted and drafted tokens, and times by load."""

    acceptance: Moments = field(default_factory=Moments)
    paces: Paces = field(default_factory=dict)

    def plus(self, evidence: Evidence) -> "Row":
        """With one more window."""
        return Row(acceptance=self.acceptance.merged(evidence.acceptance), paces=together(self.paces, evidence.paces))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A closed window: the verdict, the pooled evidence, how fast it was against plain.

    comparison: None where that is not known, and for a window of the plain service itself.
    row: all failing windows in a row, this one included; empty after any other.
    """

    verdict: Verdict
    evidence: Evidence
    comparison: Comparison | None
    row: Row

    @property
    def conclusive(self) -> bool:
        """Whether the window proves something."""
        return self.verdict.outcome is not Outcome.INCONCLUSIVE


def judge(window: Window, limits: Thresholds, now: float, row: Row | None = None) -> Judged:
    """The verdict on a window that closes at `now`. row: the failing windows before it.

    Each pod is judged before the pool: summed up, a broken pod and a good one would condemn both. Pods that were not
    read well, or that began anew, are left out as long as more than half of all are left.
    """
    parts = evidences.by_pod(window.closed(), now)
    whole = {pod: part for pod, part in parts.items() if _is_whole(part, limits)}
    most = 2 * len(whole) > len(parts) + len(window.unread)
    unread = 0 if most else len(window.unread)
    pool = evidences.pooled(whole if most else parts, seconds=now - window.opened, unread=unread)
    longer = (row or Row()).plus(pool)
    case = _case(pool, limits, longer.paces)
    verdict = replace(_skewed(parts, limits) or judge_case(case), at=now)
    return Judged(
        verdict=_settled(verdict, longer.acceptance, pool, limits),
        evidence=pool,
        comparison=None if limits.plain else case.comparison,
        row=longer if verdict.outcome is Outcome.FAIL else Row(),
    )


def _is_whole(evidence: Evidence, limits: Thresholds) -> bool:
    return not evidence.restarted and evidence.longest_gap <= limits.longest_gap


def _case(evidence: Evidence, limits: Thresholds, paces: Paces) -> Case:
    comparison, longer = compare(limits.baseline, evidence.paces), compare(limits.baseline, paces)
    return Case(evidence=evidence, limits=limits, comparison=comparison, longer=longer)


def _skewed(parts: dict[str, Evidence], limits: Thresholds) -> Verdict | None:
    """PodSkew where some pods fail and others pass that are far better; the worst pod is named first."""
    if len(parts) < 2:
        return None
    verdicts = {pod: judge_case(_case(part, limits, part.paces)) for pod, part in parts.items()}
    passing = {pod: parts[pod] for pod, verdict in verdicts.items() if verdict.outcome is Outcome.PASS}
    if not passing:
        return None
    good = evidences.pooled(passing, seconds=0, unread=0)
    failing = [pod for pod, verdict in verdicts.items() if verdict.outcome is Outcome.FAIL]
    blamed = sorted(
        (pod for pod in failing if _apart(verdicts[pod], parts[pod], good)),
        key=lambda pod: (parts[pod].acceptance_rate or 0.0, pod),
    )
    if not blamed:
        return None
    worst = verdicts[blamed[0]]
    rate = good.acceptance_rate or 0.0
    message = f"{blamed[0]} fails: {worst.message}; others pass: {', '.join(passing)}, acceptance {rate:.2f}"
    return Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message=message, pods=tuple(blamed))


def _apart(verdict: Verdict, evidence: Evidence, good: Evidence) -> bool:
    """Whether a failing pod is far from those that pass, and not just on the other side of a threshold."""
    if verdict.reason not in _BY_ACCEPTANCE:
        return True
    return (evidence.acceptance_rate or 0.0) < _FAR_BELOW * (good.acceptance_rate or 0.0)


def _settled(verdict: Verdict, row: Moments, pool: Evidence, limits: Thresholds) -> Verdict:
    """The verdict, unsettled while the scatter of all failing windows in a row could still explain it."""
    if verdict.reason not in _BY_ACCEPTANCE or row.mean is None:
        return verdict
    if verdict.reason is Reason.ACCEPTANCE_RATE_LOW:
        least = limits.acceptance_rate or 0.0
    else:  # a length of 1 + accepted / drafts, as a rate of the tokens that were drafted
        least = ((limits.acceptance_length or 1.0) - 1) * pool.drafts / pool.draft_tokens
    width = row.half_width()
    if width is not None and row.mean + width < least:
        return verdict
    bound = "unknown" if width is None else f"{row.mean + width:.2f}"
    message = f"{verdict.message}; the traffic comes in bursts, more windows are needed (their bound {bound})"
    return replace(verdict, message=message, settled=False)
