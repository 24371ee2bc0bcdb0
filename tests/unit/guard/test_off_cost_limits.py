"""What the cost of leaving the draft out, and the gain by dips, do not prove: with rows that draft nothing, without
recent dips, with hostile pages, and where Adapt cannot answer a loss.
"""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.builders import limits, make_gain
from tests.unit.guard.test_off_cost import COST, WINDOW, case, cost, steps

from specdec_operator.guard.dips import DipTotals
from specdec_operator.guard.gain import DipEvidence, DipSpan
from specdec_operator.guard.judge import judge
from specdec_operator.guard.off_cost import BesideSteps, off_cost_of
from specdec_operator.guard.off_steps import OffSteps
from specdec_operator.guard.speed_checks import slower_in_the_engine
from specdec_operator.guard.window import Window


def span(load: int, ratio: float, *, dips: int = 8) -> DipSpan:
    """A window at one load, 2.4 tokens a step."""
    totals = DipTotals(
        seconds=WINDOW,
        requests=5000,
        tokens=12_000,
        dips=dips,
        ratios=dips * ratio,
        squares=dips * ratio * ratio,
    )
    return DipSpan(kinds={(3, load): totals}, seconds=WINDOW)


def test_the_morning_does_not_praise_an_engine_that_no_longer_dips() -> None:
    """None begins while the queue grows, which an overload is: then the lower bound is gone, and stays away."""
    found = DipEvidence()
    for _ in range(60):
        found = found.plus(span(1, 0.7))
    assert found.gain is not None
    assert found.gain.over_baseline(COST).low is not None
    lows = []
    for _ in range(20):
        found = found.plus(span(64, 0.7, dips=0))
        lows.append(found.gain and found.gain.over_baseline(COST).low)
    assert {*lows[3:]} == {None}


def test_time_in_which_rows_draft_nothing_leaves_no_lower_bound() -> None:
    """It is in no kind of steps, and costs what was measured."""
    dips = DipEvidence()
    for _ in range(30):
        dips = dips.plus(span(1, 0.7))
    for pauses in (False, True):
        known = replace(limits(), least_gain=1.0, off_cost=COST, pauses=pauses)
        gain = judge(Window(0.0, 2.0), known, 10.0, dips=dips).gain
        assert gain is not None
        assert (gain.low is None) is pauses


@pytest.mark.parametrize(
    "odd",
    [steps(1e-303), steps(0.02, requests=1e-323), steps(1e300), steps(0.02, requests=1e12)],
    ids=["no time", "no requests", "ages", "all requests of the world"],
)
def test_numbers_that_no_engine_has_are_left_out(odd: OffSteps) -> None:
    """A page may show any, and a service must not stop for it."""
    for ours, theirs in (({"a": odd, "b": steps(0.02)}, {"c": steps(0.018)}), ({"a": steps(0.02)}, {"c": odd})):
        found = BesideSteps()
        for _ in range(30):
            found = found.plus(ours, theirs, WINDOW)
        measured = off_cost_of(found, 1.0)
        assert measured is None or 0 < measured.low <= measured.ratio <= measured.high <= 1


def test_windows_without_a_common_load_add_nothing() -> None:
    """One minute in common, however many others: too little."""
    found = BesideSteps()
    for number in range(61):
        ours, theirs = (4, 4) if number == 60 else (1, 8)
        found = found.plus(
            {f"a{pod}": steps(0.02, batch=ours, requests=ours) for pod in range(8)},
            {f"b{pod}": steps(0.018, batch=theirs, requests=theirs) for pod in range(8)},
            WINDOW,
        )
    assert off_cost_of(found, 1.0) is None
    assert cost([0.02] * 8, [0.018] * 8).ratio == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize(
    ("high", "minimum", "measured", "convicts"),
    [(1.04, 1.0, True, True), (1.13, 1.2, False, True), (0.9, 1.0, False, False), (0.9, 1.0, True, False)],
    ids=["slower than the baseline", "below the user's minimum", "slower than nothing", "both"],
)
def test_adapt_takes_the_place_of_a_rollback_only_where_drafting_nothing_helps(
    high: float, minimum: float, *, measured: bool, convicts: bool
) -> None:
    """In the same engine. A loss against the baseline alone, or against a higher minimum, ends speculation."""
    gain: Any = make_gain(high=high).over_baseline(COST if measured else None)
    found = case(gain, thresholds=replace(limits(least_gain=minimum), adapts=True))
    assert (slower_in_the_engine(found) is not None) is convicts
