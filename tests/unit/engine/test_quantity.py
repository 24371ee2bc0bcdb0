"""Durations as Kubernetes writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_engine.quantity import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15s", 15), ("2m", 120), ("1h30m", 5400), ("250ms", 0.25), ("1.5h", 5400), ("1m1s1ms", 61.001), ("0s", 0)],
)
def test_a_duration_is_a_number_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "15", "s", "15 s", "-1s", "1d", "15s\n", "1s2", 15, None, True, [], "1..5s"])
def test_anything_else_is_refused_with_an_example(text: object) -> None:
    """A number alone could mean seconds or minutes."""
    with pytest.raises(ValueError, match="write a number with its unit, such as 15s"):
        parse_duration(text)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (59.6, "1m"), (90, "1m30s"), (3600, "1h"), (3661, "1h1m1s")])
def test_the_shortest_text_is_written(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(0, 10**7))
def test_what_is_written_is_read_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
