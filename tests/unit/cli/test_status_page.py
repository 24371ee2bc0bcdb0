"""`specdec status NAME`: what people see of a status, at any time of a service's life."""

import io
import os
import pathlib
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from specdec_command.cli.input import say
from specdec_command.cli.status import table
from specdec_command.cli.status_page import page
from specdec_operator.display.describe import (
    ASCII,
    UNICODE,
    Glyphs,
    glyphs_for,
    line,
    line_without_time,
    orphaned,
    span,
)
from specdec_operator.display.untrusted import Untrusted

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FOLDER = pathlib.Path(__file__).parents[2] / "golden" / "status"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def loaded(case: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / f"{case}.yaml").read_text())
    return found


def shown(service: dict[str, Any], *, width: int = 80, glyphs: Glyphs = UNICODE, colours: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colours, markup=False, highlight=False)
    console.print(page(service, NOW, glyphs))
    return "\n".join(each.rstrip() for each in out.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("case", CASES)
def test_a_status_reads_like_its_golden_page(case: str) -> None:
    """At 80 columns, without colours. SPECDEC_GOLDEN=write writes the pages again."""
    text = shown(loaded(case)) + line(Untrusted(loaded(case)), NOW) + "\n"
    golden = FOLDER / f"{case}.txt"
    if os.environ.get("SPECDEC_GOLDEN") == "write":
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [30, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_message_is_cut(case: str, width: int) -> None:
    """An ellipsis would hide digits."""
    lines = shown(loaded(case), width=width).splitlines()
    assert max(len(each) for each in lines) <= width
    assert "…" not in "".join(lines)


def test_what_comes_from_a_pod_cannot_steer_the_terminal() -> None:
    """A pod's last log line reaches the terminal by the status: escape sequences and rich's markup stay text."""
    text = shown(loaded("garbage"))
    assert all(each.isprintable() for each in text.splitlines())
    assert "[bold red]markup[/]" in text


def test_an_output_that_knows_no_blocks_gets_plain_signs() -> None:
    """LC_ALL=C, old consoles and their pipes."""
    assert glyphs_for("UTF-8") is glyphs_for("utf8") is UNICODE
    assert glyphs_for("ascii") is glyphs_for("ISO-8859-1") is ASCII
    assert shown(loaded("watching"), glyphs=ASCII).isascii()


def test_colours_add_nothing_to_the_text() -> None:
    """The output is complete in a pipe and for a colour-blind reader."""
    coloured = shown(loaded("rolled-back"), colours=True)
    assert "\x1b[33mRolledBack" in coloured
    assert "below" in coloured


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("2026-11-20T11:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(st.sampled_from(CASES), st.data())
def test_whatever_stands_in_a_field_the_page_is_shown(case: str, data: st.DataObject) -> None:
    """Another operator's status, or one that was edited by hand, is shown as far as it can be read."""
    service = loaded(case)
    place: Any = service
    while isinstance(place, dict) and place:
        key = data.draw(st.sampled_from(sorted(place, key=str)))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            place[key] = data.draw(ANYTHING)
            break
        place = place[key] if isinstance(place[key], dict) else data.draw(st.sampled_from(place[key] or [None]))
    assert shown(service)
    assert line_without_time(Untrusted(service), NOW)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (3660, "1h1m"),
        (86400, "1d"),
        (180000, "2d2h"),
    ],
)
def test_a_length_of_time_has_its_largest_units(seconds: float, words: str) -> None:
    assert span(seconds) == words


@pytest.mark.parametrize(("second", "there"), [(0, True), (29, True), (31, False), (59, False)])
def test_a_service_without_a_status_is_an_orphan_after_a_while(second: int, there: bool) -> None:
    """A running operator writes a status within seconds."""
    made = {"metadata": {"creationTimestamp": f"2026-11-20T11:59:{second:02}Z"}}
    assert orphaned(Untrusted(made), NOW) is there
    assert not orphaned(Untrusted(made | {"status": {"phase": "RollingOut"}}), NOW)


def test_the_line_for_a_pipe_changes_when_the_status_does_and_not_with_time() -> None:
    """`specdec watch` in a pipe prints a line a change."""
    service = loaded("held")
    later = NOW.replace(hour=15)
    assert line_without_time(Untrusted(service), NOW) == line_without_time(Untrusted(service), later)
    del service["metadata"]["annotations"]
    assert line_without_time(Untrusted(service), NOW) != line_without_time(Untrusted(loaded("held")), NOW)


@pytest.mark.parametrize(("drafted", "shown_as"), [({"drafted": 0}, "K=0"), ({}, "")])
def test_the_line_for_a_pipe_has_the_tokens_in_force_while_the_dial_is_set(
    drafted: dict[str, int], shown_as: str
) -> None:
    """Nothing as long as the pods do not all answer the same; without a dial those of the flags."""
    serving = {"method": "draft_model", "tokens": 4} | drafted
    status = {"phase": "Dialled", "serving": serving, "dial": {"tokens": 0, "pods": 2}}
    line = line_without_time(Untrusted({"status": status}), NOW)
    assert line == " ".join(filter(None, ("Dialled draft_model", shown_as)))
    del status["dial"]
    serving.pop("drafted", None)
    assert "K=4" in line_without_time(Untrusted({"status": status}), NOW), "also of an older operator"


@pytest.mark.parametrize(
    ("drafted", "served", "marked"),
    [({"drafted": 1}, "eagle3, 1 token per step", ["1"]), ({"drafted": 2}, "as asked", ["2"]), ({}, "eagle3", [])],
)
def test_what_the_pods_draft_is_shown_as_served_and_as_in_use(
    drafted: dict[str, int], served: str, marked: list[str]
) -> None:
    """While the dial is set: what they report, and no number as long as they do not."""
    service = loaded("reduced")
    service["spec"]["speculation"]["tokens"] = 2
    service["status"]["dial"] = {"tokens": 1, "pods": 2}
    service["status"]["serving"] |= drafted
    text = shown(service)
    assert f"served     {served} (revision" in text
    assert [each.split()[0] for each in text.splitlines() if "in use" in each] == marked


def test_a_list_in_a_pipe_has_every_name_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    """A user can grep for a name: without a terminal there is no width that a row would have to fit."""
    name, reason = "a-rather-long-name-of-a-service-that-somebody-made", "x" * 100
    columns = [{"name": each, "priority": 0} for each in ("Name", "Phase", "Reason")]
    row = {"cells": [name, "RollingOut", reason], "object": {"metadata": {"namespace": "team-a"}}}
    say(table({"columnDefinitions": columns, "rows": [row]}, everywhere=True), by_row=True)
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAMESPACE", "NAME", "PHASE", "REASON"]
    assert line.split() == ["team-a", name, "RollingOut", reason]


def test_the_page_in_the_documentation_is_a_real_one() -> None:
    """docs/cli.md shows the beginning of what is printed."""
    documented = (FOLDER.parents[2] / "docs" / "cli.md").read_text()
    head = shown(loaded("rolled-back")).partition("\n\n")[0]
    assert f"```text\n{head}\n```\n" in documented
