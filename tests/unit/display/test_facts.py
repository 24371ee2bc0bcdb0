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


@pytest.mark.parametrize(
    ("more", "words"),
    [({}, ""), ({"baselineAt": "2026-11-28T11:50:00Z"}, "; the baseline served 20m ago")],
    ids=["beside", "before"],
)
def test_what_leaving_the_draft_out_costs_is_shown_with_its_age(more: dict[str, object], words: str) -> None:
    """And whether the baseline served before, and not beside."""
    guard = {"offCost": {"ratio": 0.9, "low": 0.8, "high": 1.0, "at": "2026-11-28T12:00:00Z", "pods": [2, 3]} | more}
    shown = facts(Untrusted({"status": {"guard": guard}}), NOW)["dips"]
    measured = "0.90 of the baseline (0.80 to 1.00), measured 10m ago with 2 and 3 pods"
    assert shown == f"without its draft an engine reaches {measured}{words}"
