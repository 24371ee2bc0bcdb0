"""The numbers of a service as inline SVG: colours by class, so that the style sheet decides for light and dark. Pure.

Each picture has a text with what it shows, for those who do not see it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from specdec_operator.web.html import Html, el

_WIDTH: Final = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 8, 16, 24
_HEIGHT: Final = 190
_MOST_LABELS: Final = 12
_FARTHEST: Final = 2.0
"""An interval that reaches further than so many times the other numbers runs out of the picture."""
_WORDS: Final = 64
"""Room at the right for the names of levels."""
_SIDE: Final = 20
"""Room at both ends of a scale for the words under them."""
_SHORTEST: Final = 60.0
"""Seconds at which a turn of the guard is drawn twice as wide as one that was over at once."""


def positions(shares: Sequence[float], mean: float | None, wanted: float | None) -> Html:
    """A bar for each position of the draft: the share of drafts whose token there was accepted.

    mean: accepted / drafted tokens over all positions. wanted: its threshold.
    """
    text = ", ".join(f"position {index}: {share:.2f}" for index, share in enumerate(shares, start=1))
    lower = mean is not None and wanted is not None and mean < wanted
    levels = (
        None if wanted is None else _level(wanted, "wanted", "wanted", below=mean is not None and not lower),
        None if mean is None else _level(mean, "measured", "mean", below=lower),
    )
    return _picture(f"Acceptance by position. {text}", _HEIGHT, *_grid(), *_bars(shares), *levels, *_values(shares))


def _y(share: float) -> float:
    return round(_TOP + (1 - min(1.0, max(0.0, share))) * (_HEIGHT - _TOP - _BOTTOM), 1)


def _grid() -> Iterator[Html]:
    for share in (0.0, 0.5, 1.0):
        yield _line(_LEFT, _y(share), _WIDTH - _RIGHT, _y(share), "grid")
        yield _text(_LEFT - 6, _y(share) + 4, f"{share:.1f}", "axis", "end")


def _step(shares: Sequence[float]) -> float:
    return (_WIDTH - _LEFT - _RIGHT - _WORDS) / max(1, len(shares))


def _bars(shares: Sequence[float]) -> Iterator[Html]:
    step, every = _step(shares), math.ceil(len(shares) / _MOST_LABELS)
    wide = min(44.0, step * 0.72)
    for index, share in enumerate(shares):
        middle, tall = _LEFT + step * (index + 0.5), round(max(1.0, _y(0) - _y(share)), 1)
        left, top = round(middle - wide / 2, 1), round(_y(0) - tall, 1)
        yield el("rect", class_="bar", x=left, y=top, width=round(wide, 1), height=tall, rx=2)
        if index % every == 0:
            yield _text(middle, _HEIGHT - 8, str(index + 1), "axis", "middle")


def _values(shares: Sequence[float]) -> Iterator[Html]:
    """The numbers over the bars, drawn last, so that no line crosses them out; none where they would touch."""
    if len(shares) <= _MOST_LABELS:
        for index, share in enumerate(shares):
            yield _text(_LEFT + _step(shares) * (index + 0.5), _y(share) - 4, f"{share:.2f}", "value", "middle")


def _level(share: float, kind: str, word: str, *, below: bool = False) -> Html:
    """A level over all positions, with its label at the right."""
    y, end = _y(share), _WIDTH - _RIGHT
    words = _text(end, y + (13 if below else -5), f"{word} {share:.2f}", f"tag {kind}", "end")
    return el("g", _line(_LEFT, y, end, y, f"level {kind}"), words)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedupInterval:
    """Baseline time per output token / this one. low, high: its 95 % interval. wanted: its threshold."""

    speedup: float
    low: float | None = None
    high: float | None = None
    wanted: float | None = None


def speed(measured: SpeedupInterval) -> Html:
    """The speedup on a scale on which 1 is the baseline."""
    shown = [each for each in (measured.speedup, measured.wanted, 1.0) if each is not None]
    ends = [min(each, _FARTHEST * max(shown)) for each in (measured.low, measured.high) if each is not None]
    scale = _Scale(low=max(0.0, min(*shown, *ends) - 0.25), high=max(*shown, *ends) + 0.25)
    low, high = measured.low, measured.high
    between = f", 95 % interval {low:.2f} to {high:.2f}" if low is not None and high is not None else ""
    return _picture(
        f"Speed compared with the baseline: {measured.speedup:.2f} times{between}",
        96,
        *_ticks(scale),
        _line(scale.x(1.0), 18, scale.x(1.0), 66, "plain"),
        _text(scale.x(1.0), 12, "plain", "tag plain", "middle"),
        _limit(scale, measured.wanted),
        *_interval(scale, measured),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    low: float
    high: float

    def x(self, value: float) -> float:
        return round(_SIDE + (value - self.low) / (self.high - self.low) * (_WIDTH - 2 * _SIDE), 1)


def _ticks(scale: _Scale) -> Iterator[Html]:
    step = next(
        each for each in (0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 1e3, 1e6, 1e12) if (scale.high - scale.low) / each <= 8
    )
    yield _line(_SIDE, 66, _WIDTH - _SIDE, 66, "grid")
    for count in range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1):
        x = scale.x(count * step)
        yield _line(x, 66, x, 70, "grid")
        yield _text(x, 84, f"{count * step:.2f}".rstrip("0").rstrip("."), "axis", "middle")


def _limit(scale: _Scale, wanted: float | None) -> Html | None:
    if wanted is None or wanted == 1.0:
        return None
    x = scale.x(wanted)
    return el("g", _line(x, 18, x, 66, "level wanted"), _text(x, 12, f"wanted {wanted:.2f}", "tag wanted", "middle"))


def _interval(scale: _Scale, measured: SpeedupInterval) -> Iterator[Html]:
    x = scale.x(measured.speedup)
    if measured.low is not None and measured.high is not None:
        low, high = (scale.x(min(each, scale.high)) for each in (measured.low, measured.high))
        yield _line(low, 46, high, 46, "whisker")
        yield from (_line(end, 40, end, 52, "whisker") for end in (low, high))
    yield el("circle", class_="dot", cx=x, cy=46, r=5)
    yield _text(x, 34, f"{measured.speedup:.2f}\u00d7", "value", "middle")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpan:
    """A time that the guard spent in one state. label: its name. tone: class of its colour. seconds: how long."""

    label: str
    tone: str
    seconds: float


def band(stretches: Sequence[StateSpan]) -> Html:
    """States after each other, the oldest at the left; widths grow with the logarithm of the time."""
    widths = [1 + math.log2(1 + max(0.0, each.seconds) / _SHORTEST) for each in stretches]
    whole, x, drawn = sum(widths), 0.0, []
    for each, width in zip(stretches, widths, strict=True):
        wide = width / whole * _WIDTH
        title = el("title", each.label)
        drawn.append(el("rect", title, class_=f"band {each.tone}", x=round(x, 2), y=0, width=round(wide, 2), height=14))
        x += wide
    label = f"States of the guard, oldest first. {'; '.join(each.label for each in stretches)}"
    return _picture(label, 14, *drawn, class_="chart flat", preserveAspectRatio="none")


def _picture(label: str, tall: int, *drawn: Html | None, class_: str = "chart", **more: str) -> Html:
    return el("svg", *drawn, class_=class_, role="img", aria_label=label, viewBox=f"0 0 {_WIDTH} {tall}", **more)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return el("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> Html:
    return el("text", text, class_=kind, x=round(x, 1), y=round(y, 1), text_anchor=anchor)
