"""Draws the picture of a run with matplotlib, as SVG and PNG."""

import pathlib

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hack import drawing
from hack.demo.picture import Picture

_SPEED, _ACCEPTANCE, _MARK, _LEVEL = drawing.BLUE, drawing.GREEN, drawing.RED, drawing.GREY


def draw(picture: Picture, *files: pathlib.Path) -> None:
    """Draw the picture into files; their suffixes say in which format."""
    with drawing.style():
        figure = Figure(figsize=(9, 4.8))
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
        _acceptance(upper, picture)
        _speed(lower, picture)
        _marks(upper, lower, picture)
        _frame(figure, lower, picture)
        drawing.save(figure, *files)


def _acceptance(axes: Axes, picture: Picture) -> None:
    axes.plot(*zip(*picture.acceptance, strict=True), ".-", color=_ACCEPTANCE)
    axes.axhline(picture.minimum, color=_LEVEL, linestyle=":", linewidth=1)
    axes.text(picture.end, picture.minimum, f" guard: ≥ {picture.minimum:g}", color=_LEVEL, va="bottom", ha="right")
    axes.set(ylabel="accepted / drafted", ylim=(-0.05, 1.05))


def _speed(axes: Axes, picture: Picture) -> None:
    axes.plot(*zip(*picture.speeds, strict=True), color=_SPEED)
    levels = (("code", picture.plain_code, picture.begin, 0.0), ("drift", picture.plain_drift, 0.0, picture.end))
    for topic, level, begin, end in levels:
        axes.hlines(level, begin, end, color=_LEVEL, linestyle="--", linewidth=1)
        axes.text(begin, level, f" plain, on {topic}", color=_LEVEL, va="bottom")
    axes.set(ylabel="tokens/s", xlabel="seconds from the change of the traffic")
    axes.set_ylim(bottom=0)


def _marks(upper: Axes, lower: Axes, picture: Picture) -> None:
    for number, mark in enumerate(picture.marks):
        for axes in (upper, lower):
            axes.axvline(mark.at, color=_MARK, linewidth=1)
        # Neighbours may be seconds apart: every other label is a line higher.
        height = 2 + 12 * (number % 2)
        upper.annotate(
            f"{mark.words}, {mark.at:.1f} s" if mark.at else mark.words,
            (mark.at, 1.05),
            xytext=(3, height),
            textcoords="offset points",
            color=_MARK,
            annotation_clip=False,
        )


def _frame(figure: Figure, lower: Axes, picture: Picture) -> None:
    lower.set_xlim(picture.begin, picture.end)
    figure.text(0.99, 0.01, picture.caption, ha="right", fontsize=7, color=_LEVEL)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
