"""The dashboards as Grafana reads them: each queried metric exists, and panels do not overlap."""

import re
from itertools import combinations
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tests.monitoring_files import ALERTS, DASHBOARDS, RECORDED, targets, variables_of

from specdec_operator import metrics
from specdec_operator.guard.baseline_pods import BOUND
from specdec_operator.guard.state import Phase
from specdec_operator.report import service_metrics

each_dashboard = pytest.mark.parametrize("name", sorted(DASHBOARDS))
ENGINE = {
    "vllm:generation_tokens_total",
    "vllm:num_requests_running",
    "vllm:request_time_per_output_token_seconds_sum",
    "vllm:request_time_per_output_token_seconds_count",
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
}
"""What docs/monitoring.md asks a server to keep."""
OF_GRAFANA = {"__rate_interval", "__interval"}
"""Variables that Grafana fills in itself."""
KINDS = {"row", "stat", "table", "timeseries", "state-timeline", "bargauge"}
UNITS = {"short", "percentunit", "s"}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def operators() -> set[str]:
    assert metrics is not service_metrics, "both have to be imported to register theirs"
    names = {family.name: family.type for family in REGISTRY.collect() if family.name.startswith("specdec_")}
    ends = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
    return {name + end for name, kind in names.items() for end in ends[kind]}


def asked_for(expr: str) -> set[str]:
    return set(re.findall(r"\b(?:specdec_|vllm:)\w+", expr))


def panels_of(name: str) -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARDS[name]["panels"] if panel["type"] != "row"]


def placed(panel: dict[str, Any]) -> tuple[range, range]:
    place = panel["gridPos"]
    return range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])


def overlap(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)


@each_dashboard
def test_panels_have_room_and_numbers_of_their_own(name: str) -> None:
    """Inside the 24 columns, none over another, no number twice."""
    panels = DASHBOARDS[name]["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {panel["type"] for panel in panels} <= KINDS
    for panel in panels:
        assert placed(panel)[0].stop <= 24, panel["title"]
    for one, other in combinations(panels, 2):
        (left, top), (right, below) = placed(one), placed(other)
        assert not (overlap(left, right) and overlap(top, below)), (one["title"], other["title"])


@each_dashboard
def test_a_panel_describes_what_it_shows(name: str) -> None:
    """A title, a description, a unit, and queries of the panel's kind. Each query has its letter."""
    for panel in DASHBOARDS[name]["panels"]:
        assert panel["title"].strip()
    for panel in panels_of(name):
        assert panel["description"].strip(), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        letters = [target["refId"] for target in panel["targets"]]
        assert letters, panel["title"]
        assert len(set(letters)) == len(letters), panel["title"]
        for target in panel["targets"]:
            assert target["format"] == ("table" if panel["type"] == "table" else "time_series"), panel["title"]
            assert target["instant"] is not target["range"], panel["title"]


@each_dashboard
def test_an_override_matches_an_existing_series(name: str) -> None:
    """A threshold with a changed name would lose its dashes without an error."""
    for panel in panels_of(name):
        names = {target["legendFormat"] for target in panel["targets"]}
        assert {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]} <= names, panel["title"]


@each_dashboard
def test_a_query_asks_for_metrics_that_are_served(name: str) -> None:
    """The operator's, by its own registry, and those of the engine that a server is asked to keep."""
    known = operators() | ENGINE
    for title, expr in targets(DASHBOARDS[name]):
        assert asked_for(expr) <= known, f"{title}: {asked_for(expr) - known}"


def test_a_rule_asks_for_metrics_that_are_served() -> None:
    """The same of alerts and recording rules, and each asks for something."""
    known = operators() | ENGINE
    for name, rule in (ALERTS | RECORDED).items():
        assert asked_for(rule["expr"]), name
        assert asked_for(rule["expr"]) <= known, f"{name}: {asked_for(rule['expr']) - known}"


@each_dashboard
def test_a_query_uses_variables_that_are_there(name: str) -> None:
    """Those of the dashboard, and Grafana's own; a variable's query too."""
    variables = DASHBOARDS[name]["templating"]["list"]
    there = {each["name"] for each in variables} | OF_GRAFANA
    asked = [expr for _, expr in targets(DASHBOARDS[name])]
    asked += [each["query"]["query"] for each in variables if each["type"] == "query"]
    for expr in asked:
        assert variables_of(expr) <= there, expr


@each_dashboard
def test_the_data_source_is_a_variable(name: str) -> None:
    """A dashboard that names one is of no use elsewhere."""
    first, *others = DASHBOARDS[name]["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    sources = [each["datasource"] for each in others]
    sources += [panel["datasource"] for panel in panels_of(name)]
    sources += [target["datasource"] for panel in panels_of(name) for target in panel["targets"]]
    sources += [each["datasource"] for each in DASHBOARDS[name]["annotations"]["list"]]
    assert all(each == SOURCE for each in sources)


def test_the_dashboards_link_to_each_other() -> None:
    uids = {each["uid"] for each in DASHBOARDS.values()}
    assert {each["links"][0]["url"].removeprefix("/d/") for each in DASHBOARDS.values()} == uids
    assert len(uids) == len(DASHBOARDS)


@each_dashboard
def test_every_state_has_a_name_and_a_colour(name: str) -> None:
    """A new state would be a bare number in the stripe, or missing."""
    panels = [panel for panel in panels_of(name) if panel["title"] == "State"]
    assert panels
    wanted = {str(number): phase.value for number, phase in enumerate(Phase, 1)}
    for panel in panels:
        (mapping,), (target,) = panel["fieldConfig"]["defaults"]["mappings"], panel["targets"]
        assert {number: said["text"] for number, said in mapping["options"].items()} == wanted
        assert len({said["color"] for said in mapping["options"].values()}) == len(Phase)
        counted = re.findall(r'(\d+) \* \(specdec_phase\{[^}]*phase="(\w+)"\} == 1\)', target["expr"])
        assert dict(counted) == wanted


def test_the_bounds_that_are_drawn_are_those_of_the_alert_and_of_the_guard() -> None:
    """SpecdecAcceptanceLow fires below one; the evidence of both arms ends speculation at the other."""
    lines = {each["legendFormat"]: each["expr"] for panel in panels_of("service") for each in panel["targets"]}
    assert (drawn := re.fullmatch(r"vector\((.*)\)", lines["alert threshold"]))
    assert f"(specdec_acceptance_rate) < {drawn[1]}\n" in ALERTS["SpecdecAcceptanceLow"]["expr"]
    assert lines["limit"] == f"vector({BOUND:g})"
