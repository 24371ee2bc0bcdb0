"""The checks of one piece of evidence, in the order in which they are asked; the first that has a verdict decides.

Missing data comes first: nothing that follows may be read into it. Then what fails, then what cannot be told.
"""

from typing import Final

from specdec_operator.guard import failing, missing
from specdec_operator.guard.case import Case, Check, over, speed_words, unsure
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

CHECKS: Final[tuple[Check, ...]] = (
    missing.unread,
    missing.restarted,
    missing.implausible,
    missing.no_traffic,
    failing.not_drafting,
    failing.acceptance_rate,
    failing.acceptance_length,
    failing.slower,
    failing.too_slow,
    missing.few_tokens,
    missing.not_significant,
    missing.not_compared,
    missing.rarely_drafts,
)
PLAIN_CHECKS: Final[tuple[Check, ...]] = (missing.unread, missing.restarted, missing.no_traffic, failing.too_slow)


def judge_case(case: Case) -> Verdict:
    """The verdict on one piece of evidence."""
    for check in PLAIN_CHECKS if case.limits.plain else CHECKS:
        if verdict := check(case):
            return verdict
    return _plain(case.evidence) if case.limits.plain else _passed(case)


def _plain(evidence: Evidence) -> Verdict:
    seconds = evidence.pace.times.mean
    speed = "no request ended" if seconds is None else f"{1000 * seconds:.1f} ms per output token"
    message = f"plain: {speed} over {evidence.seconds:.0f} s, {evidence.generation_tokens:.0f} tokens"
    return unsure(Reason.PLAIN, message)


def _passed(case: Case) -> Verdict:
    evidence = case.evidence
    rate, length = evidence.acceptance_rate or 0.0, evidence.acceptance_length or 1.0
    speed = f", {speed_words(case.comparison)}" if case.comparison else ""
    message = f"acceptance {rate:.2f}, {length:.2f} tokens per step{speed}{over(evidence)}"
    return Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message=message)
