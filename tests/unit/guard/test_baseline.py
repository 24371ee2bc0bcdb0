"""The baseline speed by load, as it is learnt and forgotten; and the speedup compared with it."""

from math import exp, log, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import make_baseline, pace, times

from specdec_operator.guard.baseline import (
    FEWEST_REQUESTS,
    MOST_LOADS,
    Baseline,
    BaselineSpeed,
    Comparison,
    compare,
    learnt,
)
from specdec_operator.guard.statistics import student95
from specdec_operator.guard.token_time import UNKNOWN_LOAD, TokenTime, load_of


def mean(speed: BaselineSpeed) -> float:
    """Its time per output token, in seconds."""
    assert speed.token_time.times.mean is not None
    return speed.token_time.times.mean


def test_a_first_window_is_the_baseline() -> None:
    """Its blocks as they were: mean, scatter, and what one pod generated."""
    assert learnt((), {2: pace(0.01, 0.03)}) == (BaselineSpeed(load=2, token_time=pace(0.01, 0.03)),)


def test_loads_in_which_no_request_ended_teach_nothing() -> None:
    """There is a pace, and no time."""
    assert learnt((), {1: TokenTime(tokens=100.0, seconds=2.0)}) == ()
    assert learnt((make_baseline(),), {1: TokenTime(tokens=100.0, seconds=2.0)}) == (make_baseline(),)


def test_what_ran_at_an_unknown_load_teaches_nothing() -> None:
    """It could be compared with nothing."""
    assert learnt((), {UNKNOWN_LOAD: pace(0.01, 0.03)}) == ()


@pytest.mark.parametrize(
    ("blocks", "requests", "known"),
    [(4, FEWEST_REQUESTS / 4, True), (3, 500, False), (8, FEWEST_REQUESTS / 8 - 0.01, False), (64, 1000, True)],
)
def test_a_load_is_known_from_four_blocks_and_ten_requests(blocks: int, requests: float, known: bool) -> None:
    """Less is no more than a guess. requests: that ended in each block."""
    assert make_baseline(blocks=blocks, requests=requests).known is known


def test_windows_add_up_while_there_is_room() -> None:
    """Two old blocks and six new ones: a quarter and three quarters."""
    (mixed,) = learnt(learnt((), {1: pace(0.25, 0.25)}), {1: pace(*(0.125,) * 6)})
    assert mean(mixed) == 0.25 * 0.25 + 0.75 * 0.125
    assert mixed.token_time == pace(0.25, 0.25, *(0.125,) * 6)


def test_loads_are_kept_apart_and_in_order() -> None:
    """A load that was not met this time stays as it was."""
    first = learnt((), {8: pace(0.08, 0.08), 1: pace(0.02, 0.02)})
    second = learnt(first, {4: pace(0.05, 0.05)})
    assert [speed.load for speed in second] == [1, 4, 8]
    assert (second[0], second[2]) == first


def test_old_blocks_fade_and_keep_their_mean() -> None:
    """As if there had been fewer of the same kind: mean and throughput stay, the scatter shrinks with their number."""
    old = pace(*(0.01, 0.03) * 32)
    (kept,) = learnt((BaselineSpeed(load=1, token_time=old),), {1: pace(*(0.02,) * 8)})
    assert kept.token_time.times.blocks == 64
    assert kept.token_time.times.of == pytest.approx(640)
    assert mean(kept) == pytest.approx(0.02)
    assert kept.token_time.times.scatter == pytest.approx(old.times.scatter * 56 / 64)
    assert kept.token_time.tokens / kept.token_time.seconds == pytest.approx(old.tokens / old.seconds)


def test_a_new_day_corrects_an_old_one() -> None:
    """However long the old time held, 16 new windows outweigh it."""
    old: Baseline = ()
    for _ in range(1000):
        old = learnt(old, {1: pace(*(0.04,) * 8)})
    assert old[0].token_time.times.blocks == 64
    for _ in range(16):
        old = learnt(old, {1: pace(*(0.02,) * 8)})
    assert mean(old[0]) == pytest.approx(0.02, rel=0.15)


LOADS = st.dictionaries(st.sampled_from([load_of(2.0**n) for n in range(11)]), st.integers(1, 40))


@given(st.lists(LOADS, max_size=30))
def test_what_is_remembered_is_bounded(windows: list[dict[int, int]]) -> None:
    """Loads and blocks: it lies in a status."""
    baseline: Baseline = ()
    for window in windows:
        baseline = learnt(baseline, {load: pace(*(0.02,) * blocks) for load, blocks in window.items()})
    assert len(baseline) <= MOST_LOADS
    assert all(speed.token_time.times.blocks <= 64 for speed in baseline)
    assert [speed.load for speed in baseline] == sorted({load for window in windows for load in window})


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=20))
def test_a_mixture_is_between_its_parts(seconds: list[float]) -> None:
    """No window makes the baseline look faster or slower than it ever was."""
    baseline: Baseline = ()
    for each in seconds:
        baseline = learnt(baseline, {1: TokenTime(times=times(*(each,) * 8), tokens=64.0, seconds=4.0)})
    assert min(seconds) * (1 - 1e-9) <= mean(baseline[0]) <= max(seconds) * (1 + 1e-9)


BASELINE: Baseline = (make_baseline(1), make_baseline(8, *(0.04,) * 8))


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
    assert compared(BASELINE, token_times).speedup == pytest.approx(speedup)


@pytest.mark.parametrize(
    ("baseline", "token_times"),
    [
        ((), {1: pace(0.01, 0.01)}),
        (BASELINE, {}),
        (BASELINE, {2: pace(0.01, 0.01)}),
        (BASELINE, {1: pace(0.01, 0.01, requests=4)}),
        (BASELINE, {1: pace(0.01, 0.01), 2: pace(0.01, 0.01, requests=11)}),
        ((make_baseline(1, blocks=3),), {1: pace(0.01, 0.01)}),
        (BASELINE, {1: TokenTime(tokens=100.0, seconds=2.0)}),
        ((make_baseline(1, *(0.0,) * 8),), {1: pace(0.01, 0.01)}),
        (BASELINE, {1: pace(0.0, 0.0)}),
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
    found = compared(BASELINE, {1: pace(0.01, 0.01), 2: pace(9.0, 9.0, requests=requests)})
    assert (found.speedup, found.share) == (pytest.approx(2.0), pytest.approx(share))
    assert (found.baseline, found.seconds) == (pytest.approx(0.02), pytest.approx(0.01))


def test_the_interval_is_that_of_both_errors() -> None:
    """By hand: the scatter of both sides' blocks, Welch's degrees of freedom, on the logarithm."""
    found = compared((make_baseline(1, *(0.019, 0.021) * 4),), {1: pace(0.009, 0.011, 0.009, 0.011)})
    ours, theirs = 0.1**2 / 3, 0.05**2 / 7
    degrees = (ours + theirs) ** 2 / (ours**2 / 3 + theirs**2 / 7)
    width = student95(degrees) * sqrt(ours + theirs)
    assert degrees == pytest.approx(3.66, abs=0.01)
    assert found.low == pytest.approx(exp(log(2.0) - width))
    assert found.high == pytest.approx(exp(log(2.0) + width))


def test_blocks_at_different_loads_are_compared_with_their_own_mean() -> None:
    """A busy block does not add scatter to a quiet one. But each load costs a degree of freedom."""
    found = compared(BASELINE, {1: pace(0.01, 0.01), 8: pace(0.02, 0.02)})
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))
    unknown = compared(BASELINE, {1: pace(0.01, requests=20), 8: pace(0.02)})
    assert (unknown.low, unknown.high) == (pytest.approx(0.002), pytest.approx(2000))


@pytest.mark.parametrize(("few", "many"), [((0.01,), (0.01, 0.01)), ((0.009, 0.011), (0.009, 0.011) * 4)])
def test_less_evidence_has_a_wider_interval(few: tuple[float, ...], many: tuple[float, ...]) -> None:
    """One block may be anything."""
    wide, narrow = compared(BASELINE, {1: pace(*few)}), compared(BASELINE, {1: pace(*many)})
    assert wide.high / wide.low > narrow.high / narrow.low


def test_a_baseline_that_varies_widens_the_interval_too() -> None:
    """Both sides are measured."""
    steady, varied = (
        compared((make_baseline(1, *each * 2),), {1: pace(0.01, 0.01)}) for each in ((0.02,) * 2, (0.0, 0.04))
    )
    assert (steady.low, steady.high) == (pytest.approx(2.0), pytest.approx(2.0))
    assert varied.low < 1.0
    assert varied.high > 4.0


TIMES = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=6)


@given(TIMES, TIMES, st.integers(10, 100))
def test_the_interval_holds_the_speedup_whatever_the_numbers(
    seconds: list[float], speed: list[float], requests: int
) -> None:
    """Finite, positive, in order: it is written to a status."""
    found: Any = compare((make_baseline(1, *speed * 4),), {1: pace(*seconds, requests=requests)})
    assert 0 < found.low <= found.speedup * (1 + 1e-9)
    assert found.speedup <= found.high * (1 + 1e-9) < float("inf")
