"""Ratios of sums over blocks of time and their errors, and the bounds under which chance cannot explain a share."""

from math import inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_operator.guard.statistics import RatioSums, student95, wilson_upper

BLOCKS = st.lists(st.tuples(st.floats(0, 1e4), st.floats(0.1, 1e4)), min_size=2, max_size=30)


def of(blocks: list[tuple[float, float]]) -> RatioSums:
    """The sums over blocks of (numerator, denominator)."""
    moments = RatioSums()
    for total, part in blocks:
        moments = moments.plus(total, part)
    return moments


def even(blocks: list[tuple[float, float]]) -> float:
    """The number of blocks of one size with the same information: Kish's effective sample size."""
    return sum(part for _, part in blocks) ** 2 / sum(part * part for _, part in blocks)


def directly(blocks: list[tuple[float, float]]) -> float:
    """The linearised standard error, from the residuals about the mean, with the effective number of blocks."""
    n, of_all = even(blocks), sum(part for _, part in blocks)
    mean = sum(total for total, _ in blocks) / of_all
    return sqrt(sum((total - mean * part) ** 2 for total, part in blocks) * n / (n - 1)) / of_all


@given(BLOCKS)
def test_the_error_is_that_of_the_residuals(blocks: list[tuple[float, float]]) -> None:
    """The sums need no list of blocks, and have the same result."""
    largest = max(total for total, _ in blocks) + max(part for _, part in blocks)
    assert of(blocks).error == pytest.approx(directly(blocks), rel=1e-3, abs=1e-3 * largest)


@pytest.mark.parametrize(
    ("blocks", "mean", "error"),
    [
        ([], None, None),
        ([(3, 0)], None, None),
        ([(3, 10)], 0.3, None),
        ([(3, 10), (0, 0)], 0.3, None),
        ([(3, 10), (6, 20), (9, 30)], 0.3, 0.0),
        ([(2, 10), (4, 10)], 0.3, 0.1),
        ([(0, 100), (100, 100)], 0.5, 0.5),
    ],
)
def test_blocks_that_differ_are_known_worse(
    blocks: list[tuple[float, float]], mean: float | None, error: float | None
) -> None:
    """One block has no scatter; equal ones have none either, however unequal in size; opposite ones have all of it."""
    assert of(blocks).mean == (None if mean is None else pytest.approx(mean))
    assert of(blocks).error == (None if error is None else pytest.approx(error))


@given(BLOCKS, BLOCKS)
def test_windows_of_blocks_add_up(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> None:
    """Two windows in a row are one long window; what was seen first makes no difference."""
    merged, whole = of(one).merged(of(other)), of(one + other)
    assert merged.blocks == whole.blocks
    assert merged.mean == pytest.approx(whole.mean)
    largest = max(total + part for total, part in one + other)
    assert merged.error == pytest.approx(whole.error, rel=1e-6, abs=1e-6 * largest)


@pytest.mark.parametrize(
    ("degrees", "quantile", "within"),
    [
        (0, inf, 0),
        (1, 12.706, 1e-3),
        (2, 4.303, 1e-3),
        (3, 3.182, 0.01),
        (4, 2.776, 0.01),
        (5, 2.571, 0.01),
        (7, 2.365, 0.001),
        (10, 2.228, 0.001),
        (15, 2.131, 0.001),
        (30, 2.042, 0.001),
        (120, 1.980, 0.001),
        (10**6, 1.960, 0.001),
    ],
)
def test_the_quantile_is_the_tables(degrees: int, quantile: float, within: float) -> None:
    """Published to three places; `within` is the share by which ours may differ."""
    assert student95(degrees) == pytest.approx(quantile, rel=within or 0)


def test_one_large_block_among_small_ones_adds_little() -> None:
    """Eight blocks of which one has nearly all tokens are not eight independent blocks."""
    small = [(float(each % 2), 1.0) for each in range(7)]
    assert (of([*small, (500, 1000)]).half_width() or 0) > 3 * (of([*small, (0, 1)]).error or 0) / 1000
    assert of([*small, (500, 1000)]).even == pytest.approx(1.014, abs=1e-3)
    assert of([(1, 10), (2, 10), (3, 10)]).even == pytest.approx(3)


def test_fewer_blocks_have_a_wider_quantile() -> None:
    """Little evidence never looks like more."""
    quantiles = [student95(degrees / 4) for degrees in range(4, 800)]
    assert quantiles == sorted(quantiles, reverse=True)
    assert quantiles[-1] > 1.96


def test_the_interval_is_the_quantile_of_its_blocks_times_the_error() -> None:
    """n blocks leave n - 1 degrees of freedom; one block leaves none."""
    assert of([(2, 10), (4, 10)]).half_width() == pytest.approx(12.706 * 0.1, rel=1e-3)
    assert of([(2, 10), (4, 10), (2, 10), (4, 10)]).half_width() == pytest.approx(3.182 * sqrt(1 / 300), rel=0.01)
    assert of([(2, 10), (4, 10)]).half_width(4.0) == pytest.approx(2 * 12.706 * 0.1, rel=1e-3)
    assert of([(2, 10)]).half_width() is None
    assert RatioSums().half_width() is None


@given(BLOCKS, st.integers(1, 30))
def test_what_fades_keeps_its_mean_and_weighs_less(blocks: list[tuple[float, float]], kept: int) -> None:
    """Fewer blocks of the same kind: the same scatter from one to the next."""
    whole, faded = of(blocks), of(blocks).faded(kept)
    assert faded.blocks == kept
    assert faded.mean == pytest.approx(whole.mean)
    largest = max(total + part for total, part in blocks)
    assert faded.scatter / kept == pytest.approx(whole.scatter / whole.blocks, rel=1e-6, abs=1e-6 * largest**2)


SHARES = st.floats(0, 1)
SAMPLES = st.floats(1, 1e9)


@pytest.mark.parametrize(
    ("share", "samples", "bound"),
    [(0.0, 10, 0.2775), (0.5, 10, 0.7634), (1.0, 10, 1.0), (0.25, 100, 0.3430), (0.1, 1000, 0.1202)],
)
def test_it_is_the_published_interval(share: float, samples: float, bound: float) -> None:
    """Values of the closed form, rounded to four places."""
    assert wilson_upper(share, samples) == pytest.approx(bound, abs=5e-5)


@pytest.mark.parametrize("samples", [0, -1])
def test_no_samples_bound_nothing(samples: float) -> None:
    """Every share is possible when nothing was seen."""
    assert wilson_upper(0.0, samples) == 1.0


@given(SHARES, SAMPLES)
def test_the_bound_lies_between_the_share_and_one(share: float, samples: float) -> None:
    """An upper bound below what was seen would condemn on luck."""
    assert share - 1e-12 <= wilson_upper(share, samples) <= 1.0


@given(SHARES, SAMPLES, st.floats(1, 1e6))
def test_more_samples_never_widen_it(share: float, samples: float, more: float) -> None:
    """The same share, seen more often, is known at least as well."""
    assert wilson_upper(share, samples + more) <= wilson_upper(share, samples) + 1e-12


@given(SHARES, SHARES, SAMPLES)
def test_a_higher_share_has_a_higher_bound(one: float, other: float, samples: float) -> None:
    """A draft that is accepted more is never judged worse."""
    low, high = sorted((one, other))
    assert wilson_upper(low, samples) <= wilson_upper(high, samples) + 1e-12
