"""Conditions are declared once: the page and `specdec status` agree on which status is the good one."""

import io
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from specdec_command.cli.status_page import TOLD_IN_ROWS, page
from specdec_operator.api.conditions import ConditionType, is_good
from specdec_operator.display.facts import conditions
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.web.html import Frame
from specdec_operator.web.service_page import service_page
from specdec_operator.web.store import SeenService

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STATUSES = ("True", "False", "Unknown")
GOOD = {each.value: each.good for each in ConditionType}
"""The status of each condition for a service without problems."""


def body(name: str, status: str) -> dict[str, Any]:
    condition = {"type": name, "status": status, "reason": "Because", "message": "a reason in full"}
    return {"metadata": {"name": "llama", "namespace": "a"}, "status": {"conditions": [condition]}}


def command(service: dict[str, Any]) -> str:
    out = io.StringIO()
    Console(file=out, width=120).print(page(service, NOW))
    return out.getvalue()


def tone(service: dict[str, Any]) -> str:
    html = service_page(SeenService(body=service), Frame(depth=2, now=NOW))
    match = re.search(r'class="badge (\w+)">(?:True|False|Unknown)<', html)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("status", STATUSES)
def test_the_page_and_the_command_agree_on_every_condition(name: str, status: str) -> None:
    """A bad one is coloured as such on the page, and has a row of its own in the command; a good one has neither."""
    good = None if status == "Unknown" else status == GOOD[name]
    assert tone(body(name, status)) == {None: "dim", True: "good", False: "warn"}[good]
    rows = command(body(name, status)).splitlines()
    has_row = any(row.startswith(name) and "a reason in full" in row for row in rows)
    assert has_row is (good is False and name not in TOLD_IN_ROWS)


@pytest.mark.parametrize(
    ("name", "status", "row"),
    [
        ("Ready", {"conditions": [{"type": "Ready", "status": "False", "reason": "X", "message": "m"}]}, "ready"),
        ("RolledBack", {"guard": {"rollback": {"reason": "X", "message": "m"}}}, "rolled back"),
        ("RolledBack", {"guard": {"rollback": {"reason": "X", "message": "m", "pending": True}}}, "rolling back"),
        ("RolledBack", {"phase": "Responding", "guard": {"rollback": {"reason": "X", "message": "m"}}}, "rolling back"),
        ("GuardPassing", {"guard": {"verdict": "Fail", "reason": "X", "message": "m"}}, "verdict"),
        ("SpeculationActive", {"serving": {"speculating": False}}, "served"),
        ("Held", {"guard": {"held": True}}, "held"),
    ],
)
def test_a_condition_without_a_row_of_its_name_is_shown_under_another_heading(
    name: str, status: dict[str, Any], row: str
) -> None:
    """The command prints each fact once, and no fact is missing."""
    assert name in TOLD_IN_ROWS
    assert any(line.startswith(row) for line in command({"metadata": {}, "status": status}).splitlines())


def test_a_condition_of_another_release_is_good_when_true() -> None:
    """As Kubernetes recommends for new types; nothing is known of Unknown."""
    assert [is_good("Newer", status) for status in STATUSES] == [True, False, None]
    assert [each.good for each in conditions(Untrusted(body("Newer", "False")["status"]))] == [False]
