"""Whether a pod is to blame and not the draft: it fails, and the others together pass and are far better.

Where all pods together pass, the draft pays, and one pod with hard traffic, on a slow node or with one long answer is
left alone: another pod would do no better there. Only one that accepts next to nothing beside good ones is broken.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from specdec_operator.guard.evidence import Evidence, FailingRun, pooled
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

BY_ACCEPTANCE: Final = frozenset({Reason.ACCEPTANCE_RATE_LOW, Reason.ACCEPTANCE_LENGTH_LOW})
_FAR_BELOW: Final = 0.8
"""Share of the others' acceptance below which a pod is another one than they are."""
_BROKEN: Final = 0.25
"""Share of the others' acceptance below which a pod is broken, however well all of them do together: further than one
or two answers that are hard to predict bring it (recordings 34 to 36)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """The pods of one window. verdicts: on each by itself; rest: on those together that do not fail. run: of all
    failing windows in a row, this one included.
    """

    parts: Mapping[str, Evidence]
    verdicts: Mapping[str, Verdict]
    rest: Verdict | None
    run: FailingRun

    @property
    def others(self) -> tuple[str, ...]:
        """Those that do not fail."""
        return tuple(pod for pod, verdict in self.verdicts.items() if verdict.outcome is not Outcome.FAIL)


def others_of(parts: Mapping[str, Evidence], verdicts: Mapping[str, Verdict]) -> Evidence | None:
    """The evidence of the pods that do not fail, together; None where all fail, or none does."""
    others = {pod: part for pod, part in parts.items() if verdicts[pod].outcome is not Outcome.FAIL}
    return pooled(others, seconds=0, unread=0) if others and len(others) < len(parts) else None


def skewed(pods: Pods, together: Verdict, thresholds: Thresholds) -> Verdict | None:
    """PodSkew; the worst pod is named first. together: the verdict on all pods as one."""
    good = _rate(pods.run, pods.others)
    if pods.rest is None or not (pods.rest.outcome is Outcome.PASS or _passes(pods, thresholds)):
        return None
    share = _FAR_BELOW if together.outcome is Outcome.FAIL else _BROKEN
    failing = (pod for pod, verdict in pods.verdicts.items() if verdict.outcome is Outcome.FAIL)
    rates = {pod: pods.parts[pod].acceptance_rate or 0.0 for pod in failing}
    blamed = tuple(sorted((pod for pod in rates if _apart(pods.verdicts[pod], rates[pod], share, good)), key=rates.get))  # type: ignore[arg-type]
    if not blamed:
        return None
    worst = pods.verdicts[blamed[0]]
    message = (
        f"{blamed[0]} fails: {worst.message}; other pods pass: {', '.join(pods.others)}, acceptance {good or 0.0:.2f}"
    )
    found = Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message=message, pods=blamed)
    return replace(found, together=together.outcome)


def _apart(verdict: Verdict, rate: float, share: float, good: float | None) -> bool:
    """Whether a failing pod is far from the others, and not only on the other side of a threshold."""
    if verdict.reason in BY_ACCEPTANCE or share < _FAR_BELOW:
        return good is not None and rate < share * good
    return True


def _passes(pods: Pods, thresholds: Thresholds) -> bool:
    """Whether the others pass by what they drafted over the failing windows in a row: in one it may be too little."""
    sums = _sums(pods.run, pods.others)
    least = thresholds.acceptance_rate or 0.0
    quiet = pods.rest is not None and pods.rest.reason in (Reason.FEW_TOKENS, Reason.NO_TRAFFIC)
    return quiet and sums.of >= thresholds.min_draft_tokens and (sums.mean or 0.0) >= least


def _sums(run: FailingRun, pods: Iterable[str]) -> RatioSums:
    sums = RatioSums()
    for pod in pods:
        sums = sums.merged(run.by_pod.get(pod, RatioSums()))
    return sums


def _rate(run: FailingRun, pods: Iterable[str]) -> float | None:
    return _sums(run, pods).mean
