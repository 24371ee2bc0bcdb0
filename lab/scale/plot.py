"""`python -m lab.scale.plot docs/scale/scale.json`: the benchmark's picture beside its numbers, as SVG and PNG."""

import argparse
import json
import math
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hack import drawing
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lab.scale.row import GOALS, Goal

_OURS, _SLOWEST, _LEVEL = drawing.BLUE, drawing.SKY, drawing.GREY
_PEERS: Final = ((drawing.RED, "s"), (drawing.PINK, "D"), (drawing.GREEN, "^"), (drawing.ORANGE, "v"))
_WHOLE: Final = 0.995
"""The share of its due reads from which on a peer counts as having made them all."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes. columns: of a row, added up; tail: a second line's column."""

    title: str
    columns: tuple[str, ...]
    tail: str = ""


PANELS: Final = (
    Panel(title="operator, CPU cores", columns=("cpu_cores",)),
    Panel(title="operator and API server, CPU cores", columns=("cpu_cores", "apiserver_cores")),
    Panel(title="operator, resident memory, MiB", columns=("rss_mb",)),
    Panel(title="change to InferenceService, s", columns=("change_p50_seconds",), tail="change_p95_seconds"),
    Panel(title="reading every pod once, s", columns=("sweep_seconds",)),
    Panel(title="killed, until all were reconciled, s", columns=("restart_seconds",)),
)


def total(row: Row, panel: Panel) -> float | None:
    """The panel's number of a row; None where the row does not have it."""
    return sum(row[each] for each in panel.columns) if set(panel.columns) <= row.keys() else None


def goal_of(panel: Panel) -> Goal | None:
    """The goal of what a panel shows; costs that are added up have none."""
    shown = {panel.tail} if panel.tail else set(panel.columns)
    return next((goal for goal in GOALS if {goal.column} == shown), None)


def name_of(peer: Row) -> str:
    """A peer's name in the legend, with the share of its due reads that it made unless it made all."""
    share = peer["made_per_second"] / peer["due_per_second"]
    return f"{peer['peer']}" if share >= _WHOLE else f"{peer['peer']} ({100 * share:.0f} % of due reads made)"


def draw(found: Mapping[str, Sequence[Row]], *files: pathlib.Path) -> None:
    """Draw the picture into files; their suffixes set the format."""
    rows, peers = sorted(found["rows"], key=lambda each: each["services"]), found.get("peers", ())
    with drawing.style():
        figure = Figure(figsize=(10, 6.4), layout="constrained")
        grid = figure.subplots(2, 3, sharex=True)
        for panel, axes in zip(PANELS, grid.flat, strict=True):
            _panel(axes, panel, rows, peers)
        for axes in grid[-1]:
            axes.set_xlabel("services")
        figure.legend(handles=_legend(peers), loc="outside lower center", ncols=3)
        drawing.save(figure, *files)


def _panel(axes: Axes, panel: Panel, rows: Sequence[Row], peers: Sequence[Row]) -> None:
    sizes = [each["services"] for each in rows]
    axes.set(xscale="log", yscale="log")
    if panel.tail:
        axes.plot(sizes, [each[panel.tail] for each in rows], "o--", color=_SLOWEST)
    ours = [math.nan if (value := total(each, panel)) is None else value for each in rows]
    axes.plot(sizes, ours, "o-", color=_OURS)
    for peer, (colour, mark) in zip(peers, _PEERS, strict=False):
        if (value := total(peer, panel)) is not None:
            axes.plot(peer["services"], value, mark, color=colour, zorder=3)
    if goal := goal_of(panel):
        axes.axhline(goal.most, color=_LEVEL, linestyle=":", linewidth=1)
        words = f"goal at {goal.services:,}: {goal.most:g}"
        axes.text(0.02, goal.most, words, transform=axes.get_yaxis_transform(), color=_LEVEL, va="bottom")
    axes.margins(y=0.12)  # room for the goal's label
    axes.set_title(panel.title, fontsize=9)
    axes.set_xticks(sizes, [f"{each:,}" for each in sizes])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for each in (axes.xaxis, axes.yaxis):
        each.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _legend(peers: Sequence[Row]) -> list[Line2D]:
    ours = [
        Line2D([], [], color=_OURS, marker="o", label="specdec-operator"),
        Line2D([], [], color=_SLOWEST, marker="o", linestyle="--", label="95 of 100 changes are faster"),
    ]
    return ours + [
        Line2D([], [], color=colour, marker=mark, linestyle="", label=name_of(peer))
        for peer, (colour, mark) in zip(peers, _PEERS, strict=False)
    ]


def main() -> None:
    """Reads the numbers and draws them into files of the same name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", type=pathlib.Path)
    numbers: pathlib.Path = parser.parse_args().numbers
    draw(json.loads(numbers.read_text()), *(numbers.with_suffix(each) for each in (".svg", ".png")))


if __name__ == "__main__":
    main()
