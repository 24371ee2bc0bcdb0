"""Medians, quartiles, and intervals of ratios that promise no more than so few repeats can."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_command.measure.statistics import Ratio, quantile, ratio, spread

FINITE = st.floats(min_value=0.01, max_value=100)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([3.0], (3, 3, 3)), ([1.0, 3.0], (1.5, 2, 2.5)), ([5.0, 1.0, 4.0, 2.0, 3.0], (2, 3, 4))],
)
def test_quartiles_lie_between_values(values: list[float], wanted: tuple[float, float, float]) -> None:
    """By straight line between the two nearest, whatever the order."""
    found = spread(values)
    assert (found.low, found.median, found.high) == wanted


def test_no_values_have_no_quantile() -> None:
    """Zero would be a lie."""
    with pytest.raises(ValueError, match="needs at least one value"):
        quantile([], 0.5)


@pytest.mark.parametrize(
    ("count", "cut", "confidence"),
    [(2, 1, 0.5), (5, 1, 0.9375), (6, 1, 0.96875), (8, 1, 0.9921875), (9, 2, 0.9609375), (20, 6, 0.9586)],
)
def test_an_interval_is_as_narrow_as_its_confidence_allows(count: int, cut: int, confidence: float) -> None:
    """The k-th smallest to the k-th largest of n, by the binomial. Five repeats cannot
    reach 95 %: the confidence is 94 %.
    """
    found = ratio([float(value) for value in range(1, count + 1)])
    assert (found.low, found.high) == (cut, count + 1 - cut)
    assert found.confidence == pytest.approx(confidence, abs=1e-4)


def test_one_ratio_shows_nothing() -> None:
    """Its interval has no width, and no confidence either."""
    assert ratio([2.0]) == Ratio(median=2, low=2, high=2, confidence=0)


@pytest.mark.parametrize(
    ("values", "resolved"),
    [
        ([1.1, 1.2, 1.3, 1.2, 1.1], True),
        ([0.9, 0.8, 0.7, 0.8, 0.9], True),
        ([1.1, 1.2, 0.99, 1.2, 1.1], False),
        ([1.0, 1.2, 1.3, 1.2, 1.1], False),
    ],
)
def test_a_difference_is_resolved_when_one_is_outside(values: list[float], resolved: bool) -> None:
    """One repeat of five on the other side is enough to leave it open."""
    assert ratio(values).resolved is resolved


def test_equal_sides_are_seldom_called_different() -> None:
    """With no difference at all, five repeats are called resolved in about 6 of 100 measurements, as promised."""
    chance = random.Random(6)  # noqa: S311 - chance, no secret
    runs = [ratio([chance.lognormvariate(0, 0.3) for _ in range(5)]).resolved for _ in range(4000)]
    assert sum(runs) / len(runs) == pytest.approx(0.0625, abs=0.012)


@given(st.lists(FINITE, min_size=1, max_size=40))
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    found, around = ratio(values), spread(values)
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
    assert around.low <= around.median <= around.high
