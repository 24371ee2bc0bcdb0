"""Speculation compared with the baseline, at similar loads, with an interval."""

from math import exp, log, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import make_plain, pace

from specdec_operator.guard.baseline import Baseline, Comparison, compare
from specdec_operator.guard.statistics import student95
from specdec_operator.guard.token_time import TokenTime

PLAIN: Baseline = (make_plain(1), make_plain(8, *(0.04,) * 8))


def compared(baseline: Baseline, token_times: dict[int, TokenTime]) -> Comparison:
    """A comparison that can be made."""
    found = compare(baseline, token_times)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("token_times", "speedup"),
    [
        ({1: pace(0.01, 0.01)}, 2.0),
        ({1: pace(0.04, 0.04)}, 0.5),
        ({8: pace(0.04, 0.04)}, 1.0),
        ({1: pace(0.02, 0.02), 8: pace(0.04, 0.04)}, 1.0),
        ({1: pace(0.01, 0.01), 8: pace(0.02, 0.02)}, 2.0),
        ({1: pace(0.01, 0.01, requests=90), 8: pace(0.08, 0.08)}, (90 * 0.02 + 10 * 0.04) / (90 * 0.01 + 10 * 0.08)),
    ],
)
def test_the_speedup_is_baseline_time_over_time_at_the_same_loads(
    token_times: dict[int, TokenTime], speedup: float
) -> None:
    """Each load counts by the requests that ran at it with speculation: a busier day does
    not make the draft look slower.
    """
    assert compared(PLAIN, token_times).speedup == pytest.approx(speedup)


@pytest.mark.parametrize(
    ("baseline", "token_times"),
    [
        ((), {1: pace(0.01, 0.01)}),
        (PLAIN, {}),
        (PLAIN, {2: pace(0.01, 0.01)}),
        (PLAIN, {1: pace(0.01, 0.01, requests=4)}),
        (PLAIN, {1: pace(0.01, 0.01), 2: pace(0.01, 0.01, requests=11)}),
        ((make_plain(1, blocks=3),), {1: pace(0.01, 0.01)}),
        (PLAIN, {1: TokenTime(tokens=100.0, seconds=2.0)}),
        ((make_plain(1, *(0.0,) * 8),), {1: pace(0.01, 0.01)}),
        (PLAIN, {1: pace(0.0, 0.0)}),
    ],
    ids=[
        "nothing known",
        "nothing seen",
        "another load",
        "nine requests or fewer",
        "more than half at loads that are unknown",
        "a load that is a guess",
        "no request ended",
        "a plain service that took no time",
        "a speculation that took no time",
    ],
)
def test_different_loads_are_not_compared(baseline: Baseline, token_times: dict[int, TokenTime]) -> None:
    """None, which is not a verdict: no value is derived from another load."""
    assert compare(baseline, token_times) is None


@pytest.mark.parametrize(("requests", "share"), [(5, 2 / 3), (10, 0.5)])
def test_half_of_the_requests_at_known_loads_are_enough(requests: float, share: float) -> None:
    """The others are left out on both sides."""
    found = compared(PLAIN, {1: pace(0.01, 0.01), 2: pace(9.0, 9.0, requests=requests)})
    assert (found.speedup, found.share) == (pytest.approx(2.0), pytest.approx(share))
    assert (found.plain, found.seconds) == (pytest.approx(0.02), pytest.approx(0.01))


def test_the_interval_is_that_of_both_errors() -> None:
    """By hand: the scatter of both sides' blocks, Welch's degrees of freedom, on the logarithm."""
    found = compared((make_plain(1, *(0.019, 0.021) * 4),), {1: pace(0.009, 0.011, 0.009, 0.011)})
    ours, theirs = 0.1**2 / 3, 0.05**2 / 7
    degrees = (ours + theirs) ** 2 / (ours**2 / 3 + theirs**2 / 7)
    width = student95(degrees) * sqrt(ours + theirs)
    assert degrees == pytest.approx(3.66, abs=0.01)
    assert found.low == pytest.approx(exp(log(2.0) - width))
    assert found.high == pytest.approx(exp(log(2.0) + width))


def test_blocks_at_different_loads_are_compared_with_their_own_mean() -> None:
    """A busy block does not add scatter to a quiet one. But each load costs a degree of freedom."""
    found = compared(PLAIN, {1: pace(0.01, 0.01), 8: pace(0.02, 0.02)})
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))
    unknown = compared(PLAIN, {1: pace(0.01, requests=20), 8: pace(0.02)})
    assert (unknown.low, unknown.high) == (pytest.approx(0.002), pytest.approx(2000))


@pytest.mark.parametrize(("few", "many"), [((0.01,), (0.01, 0.01)), ((0.009, 0.011), (0.009, 0.011) * 4)])
def test_less_evidence_has_a_wider_interval(few: tuple[float, ...], many: tuple[float, ...]) -> None:
    """One block may be anything."""
    wide, narrow = compared(PLAIN, {1: pace(*few)}), compared(PLAIN, {1: pace(*many)})
    assert wide.high / wide.low > narrow.high / narrow.low


def test_a_baseline_that_varies_widens_the_interval_too() -> None:
    """Both sides are measured."""
    steady, varied = (
        compared((make_plain(1, *each * 2),), {1: pace(0.01, 0.01)}) for each in ((0.02,) * 2, (0.0, 0.04))
    )
    assert (steady.low, steady.high) == (pytest.approx(2.0), pytest.approx(2.0))
    assert varied.low < 1.0
    assert varied.high > 4.0


TIMES = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=6)


@given(TIMES, TIMES, st.integers(10, 100))
def test_the_interval_holds_the_speedup_whatever_the_numbers(
    seconds: list[float], plain: list[float], requests: int
) -> None:
    """Finite, positive, in order: it is written to a status."""
    found: Any = compare((make_plain(1, *plain * 4),), {1: pace(*seconds, requests=requests)})
    assert 0 < found.low <= found.speedup * (1 + 1e-9)
    assert found.speedup <= found.high * (1 + 1e-9) < float("inf")
