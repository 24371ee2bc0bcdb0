"""Moments as the status writes them: whole seconds in UTC."""

import math
from datetime import UTC, datetime
from typing import Any, Final

_DAY: Final = 86400.0


def to_time(at: float) -> str:
    """RFC 3339 text of epoch seconds."""
    return datetime.fromtimestamp(math.floor(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_time(text: str) -> float:
    """Epoch seconds of an RFC 3339 text."""
    return datetime.fromisoformat(text).timestamp()


def is_moment(text: str) -> bool:
    """Whether a text is a time from 1970 on, with its offset."""
    try:
        at = datetime.fromisoformat(text)
        return at.tzinfo is not None and at.timestamp() >= 0
    except (ValueError, OverflowError):
        return False


def is_past(text: Any, now: float) -> bool:
    """Whether a value is a time between 1970 and tomorrow, with its offset: no other can be that of an observation.

    A day is allowed, because clocks differ, and one may have been put right since.
    """
    try:
        at = datetime.fromisoformat(text)
        return at.tzinfo is not None and 0 <= at.timestamp() <= now + _DAY
    except (TypeError, ValueError, OverflowError):
        return False
