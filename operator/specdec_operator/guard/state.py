"""The guard's durable state. It lives in status.guard and survives restarts, re-applies and `kubectl replace`."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What the guard is doing."""

    ROLLING_OUT = "RollingOut"
    """The pods that the spec asks for are being brought up."""
    WARMING_UP = "WarmingUp"
    """They run; their first traffic is not judged."""
    WATCHING = "Watching"
    """Windows of evidence are judged, one after the other."""
    RESPONDING = "Responding"
    """Speculation is being taken out."""
    ROLLED_BACK = "RolledBack"
    """Speculation is out; the service runs plain until the speculation changes or the user asks for a retry."""
    STALLED = "Stalled"
    """The plain service does not come up either: the user must act."""
    SERVING = "Serving"
    """There is nothing to watch: no speculation is asked for, or the guard is off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """A decision against speculation: one word, one sentence with numbers, and when (epoch seconds)."""

    reason: str
    message: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that the guard must not forget.

    since: when the phase began, epoch seconds. speculation: hash of the speculation that the decisions are about.
    revision: revision of the last finished rollout. wanted: revision that is asked for now, and since when: a rollout's
    deadline counts from there. failures: failing windows in a row.
    rollback: present while speculation is out. would_roll_back: what mode Observe would have done.
    rollbacks: how many there were. handled_retry: value of the retry annotation that was handled last.
    """

    phase: Phase
    since: float
    speculation: str
    revision: str | None = None
    wanted: str | None = None
    wanted_since: float = 0.0
    failures: int = 0
    rollback: Rollback | None = None
    would_roll_back: Rollback | None = None
    rollbacks: int = 0
    handled_retry: str | None = None
