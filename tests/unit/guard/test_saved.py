"""Hours that speculation saved: claimed where the speed was compared, with an interval, and kept."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.builders import make_rollback, make_state
from tests.unit.guard.films import strip

from specdec_operator.display.facts import facts
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.checks import unsure
from specdec_operator.guard.saved import Saved, busy_seconds, with_window
from specdec_operator.guard.state import Phase
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import TokenTime
from specdec_operator.guard.user_intent import UserIntent, follow_user
from specdec_operator.guard.verdict import Reason


def compared(speedup: float, width: float = 0.1, share: float = 1.0) -> Comparison:
    """A speedup with its interval."""
    return Comparison(
        speedup=speedup, low=speedup - width, high=speedup + width, share=share, baseline=0.03, seconds=0.02
    )


def test_two_windows_of_an_hour_add_up() -> None:
    """1.5 times as fast: the same tokens would have taken half an hour more; 0.9: a tenth less."""
    first = with_window(None, compared(1.5), 3600.0, 100.0)
    assert first == Saved(hours=0.5, low=0.4, high=0.6, compared=1.0, since=100.0)
    second = with_window(first, compared(0.9), 3600.0, 200.0)
    assert second == Saved(hours=0.4, low=0.2, high=0.6, compared=2.0, since=100.0)


def test_only_the_share_that_was_compared_counts() -> None:
    """Requests at loads without a baseline prove nothing."""
    found = with_window(None, compared(1.5, share=0.5), 3600.0, 1.0)
    assert found is not None
    assert (found.hours, found.compared) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("comparison", "busy"),
    [
        (None, 3600.0),
        (compared(1.5), 0.0),
        (Comparison(speedup=1.5, low=0.0015, high=1500.0, share=1.0, baseline=0.03, seconds=0.02), 3600.0),
    ],
    ids=["not compared", "idle", "nothing is known of the interval"],
)
def test_without_a_comparison_nothing_is_claimed(comparison: Comparison | None, busy: float) -> None:
    """What was known stays as it is."""
    before = Saved(hours=0.5, low=0.4, high=0.6, compared=1.0, since=100.0)
    assert with_window(before, comparison, busy, 200.0) == before
    assert with_window(None, comparison, busy, 200.0) is None


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        (Reason.RESTARTED, False),
        (Reason.IMPLAUSIBLE, False),
        (Reason.SCRAPE_FAILED, False),
        (Reason.DIALLED, False),
        (Reason.NOT_SIGNIFICANT, True),
    ],
)
def test_windows_that_cannot_be_used_do_not_count(reason: Reason, *, counts: bool) -> None:
    """And those in which the dial asks for other tokens are not about this speculation."""
    crowd = TokenTime(times=RatioSums(blocks=4, total=900.0, of=9000.0), requests=90, tokens=9000, seconds=3600.0)
    frame = {"verdict": unsure(reason, "x"), "comparison": compared(1.5), "token_times": {8: crowd}}
    (state,) = strip(make_state(), (500.0, frame))
    assert (state.saved is not None) is counts


def test_a_retry_keeps_what_the_same_speculation_saved() -> None:
    """And another speculation begins again."""
    before = Saved(hours=12.0, low=10.0, high=14.0, compared=100.0, since=1.0)
    state = make_state(Phase.ROLLED_BACK, rollback=make_rollback(), saved=before, service="mine")
    intent = UserIntent(
        speculation=state.speculation, service=state.service, memory=state.memory, speculating=True, retry="again"
    )
    assert follow_user(state, intent, 100.0).saved == before
    assert follow_user(state, replace(intent, speculation="another"), 100.0).saved is None
    assert follow_user(state, replace(intent, service="another"), 100.0).saved is None


def test_an_idle_pod_is_not_busy() -> None:
    """At a load of one the pod was busy for as long as its requests took; at others all the time."""
    alone = TokenTime(times=RatioSums(blocks=4, total=30.0, of=1000.0), requests=10, tokens=1000, seconds=600.0)
    crowd = TokenTime(times=RatioSums(blocks=4, total=900.0, of=9000.0), requests=90, tokens=9000, seconds=120.0)
    assert busy_seconds({0: crowd, 1: alone, 8: crowd}) == 150.0


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        (
            {"hours": 2.04, "low": 1.2, "high": 2.9, "compared": 10.0, "since": "2026-11-25T12:00:00Z"},
            "2.0 hours of a pod (95 % interval 1.2 to 2.9) in 10.0 hours that were compared, first 3d ago",
        ),
        (
            {"hours": -0.5, "low": -0.8, "high": -0.2, "compared": 3.0},
            "lost 0.5 hours of a pod (95 % interval 0.2 to 0.8) in 3.0 hours that were compared",
        ),
        ({"hours": 0.0, "low": 0.0, "high": 0.0, "compared": 0.0}, None),
        ({"hours": "many"}, None),
    ],
)
def test_the_line_for_people(kept: dict[str, Any], line: str | None) -> None:
    """Saved or lost, with the interval."""
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    found = facts(Untrusted({"spec": {}, "status": {"guard": {"saved": kept}}}), now)
    assert found.get("saved") == line
