"""The dashboards as Grafana will read them: what is asked for exists, and panels do not lie on each other."""

import re
from itertools import combinations
from typing import Any

import pytest
from hack.monitoring.ask import filled, targets
from hack.monitoring.files import DASHBOARDS
from hack.monitoring.grafana import written
from hack.monitoring.looks import PHASES
from prometheus_client import REGISTRY

from specdec_operator import metrics, sis_metrics
from specdec_operator.guard.state import Phase

JSON = {name: written(dashboard) for name, dashboard in DASHBOARDS.items()}
each_dashboard = pytest.mark.parametrize("name", sorted(JSON))
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
"""What docs/prometheus.md asks a server to keep."""
OF_GRAFANA = {"__rate_interval", "__interval"}
"""Variables that Grafana fills in itself."""
KINDS = {"row", "stat", "table", "timeseries", "state-timeline", "bargauge"}


def operators() -> set[str]:
    """The names of the operator's series."""
    assert metrics is not sis_metrics, "both have to be imported to register theirs"
    names = {family.name: family.type for family in REGISTRY.collect() if family.name.startswith("specdec_")}
    ends = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
    return {name + end for name, kind in names.items() for end in ends[kind]}


def placed(panel: dict[str, Any]) -> tuple[range, range]:
    """The columns and the lines that a panel takes."""
    place = panel["gridPos"]
    return range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])


def overlap(one: range, other: range) -> bool:
    """Whether two ranges share a number."""
    return max(one.start, other.start) < min(one.stop, other.stop)


@each_dashboard
def test_panels_have_room_and_numbers_of_their_own(name: str) -> None:
    """Inside the 24 columns, none over another, no number twice."""
    panels = JSON[name]["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {panel["type"] for panel in panels} <= KINDS
    for panel in panels:
        assert placed(panel)[0].stop <= 24, panel["title"]
    for one, other in combinations(panels, 2):
        (left, top), (right, below) = placed(one), placed(other)
        assert not (overlap(left, right) and overlap(top, below)), (one["title"], other["title"])


@each_dashboard
def test_a_query_asks_for_metrics_that_are_served(name: str) -> None:
    """The operator's, by its own registry, and those of the engine that a server is asked to keep."""
    known = operators() | ENGINE
    for title, expr in targets(JSON[name]):
        asked = set(re.findall(r"\b(?:specdec_|vllm:)\w+", expr))
        assert asked <= known, f"{title}: {asked - known}"


@each_dashboard
def test_a_query_uses_variables_that_are_there(name: str) -> None:
    """Those of the dashboard, and Grafana's own; a variable's query too."""
    variables = JSON[name]["templating"]["list"]
    there = {each["name"] for each in variables} | OF_GRAFANA
    asked = [expr for _, expr in targets(JSON[name])]
    asked += [each["query"]["query"] for each in variables if each["type"] == "query"]
    for expr in asked:
        assert set(re.findall(r"\$(\w+)", expr)) <= there, expr


@each_dashboard
def test_the_data_source_is_a_variable(name: str) -> None:
    """A dashboard that names one is of no use elsewhere."""
    first, *others = JSON[name]["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    sources = [each["datasource"] for each in others]
    sources += [target["datasource"] for panel in JSON[name]["panels"] for target in panel.get("targets", ())]
    sources += [each["datasource"] for each in JSON[name]["annotations"]["list"]]
    assert {tuple(each.items()) for each in sources} == {(("type", "prometheus"), ("uid", "${datasource}"))}


def test_the_dashboards_link_to_each_other() -> None:
    """By uid, with variables and time."""
    uids = {each["uid"] for each in JSON.values()}
    assert {each["links"][0]["url"].removeprefix("/d/") for each in JSON.values()} == uids
    assert len(uids) == len(JSON)


def test_every_state_has_its_word_and_colour() -> None:
    """A new one would be a bare number in the stripe."""
    assert [word for word, _ in PHASES.values()] == [phase.value for phase in Phase]
    assert len({colour for _, colour in PHASES.values()}) == len(Phase)


def test_a_variable_without_a_value_is_named() -> None:
    """And those that there are."""
    with pytest.raises(ValueError, match=r"\$name in up.*no such variable; there are namespace"):
        filled("up{n='$name'}", {"namespace": "a"})
