"""What a window shows about speculation."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Outcome(StrEnum):
    """Only Fail counts against speculation."""

    PASS = "Pass"  # noqa: S105 - an outcome, no password
    FAIL = "Fail"
    INCONCLUSIVE = "Inconclusive"


class Reason(StrEnum):
    """Why. Each is a condition reason too."""

    ACCEPTED = "Accepted"
    """Acceptance is high enough, and no other limit is missed."""
    PLAIN = "Plain"
    """The service runs without speculation and meets its limits. That is not evidence about a draft."""
    ACCEPTANCE_RATE_LOW = "AcceptanceRateLow"
    """Too few of the drafted tokens are accepted."""
    ACCEPTANCE_LENGTH_LOW = "AcceptanceLengthLow"
    """A step of the target yields too few tokens."""
    SLOWER_THAN_PLAIN = "SlowerThanPlain"
    """At the same load the baseline is faster, by more than the limit allows."""
    COLLATERAL = "Collateral"
    """Another measure is worse with speculation than `collateral` allows."""
    TOO_SLOW = "TooSlow"
    """The time per output token is above its limit."""
    NOT_DRAFTING = "NotDrafting"
    """Tokens are generated, but nothing is drafted."""
    POD_SKEW = "PodSkew"
    """Some pods pass and others fail: the pods differ, not the draft."""
    NO_TRAFFIC = "NoTraffic"
    """Nothing was generated."""
    DIALLED = "Dialled"
    """The dial requests fewer draft tokens than the spec: the window is not about what the spec requests."""
    STALLED = "Stalled"
    """Requests are in the engine, and nothing was generated: it hangs. A failure of the pod, not of the draft."""
    FEW_TOKENS = "FewTokens"
    """Too few drafted tokens to judge by."""
    SCRAPE_FAILED = "ScrapeFailed"
    """A pod's metrics could not be read for too long."""
    IMPLAUSIBLE = "Implausible"
    """The counters contradict each other."""
    RESTARTED = "Restarted"
    """An engine restarted inside the window."""
    NOT_SIGNIFICANT = "NotSignificant"
    """Below the threshold, but chance can explain it."""
    RARELY_DRAFTS = "RarelyDrafts"
    """Few steps have a draft, so acceptance proves little, and no baseline is known to compare the speed with."""
    NOT_MEASURED = "NotMeasured"
    """The speed of the baseline is unknown at this load, or with such traffic."""
    BEYOND_BASELINE = "BeyondBaseline"
    """More requests run at once than in any baseline measurement. A slow draft can cause that."""
    FEW_REQUESTS = "FewRequests"
    """Too few requests ended to compare their speed."""
    PLAIN_IS_SLOWER = "PlainIsSlower"
    """The time per output token is above its limit, and without speculation it was even longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Outcome of one window, with its reason and one sentence with numbers.

    at: when the window closed, epoch seconds. pods: the pods that are to blame; empty: all of them, or none.
    settled: whether the evidence of all failing windows in a row is significant even for traffic that comes in bursts.
    final: whether this window alone is enough to act, because its evidence is of all windows so far.
    together: if pods are to blame, the outcome of all of them together. severe: whether a few such windows in a row are
    enough to act; if acceptance is not far below its minimum, the budget of regret decides instead.
    grave: whether speculation is so much slower than the baseline of another time that a doubt cannot wait.
    """

    outcome: Outcome
    reason: Reason
    message: str
    at: float = 0.0
    pods: tuple[str, ...] = ()
    settled: bool = True
    together: Outcome = Outcome.FAIL
    severe: bool = True
    final: bool = False
    grave: bool = False

    @property
    def uncompared(self) -> bool:
        """Whether there was traffic, but no baseline time to compare its speed with."""
        return self.reason in (Reason.NOT_MEASURED, Reason.BEYOND_BASELINE)

    @property
    def void(self) -> bool:
        """Whether the window is not about the requested speculation: its data cannot be used, or the dial asks for
        other tokens.
        """
        return self.reason in (Reason.SCRAPE_FAILED, Reason.RESTARTED, Reason.IMPLAUSIBLE, Reason.DIALLED)

    @property
    def quiet(self) -> bool:
        """Whether there was too little traffic to judge. Such a window does not change the counts of the windows
        before.
        """
        return self.reason in (Reason.NO_TRAFFIC, Reason.STALLED, Reason.FEW_TOKENS, Reason.FEW_REQUESTS)


BY_ACCEPTANCE: Final = frozenset({Reason.ACCEPTANCE_RATE_LOW, Reason.ACCEPTANCE_LENGTH_LOW})
