"""What a window says about speculation."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """Only Fail counts against speculation."""

    PASS = "Pass"  # noqa: S105 - an outcome, no password
    FAIL = "Fail"
    INCONCLUSIVE = "Inconclusive"


class Reason(StrEnum):
    """Why. Each is a condition reason too."""

    ACCEPTED = "Accepted"
    """The draft is accepted often enough."""
    ACCEPTANCE_RATE_LOW = "AcceptanceRateLow"
    """Too few of the drafted tokens are accepted."""
    ACCEPTANCE_LENGTH_LOW = "AcceptanceLengthLow"
    """A step of the target yields too few tokens."""
    NOT_DRAFTING = "NotDrafting"
    """Tokens are generated, but nothing is drafted."""
    NO_TRAFFIC = "NoTraffic"
    """Nothing was generated."""
    FEW_TOKENS = "FewTokens"
    """Too few drafted tokens to judge by."""
    SCRAPE_FAILED = "ScrapeFailed"
    """A pod's metrics could not be read for too long."""
    RESTARTED = "Restarted"
    """An engine restarted inside the window."""
    NOT_SIGNIFICANT = "NotSignificant"
    """Below the threshold, but chance can explain it."""
    POD_SKEW = "PodSkew"
    """Some pods pass and others fail: the pods differ, not the draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Outcome of one window, with its reason and one sentence with numbers."""

    outcome: Outcome
    reason: Reason
    message: str
