"""The fleet's table: which services come first, which are left out, and how many are on a page."""

from typing import Any

import pytest
from tests.unit.web.samples import FRAME, NOW, sample

from specdec_operator.display.untrusted import Untrusted
from specdec_operator.web.fleet import (
    MOST_ROWS,
    SORTS,
    Concern,
    FleetFilter,
    FleetRow,
    chosen,
    concern_of,
    counts,
    filter_of,
    row_of,
)
from specdec_operator.web.fleet_page import fleet_page


def row(name: str = "a", **fields: Any) -> FleetRow:
    usual = {"namespace": "team-a", "phase": "Watching", "concern": Concern.FINE, "why": "", "served": "mtp"}
    usual |= {"rate": 0.8, "wanted": 0.4, "speedup": 1.5, "since": NOW}
    return FleetRow(name=name, **(usual | fields))


@pytest.mark.parametrize(
    ("case", "concern"),
    [
        ("stalled", Concern.BROKEN),
        ("rolled-back", Concern.OUT),
        ("last-good", Concern.OUT),
        ("reduced", Concern.OUT),
        ("watching", Concern.FAILING),
        ("observing", Concern.FAILING),
        ("held", Concern.UNCLEAR),
        ("rolling-out", Concern.CHANGING),
        ("measuring-baseline", Concern.CHANGING),
        ("fresh", Concern.CHANGING),
        ("older-operator", Concern.FINE),
    ],
)
def test_a_status_shows_how_much_attention_it_needs(case: str, concern: Concern) -> None:
    """By what serves, what was taken out, and the newest window."""
    assert concern_of(Untrusted(sample(case))) is concern


def test_a_service_that_lost_its_pods_is_broken_and_one_that_is_brought_up_is_not() -> None:
    """Ready=False is the same for both; the phase distinguishes them."""
    conditions = [{"type": "Ready", "status": "False"}]
    said = [
        concern_of(Untrusted({"status": {"phase": phase, "conditions": conditions}}))
        for phase in ("Watching", "RollingOut")
    ]
    assert said == [Concern.BROKEN, Concern.CHANGING]


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("sort", SORTS)
def test_every_column_sorts(sort: str, down: bool) -> None:
    """What is not known comes last in ascending order; equal rows keep their order."""
    rows = [
        row("b", rate=0.2, speedup=2.0, concern=Concern.OUT, phase="RolledBack", served="plain"),
        row("c", rate=None, speedup=None, since=None),
        row("a", rate=0.9, speedup=1.1),
    ]
    found = [each.name for each in chosen(rows, FleetFilter(sort=sort, down=down))]
    ascending = {"name": "abc", "acceptance": "bac", "speedup": "abc", "since": "bac", "served": "cab", "phase": "bca"}
    descending = {"name": "cba", "acceptance": "cab", "speedup": "cba", "since": "cba", "served": "bca", "phase": "cab"}
    wanted = (descending if down else ascending).get(sort, "cab" if down else "bca")
    assert "".join(found) == wanted


def test_a_namespace_and_a_phase_leave_the_others_out() -> None:
    rows = [row("a"), row("b", namespace="team-b"), row("c", phase="RolledBack")]
    assert [each.name for each in chosen(rows, FleetFilter(namespace="team-a", phase="Watching"))] == ["a"]


def test_phases_are_counted_the_worst_first() -> None:
    rows = [row(), row(concern=Concern.FAILING), row(phase="Stalled", concern=Concern.BROKEN)]
    assert counts(rows) == [("Stalled", 1, Concern.BROKEN), ("Watching", 2, Concern.FAILING)]


@pytest.mark.parametrize(
    "asked",
    [FleetFilter(), FleetFilter(namespace="a&b=c", phase="x y", sort="since", down=True, page=3)],
)
def test_an_address_holds_its_filter(asked: FleetFilter) -> None:
    """What is written into a link is read out of it again."""
    from urllib.parse import parse_qsl

    assert filter_of(dict(parse_qsl(asked.address().removeprefix("?")))) == asked


@pytest.mark.parametrize("query", [{"sort": "x"}, {"page": "0"}, {"page": "-1"}, {"page": "٣"}, {"page": "9" * 99}])
def test_an_address_that_asks_nonsense_asks_nothing(query: dict[str, str]) -> None:
    """Any user can type one."""
    assert filter_of(query) == FleetFilter()


def test_a_thousand_services_are_shown_a_page_at_a_time() -> None:
    """A page is bounded, and the last one is shown where a later one is asked for."""
    rows = [row(f"s{number:04}") for number in range(1000)]
    first, last = (fleet_page(rows, FleetFilter(page=page), FRAME) for page in (1, 99))
    assert (first.count("<tr"), last.count("<tr")) == (1 + MOST_ROWS, 1 + MOST_ROWS)
    assert "Page 1 of 4, 1000 services" in first
    assert "s0999" in last
    assert "Next" not in last
    assert len(first) < 400_000


def test_a_page_without_services_shows_what_to_do() -> None:
    """None seen, and none left by the filter, are two things."""
    assert "kubectl apply" in fleet_page([], FleetFilter(), FRAME)
    assert "This namespace has no service in this phase" in fleet_page([row()], FleetFilter(phase="Stalled"), FRAME)


def test_a_row_shows_what_is_served() -> None:
    """Plain after a rollback, the last good speculation, nothing before the first turn."""
    cases = ("rolled-back", "last-good", "fresh", "watching")
    assert [row_of(sample(case)).served for case in cases] == [
        "plain",
        "eagle3, 3 tokens per step",
        "",
        "eagle3, 4 tokens per step",
    ]


@pytest.mark.parametrize(("drafted", "served"), [({"drafted": 0}, "eagle3, 0 tokens per step"), ({}, "eagle3")])
def test_a_row_shows_what_the_pods_draft_while_the_dial_is_set(drafted: dict[str, int], served: str) -> None:
    """No number as long as they do not all report the same."""
    body = sample("watching")
    body["status"]["dial"] = {"tokens": 0, "pods": 3}
    body["status"]["serving"] |= drafted
    assert row_of(body).served == served
