"""The confidence bound under which chance cannot explain a low acceptance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_operator.guard.statistics import wilson_upper

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
