"""How each kind of panel is drawn by the test page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any, Final

from matplotlib.axes import Axes

from hack.monitoring.ask import Series, Span

_COLOURS: Final = ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_FORMATS: Final[Mapping[str, Callable[[float], str]]] = {
    "percentunit": lambda value: f"{100 * value:.0f} %",
    "s": lambda value: f"{1000 * value:.0f} ms" if value < 1 else f"{value:.0f} s",
    "short": lambda value: f"{value:.4g}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A panel, its series by their names, the time that is shown, and when annotations are, in epoch seconds."""

    panel: Mapping[str, Any]
    found: tuple[tuple[str, Series], ...]
    span: Span
    marks: tuple[float, ...]

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The defaults of its fields; a row has none."""
        found: Mapping[str, Any] = self.panel["fieldConfig"]["defaults"]
        return found

    def word(self, value: float) -> tuple[str, str]:
        """A value as the panel words it, and its colour."""
        for mapping in self.defaults.get("mappings", ()):
            if said := mapping["options"].get(f"{value:.0f}"):
                return said["text"], said["color"]
        steps = self.defaults.get("thresholds", {}).get("steps", ())
        colours = [each["color"] for each in steps if each["value"] is None or value >= each["value"]]
        return _FORMATS[self.defaults["unit"]](value), (colours or [_COLOURS[0]])[-1]

    def is_dashed(self, name: str) -> bool:
        """Whether an override draws the series as a bound."""
        return any(each["matcher"]["options"] == name for each in self.panel["fieldConfig"]["overrides"])


def _bare(axes: Axes, title: str) -> None:
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def _row(axes: Axes, shown: Shown) -> None:
    _bare(axes, "")
    axes.text(-0.02, 0, shown.panel["title"], fontsize=9, weight="bold", color="#444444", va="bottom")


def _stat(axes: Axes, shown: Shown) -> None:
    _bare(axes, shown.panel["title"])
    text, colour = shown.word(shown.found[0][1].points[-1][1]) if shown.found else ("no data", "#999999")
    axes.text(0.5, 0.45, text, ha="center", va="center", fontsize=15, color=colour, weight="bold")


def _lines(axes: Axes, shown: Shown) -> None:
    axes.set_title(shown.panel["title"])
    for number, (name, series) in enumerate(shown.found):
        style = "--" if shown.is_dashed(name) else "-"
        colour = _COLOURS[number % len(_COLOURS)]
        axes.plot(*_broken(series, shown.span), style, color=colour, label=name, linewidth=1.4)
    for mark in shown.marks:
        axes.axvline(mark - shown.span.begin, color="#D55E00", linewidth=0.8, linestyle=":")
    axes.yaxis.set_major_formatter(lambda value, _: _FORMATS[shown.defaults["unit"]](value))
    axes.set_ylim(bottom=0, top=1.25 * max(axes.get_ylim()[1], 1e-9))
    axes.set_xlim(0, shown.span.end - shown.span.begin)
    if shown.found:
        axes.legend(loc="upper left", ncols=2)


def _broken(series: Series, span: Span) -> tuple[list[float], list[float]]:
    """Times since the beginning, and values; a gap where there is no value, as Grafana draws it."""
    known = {round((when - span.begin) / span.step): value for when, value in series.points}
    steps = range(round((span.end - span.begin) / span.step) + 1)
    return [each * span.step for each in steps], [known.get(each, nan) for each in steps]


def _stripes(axes: Axes, shown: Shown) -> None:
    """A stripe a series; a series that is not there for a while has a gap there."""
    axes.set_title(shown.panel["title"])
    names = list(dict.fromkeys(name for name, _ in shown.found))
    begin, step = shown.span.begin, shown.span.step
    for name, series in shown.found:
        row, told = names.index(name), ""
        for when, value in series.points:
            text, colour = shown.word(value)
            axes.broken_barh([(when - begin, step)], (row - 0.4, 0.5), color=colour)
            if text != told:
                axes.text(when - begin, row - 0.15, f" {text}", va="center", fontsize=6, rotation=20, color="#222222")
            told = text
        axes.text(0, row + 0.15, name, fontsize=6, va="bottom")
    axes.set_yticks([])
    axes.set_ylim(-0.6, max(1, len(names)) - 0.3)
    axes.set_xlim(0, shown.span.end - begin)


def _bars(axes: Axes, shown: Shown) -> None:
    axes.set_title(shown.panel["title"])
    names = [name for name, _ in shown.found]
    values = [series.points[-1][1] for _, series in shown.found]
    axes.barh(range(len(names)), values, color=_COLOURS[0])
    axes.set_yticks(range(len(names)), [name.removeprefix("position ") for name in names])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: _FORMATS[shown.defaults["unit"]](value))


def _table(axes: Axes, shown: Shown) -> None:
    """The queries are the columns, and the services the lines."""
    _bare(axes, shown.panel["title"])
    titles = list(shown.panel["transformations"][1]["options"]["renameByName"].values())
    cells: dict[str, list[str]] = {}
    letters = [target["refId"] for target in shown.panel["targets"]]
    for name, series in shown.found:
        service = "/".join(series.labels.get(label, "") for label in ("namespace", "name"))
        line = cells.setdefault(service, [""] * len(letters))
        line[letters.index(name)] = f"{series.points[-1][1]:.3g}"
    if cells:
        axes.table([[name, *line] for name, line in cells.items()], colLabels=["service", *titles], loc="upper center")


DRAWN: Final[Mapping[str, Callable[[Axes, Shown], None]]] = {
    "row": _row,
    "stat": _stat,
    "timeseries": _lines,
    "state-timeline": _stripes,
    "bargauge": _bars,
    "table": _table,
}
