"""Draws the figures with matplotlib, as SVG and PNG."""

import pathlib
from collections.abc import Callable, Sequence
from typing import Final, Literal

from hack import drawing
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lab.guard import figures
from lab.guard.rules import BY_DRAFTS, BY_TOKENS, GUARD, RULES
from lab.guard.traffic import KINDS

_COLOURS: Final = (drawing.BLUE, drawing.GREEN, drawing.RED, drawing.PINK)
_OF_RULE: Final = {
    GUARD: ("the guard", _COLOURS[0], "-"),
    BY_DRAFTS: ("bound of drafts", _COLOURS[1], "--"),
    BY_TOKENS: ("bound of tokens", _COLOURS[2], ":"),
}
_LINES: Final[tuple[Literal[":", "-.", "--", "-"], ...]] = (":", "-.", "--", "-")
_LAST: Final = 11.0
"""Windows after an onset that are drawn."""
PICTURES: Final = ("curve", "volume", "delays")


def draw(found: figures.GuardFigures, folder: pathlib.Path) -> None:
    """Draw every picture into a folder, as NAME.svg and NAME.png."""
    with drawing.style():
        for name, drawn in zip(PICTURES, (_curve, _volume, _delays), strict=True):
            figure = drawn(found)
            drawing.save(figure, folder / f"{name}.svg", folder / f"{name}.png")


def _curve(found: figures.GuardFigures) -> Figure:
    figure = Figure(figsize=(9, 5.4), layout="constrained")
    rows = figure.subplots(2, len(KINDS), sharex=True, sharey=True)
    spans: tuple[tuple[str, Callable[[figures.Point], dict[str, float]]], ...] = (
        (f"lost within {figures.LIMIT} windows", lambda each: each.within_limit),
        (f"lost within {figures.CURVE_WINDOWS} windows", lambda each: each.within_ten),
    )
    for row, (label, share) in zip(rows, spans, strict=True):
        row[0].set(ylabel=label)
        for axes, kind in zip(row, KINDS, strict=True):
            points = [each for each in found.curve if each.kind == kind.name]
            axes.axvline(0, color=drawing.GREY, linewidth=1, linestyle=":")
            for rule in reversed(RULES):
                words, colour, line = _OF_RULE[rule]
                shares = [share(each)[rule] for each in points]
                axes.plot([100 * each.offset for each in points], shares, line, color=colour, label=words, marker=".")
    for axes, kind in zip(rows[0], KINDS, strict=True):
        axes.set_title(f"{kind.name} traffic")
    for axes in rows[1]:
        axes.set(xlabel="true acceptance - threshold, points")
    rows[0][-1].legend(title=f"{figures.CURVE_VOLUME} requests a window")
    return figure


def _volume(found: figures.GuardFigures) -> Figure:
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for kind, colour in zip(KINDS, _COLOURS, strict=False):
        for rule, line in ((GUARD, "-"), (BY_DRAFTS, "--")):
            alarms = [(each.volume, 100 * each.a_window[rule]) for each in found.alarms if each.kind == kind.name]
            caught = [(each.volume, 100 * each.within_limit[rule]) for each in found.catches if each.kind == kind.name]
            words = {"label": kind.name} if rule == GUARD else {}
            left.plot(*zip(*alarms, strict=True), line, color=colour, marker=".", **words)
            right.plot(*zip(*caught, strict=True), line, color=colour, marker=".", **words)
    _level(left, 100 * figures.MOST_ALARMS, f"{100 * figures.MOST_ALARMS:g} %")
    _level(right, 100 * figures.LEAST_CAUGHT, f"{100 * figures.LEAST_CAUGHT:g} %")
    left.set(title=f"{100 * figures.ABOVE:g} points above the threshold", ylabel="rollbacks, % of windows")
    left.set_yscale("symlog", linthresh=0.01)
    left.set_ylim(bottom=0)
    right.set(title=f"{-100 * figures.BELOW:g} points below it", ylabel=f"caught within {figures.LIMIT} windows, %")
    right.legend(title="traffic (dashed: bound of drafts)")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(figures.VOLUMES, [f"{each}" for each in figures.VOLUMES])
        axes.minorticks_off()
        axes.set(xlabel="requests a window")
    return figure


def _level(axes: Axes, at: float, words: str) -> None:
    axes.axhline(at, color=drawing.GREY, linestyle=":", linewidth=1)
    axes.annotate(words, (1, at), xycoords=("axes fraction", "data"), color=drawing.GREY, va="bottom", ha="right")


def _delays(found: figures.GuardFigures) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, delays in zip(panels, (found.acceptance_delays, found.speed_delays), strict=True):
        _steps(axes, delays)
        axes.axvline(figures.LIMIT + 1, color=drawing.GREY, linestyle=":", linewidth=1)
        axes.set(xlabel="windows from the onset to the decision", ylim=(-0.02, 1.02), xlim=(0, _LAST))
    panels[0].set(title="acceptance drifts", ylabel="share of services")
    panels[1].set_title("speculation becomes slow")
    return figure


def _steps(axes: Axes, delays: Sequence[figures.Delay]) -> None:
    """A colour for what it drifts to, a line for the volume; the legend of both is below the panel."""
    colours = dict(zip(dict.fromkeys(each.name for each in delays), _COLOURS, strict=False))
    volumes = sorted({each.volume for each in delays})
    lines = dict(zip(volumes, _LINES[-len(volumes) :], strict=True))
    for each in delays:
        shares = [(place + 1) / each.of for place in range(len(each.windows))]
        steps = [0.0, *each.windows, _LAST], [0.0, *shares, shares[-1] if shares else 0.0]
        axes.step(*steps, where="post", color=colours[each.name], linestyle=lines[each.volume], linewidth=1)
    keys = [Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    keys += [
        Line2D([], [], color=drawing.GREY, linestyle=line, label=f"{each:g} requests") for each, line in lines.items()
    ]
    axes.legend(handles=keys, fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
