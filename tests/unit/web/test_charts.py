"""The pictures: what is drawn is what was measured, and it stays inside its frame."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_operator.web.charts import SpeedupInterval, StateSpan, band, positions, speed

_NUMBER = re.compile(r' (?:x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]*)"')


def bars(svg: str) -> list[tuple[float, float, float]]:
    found = re.findall(r'<rect class="bar[^"]*" x="([^"]+)" y="[^"]+" width="([^"]+)" height="([^"]+)"', svg)
    return [(float(x), float(width), float(height)) for x, width, height in found]


def test_a_bar_is_as_tall_as_its_share() -> None:
    """Half the share is half the height; a share of nothing can still be seen."""
    (_, _, whole), (_, _, half), (_, _, none) = bars(positions([1.0, 0.5, 0.0], None, None))
    assert half == pytest.approx(whole / 2, abs=0.2)
    assert none == 1.0


@given(st.lists(st.floats(min_value=-1, max_value=2), min_size=1, max_size=128))
def test_many_positions_stay_beside_each_other_and_inside(shares: list[float]) -> None:
    """K may be 128, and a share that cannot be is drawn at the edge."""
    drawn = bars(positions(shares, 0.5, 0.4))
    assert len(drawn) == len(shares)
    for (x, wide, tall), following in zip(drawn, [*drawn[1:], None], strict=True):
        assert x >= 0
        assert x + wide <= 360
        assert 0 < tall <= 190
        assert following is None or x + wide <= following[0] + 0.11


@pytest.mark.parametrize(("mean", "wanted"), [(0.38, 0.40), (0.40, 0.38), (0.4, 0.4)])
def test_the_words_of_two_levels_stand_on_both_sides(mean: float, wanted: float) -> None:
    """The upper one above its line, the lower one below: levels next to each other stay readable."""
    svg = positions([0.7], mean, wanted)
    found = {kind: float(y) for kind, y in re.findall(r'<text class="tag (\w+)" x="[^"]+" y="([^"]+)"', svg)}
    assert abs(found["measured"] - found["wanted"]) >= 16


def test_the_interval_is_drawn_around_its_value() -> None:
    svg = speed(SpeedupInterval(speedup=1.34, low=1.2, high=1.48, wanted=1.1))
    (low, high), *_ = re.findall(r'<line class="whisker" x1="([^"]+)" y1="46" x2="([^"]+)" y2="46"', svg)
    (plain,) = re.findall(r'<line class="plain" x1="([^"]+)"', svg)
    (value,) = re.findall(r'<circle class="dot" cx="([^"]+)"', svg)
    assert float(plain) < float(low) < float(value) < float(high)
    assert "wanted 1.10" in svg


def test_an_interval_without_an_end_leaves_the_value_readable() -> None:
    """Few blocks of time give an interval up to hundreds: it runs out of the picture, and the scale stays."""
    svg = speed(SpeedupInterval(speedup=1.55, low=0.9, high=1615.0))
    (value,) = re.findall(r'<circle class="dot" cx="([^"]+)"', svg)
    (plain,) = re.findall(r'<line class="plain" x1="([^"]+)"', svg)
    assert float(value) - float(plain) > 50
    assert "to 1615.00" in svg


@given(st.floats(min_value=0, max_value=1e11), st.floats(min_value=0, max_value=1e11) | st.none())
def test_any_speedup_is_drawn_inside(value: float, wanted: float | None) -> None:
    """With a handful of marks, whatever the numbers are."""
    svg = speed(SpeedupInterval(speedup=value, low=value / 2, high=value * 1.5, wanted=wanted))
    assert all(-1 <= float(each) <= 361 for each in _NUMBER.findall(svg))
    assert svg.count('class="axis"') <= 10


def test_states_fill_the_band_and_none_is_too_short_to_be_seen() -> None:
    stretches = [StateSpan(label="a", tone="move", seconds=1), StateSpan(label="b", tone="good", seconds=604_800)]
    widths = [float(each) for each in re.findall(r'width="([^"]+)"', band(stretches))]
    assert sum(widths) == pytest.approx(360, abs=0.1)
    assert 20 < widths[0] < widths[1]
