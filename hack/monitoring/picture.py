"""Draws a dashboard's JSON in its own grid from what a Prometheus server answers: a test page, not Grafana."""

import pathlib
from collections.abc import Mapping
from typing import Any, Final

import matplotlib
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from hack.monitoring.ask import Series, Span, at, filled, over
from hack.monitoring.drawn import DRAWN, Shown

_STYLE: Final[dict[Any, Any]] = {
    "font.size": 7,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 6,
}
_COLUMNS: Final = 24
_INCHES: Final = (0.62, 0.36)
"""Of one column and of one unit of height."""
_HEAD: Final = 0.5
"""Inches for the title."""
_NOTE: Final = "rendered by hack.monitoring, not by Grafana"


def draw(dashboard: Mapping[str, Any], url: str, span: Span, variables: Mapping[str, str], path: pathlib.Path) -> None:
    """Draw every panel into one PNG. variables: what the dashboard's own are set to."""
    panels = dashboard["panels"]
    rows = max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in panels)
    with matplotlib.rc_context(_STYLE):
        high = rows * _INCHES[1] + _HEAD
        figure = Figure(figsize=(_COLUMNS * _INCHES[0], high))
        grid = figure.add_gridspec(rows, _COLUMNS, left=0.01, right=0.99, bottom=0, top=1 - _HEAD / high, hspace=0)
        marks = _asked(dashboard["annotations"]["list"], url, span, variables)
        for panel in panels:
            found = _found(panel, url, span, variables)
            _panel(figure, grid, panel, Shown(panel=panel, found=found, span=span, marks=_times(marks)))
        figure.suptitle(
            f"{dashboard['title']} ({_NOTE})",
            x=0.01,
            ha="left",
            y=1 - 0.12 / high,
            va="top",
            fontsize=11,
            weight="bold",
        )
        figure.savefig(path, dpi=100, metadata={"Software": None})


def _panel(figure: Figure, grid: GridSpec, panel: Mapping[str, Any], shown: Shown) -> None:
    place = panel["gridPos"]
    x, y, width, height = (place[key] for key in ("x", "y", "w", "h"))
    inner = grid[y : y + height, x : x + width].subgridspec(1, 1)
    box = inner[0].get_position(figure)
    # A margin of its own, for its axes and its title.
    left, low = box.x0 + 0.028, box.y0 + 0.35 / figure.get_figheight()
    size = (max(0.01, box.width - 0.036), max(0.002, box.height - 0.62 / figure.get_figheight()))
    axes = figure.add_axes((left, low, *size))
    DRAWN[panel["type"]](axes, shown)


def _found(
    panel: Mapping[str, Any], url: str, span: Span, variables: Mapping[str, str]
) -> tuple[tuple[str, Series], ...]:
    """Each series with what the legend calls it."""
    return tuple(
        (_named(target, series.labels), series)
        for target in panel.get("targets", ())
        for series in _told(target, url, span, variables)
    )


def _told(target: Mapping[str, Any], url: str, span: Span, variables: Mapping[str, str]) -> tuple[Series, ...]:
    expr = filled(target["expr"], variables)
    return at(url, expr, span.end) if target["instant"] else over(url, expr, span)


def _named(target: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """The legend with its labels filled in; the query's own letter where there is none."""
    legend: str = target["legendFormat"]
    for label, value in labels.items():
        legend = legend.replace(f"{{{{{label}}}}}", value)
    return target["refId"] if legend == "__auto" else legend


def _asked(
    annotations: list[Mapping[str, Any]], url: str, span: Span, variables: Mapping[str, str]
) -> tuple[Series, ...]:
    return tuple(each for note in annotations for each in over(url, filled(note["expr"], variables), span))


def _times(marks: tuple[Series, ...]) -> tuple[float, ...]:
    return tuple(when for each in marks for when, _ in each.points)
