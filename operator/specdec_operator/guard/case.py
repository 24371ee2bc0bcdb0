"""What the checks look at, and the words that they share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specdec_operator.guard.baseline import FEWEST_REQUESTS, Comparison
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

RARELY: Final = 0.25
"""Share of steps with a draft below which acceptance says little, for a method that drafts at every step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Evidence, what it is compared with, and how it compares with the plain service (None: it cannot be told).

    longer: the same comparison over all failing windows in a row, this one included.
    """

    evidence: Evidence
    limits: Thresholds
    comparison: Comparison | None
    longer: Comparison | None


Check = Callable[[Case], Verdict | None]


def enough(case: Case) -> bool:
    """Whether enough tokens were drafted to judge the draft."""
    return case.evidence.draft_tokens >= case.limits.min_draft_tokens


def measurable(case: Case) -> bool:
    """Whether there was traffic enough to judge its speed, drafted or not."""
    evidence = case.evidence
    return evidence.generation_tokens >= case.limits.min_draft_tokens and evidence.pace.times.of >= FEWEST_REQUESTS


def failed(reason: Reason, message: str) -> Verdict:
    """A verdict against speculation."""
    return Verdict(outcome=Outcome.FAIL, reason=reason, message=message)


def unsure(reason: Reason, message: str) -> Verdict:
    """A verdict that proves nothing."""
    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason, message=message)


def over(evidence: Evidence) -> str:
    """What the numbers before it come from."""
    pods = f"{evidence.pods} pod{'' if evidence.pods == 1 else 's'}"
    return f" over {evidence.seconds:.0f} s, {evidence.draft_tokens:.0f} drafted tokens, {pods}"


def speed_words(found: Comparison) -> str:
    """How fast it was against plain."""
    interval = f"95 % interval {found.low:.2f} to {found.high:.2f}"
    times = f"{1000 * found.seconds:.1f} ms per output token, plain {1000 * found.plain:.1f} ms"
    return f"speedup {found.speedup:.2f} ({interval}; {times})"


def cut_words(case: Case) -> str:
    """How rarely a step had a draft, where that is worth a word."""
    share = case.evidence.drafted_share
    if share is None or share >= RARELY or not case.limits.always_drafts:
        return ""
    return f", {100 * share:.0f} % of the steps had a draft (structured output cuts drafts)"
