"""The lines about a service that `specdec status` and the page have in common."""

from datetime import UTC, datetime

import pytest

from specdec_operator.display.facts import facts
from specdec_operator.display.untrusted import Untrusted

NOW = datetime(2026, 11, 28, 12, 10, tzinfo=UTC)
WHY = {"reason": "AcceptanceRateLow", "message": "acceptance 0.33 < 0.40", "at": "2026-11-28T12:00:00Z"}


@pytest.mark.parametrize(
    ("more", "words"),
    [({}, "to 2 tokens per step; "), ({"dialled": True}, "to 2 tokens per step by the dial of the running pods; ")],
    ids=["in the flags", "by the dial"],
)
def test_fewer_tokens_show_how_they_came_about(more: dict[str, object], words: str) -> None:
    """With the reason and its time."""
    guard = {"reduced": {**WHY, "tokens": 2} | more}
    shown = facts(Untrusted({"status": {"guard": guard}}), NOW)["reduced"]
    assert shown == f"{words}AcceptanceRateLow 10m ago: acceptance 0.33 < 0.40"
