"""Moments as the status writes them: whole seconds in UTC."""

import math
from datetime import UTC, datetime


def to_time(at: float) -> str:
    """RFC 3339 text of epoch seconds."""
    return datetime.fromtimestamp(math.floor(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_time(text: str) -> float:
    """Epoch seconds of an RFC 3339 text."""
    return datetime.fromisoformat(text).timestamp()
