"""Panels and dashboards in Grafana's JSON, as Grafana 10 and later read it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]
DATASOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
_SCHEMA: Final = 39
_COLUMNS: Final = 24
_REFS: Final = "ABCDEFGHIJ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query. legend: how its series are called. instant: only the newest value is asked for."""

    expr: str
    legend: str = ""
    instant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. kind: Grafana's word. width: of 24 columns. unit: Grafana's word.

    steps: colours from a value on, the first from below. words: of values. fields: `defaults.custom` of its field
    configuration. overrides, options, transformations: as Grafana has them.
    """

    title: str
    kind: str
    queries: tuple[Query, ...]
    about: str = ""
    width: int = 12
    height: int = 8
    unit: str = "short"
    steps: tuple[tuple[float | None, str], ...] = ()
    words: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    fields: Json = field(default_factory=dict)
    overrides: tuple[Json, ...] = ()
    options: Json = field(default_factory=dict)
    transformations: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A heading, and the panels below it."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable that is filled from label values. many: whether several may be chosen; all of them are at first."""

    name: str
    label: str
    query: str
    many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A dashboard. rollbacks: the query of its annotations; `link`: the uid of the other one."""

    uid: str
    title: str
    about: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    rollbacks: str
    link: tuple[str, str]


def written(dashboard: Dashboard) -> Json:
    """The dashboard in Grafana's words. Equal dashboards give equal words: it has no date and no version."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.about,
        "tags": ["specdec"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_datasource(), *(_variable(each) for each in dashboard.variables)]},
        "annotations": {"list": [_annotation(dashboard.rollbacks)]},
        "links": [_link(*dashboard.link)],
        "panels": list(_panels(dashboard.rows)),
    }


def _panels(rows: tuple[Row, ...]) -> Iterator[Json]:
    """The panels from left to right; a row ends where the next one has no room."""
    number = y = 0
    for row in rows:
        number += 1
        place = {"h": 1, "w": _COLUMNS, "x": 0, "y": y}
        yield {"id": number, "type": "row", "title": row.title, "collapsed": False, "gridPos": place, "panels": []}
        x, y, high = 0, y + 1, 0
        for panel in row.panels:
            if x + panel.width > _COLUMNS:
                x, y, high = 0, y + high, 0
            number += 1
            place = {"h": panel.height, "w": panel.width, "x": x, "y": y}
            yield {"id": number, "gridPos": place} | _panel(panel)
            x, high = x + panel.width, max(high, panel.height)
        y += high


def _panel(panel: Panel) -> Json:
    defaults: Json = {"unit": panel.unit, "custom": panel.fields}
    if panel.steps:
        steps = [{"color": colour, "value": value} for value, colour in panel.steps]
        defaults |= {"thresholds": {"mode": "absolute", "steps": steps}, "color": {"mode": "thresholds"}}
    if panel.words:
        words = {str(value): {"text": text, "color": colour} for value, (text, colour) in panel.words.items()}
        defaults["mappings"] = [{"type": "value", "options": words}]
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": DATASOURCE,
        "targets": [_target(ref, each, panel) for ref, each in zip(_REFS, panel.queries, strict=False)],
        "fieldConfig": {"defaults": defaults, "overrides": list(panel.overrides)},
        "options": panel.options,
        "transformations": list(panel.transformations),
    }


def _target(ref: str, query: Query, panel: Panel) -> Json:
    return {
        "refId": ref,
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "instant": query.instant,
        "range": not query.instant,
        "format": "table" if panel.kind == "table" else "time_series",
    }


def _datasource() -> Json:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0}


def _variable(variable: Variable) -> Json:
    everything = {"includeAll": True, "multi": True, "current": {"text": ["All"], "value": ["$__all"]}}
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": variable.query,
        "query": {"query": variable.query, "refId": "StandardVariableQuery"},
        "refresh": 2,
        "sort": 1,
        "hide": 0,
    } | (everything if variable.many else {"includeAll": False, "multi": False})


def _annotation(expr: str) -> Json:
    return {
        "name": "Rollbacks",
        "enable": True,
        "iconColor": "red",
        "datasource": DATASOURCE,
        "expr": expr,
        "step": "15s",
        "titleFormat": "rolled back",
        "textFormat": "{{namespace}}/{{name}}",
    }


def _link(uid: str, title: str) -> Json:
    return {
        "type": "link",
        "title": title,
        "url": f"/d/{uid}",
        "icon": "dashboard",
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
    }
