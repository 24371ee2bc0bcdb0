"""How panels look: lines, stripes and single numbers, in colours that people with any colour vision can tell apart."""

from typing import Any, Final

from hack.monitoring.expressions import one
from hack.monitoring.grafana import Panel, Query
from specdec_operator.guard.state import Phase

GOOD, WARN, BAD, CALM, BLUE = "#009E73", "#E69F00", "#D55E00", "#999999", "#0072B2"
_COLOURS: Final = {
    Phase.MEASURING_BASELINE: "#CC79A7",
    Phase.ROLLING_OUT: "#56B4E9",
    Phase.WARMING_UP: "#F0E442",
    Phase.WATCHING: GOOD,
    Phase.RESPONDING: WARN,
    Phase.ROLLED_BACK: BAD,
    Phase.STALLED: "#000000",
    Phase.SERVING: CALM,
}
PHASES: Final = {number: (phase.value, _COLOURS[phase]) for number, phase in enumerate(Phase, 1)}
LINES: Final[dict[str, Any]] = {"drawStyle": "line", "lineWidth": 2, "fillOpacity": 0, "showPoints": "never"}


def phase_number(labels: str) -> str:
    """The guard's phase as a number, 1 for the first: a stripe of time has values, and its words are mapped."""
    each = (f'{number} * (specdec_phase{{{labels},phase="{word}"}} == 1)' for number, (word, _) in PHASES.items())
    return "max by (namespace, name) (\n  " + "\n  or ".join(each) + "\n)"


def number(title: str, expr: str, about: str, *, bad: float | None = None, **more: Any) -> Panel:
    """One number, as it is now: what is no longer measured is not shown. bad: from which value on it is red."""
    steps = ((None, BLUE),) if bad is None else ((None, GOOD), (bad, BAD))
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "none",
        "textMode": "value",
    }
    size: dict[str, Any] = {"width": 4, "height": 4, "steps": steps, "options": options}
    return Panel(title=title, kind="stat", queries=(Query(expr=expr, instant=True),), about=about, **(size | more))


def lines(title: str, *queries: Query, about: str, **more: Any) -> Panel:
    """Lines over time."""
    options = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    known: dict[str, Any] = {"fields": LINES, "options": options}
    return Panel(title=title, kind="timeseries", queries=queries, about=about, **(known | more))


def stripes(title: str, *queries: Query, about: str, **more: Any) -> Panel:
    """What was the case when."""
    options = {
        "mergeValues": True,
        "showValue": "auto",
        "alignValue": "left",
        "rowHeight": 0.8,
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
    }
    return Panel(title=title, kind="state-timeline", queries=queries, about=about, options=options, **more)


def dashed(*names: str) -> tuple[dict[str, Any], ...]:
    """Overrides that draw thresholds and bounds as dashes."""
    style = [{"id": "custom.lineStyle", "value": {"dash": [8, 8], "fill": "dash"}}]
    return tuple({"matcher": {"id": "byName", "options": name}, "properties": style} for name in names)


def of(metric: str, labels: str, legend: str) -> Query:
    """One of the operator's numbers of each service."""
    return Query(expr=one(metric, labels), legend=legend)
