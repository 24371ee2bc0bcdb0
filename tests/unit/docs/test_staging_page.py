"""docs/staging.md says of every mix and version whether it works, is refused, or was not tried: nothing else."""

import ast
import pathlib
import re

import pytest
from hack.pages import staging as staging_page

from specdec_operator.staging.kserve import NEWEST, shown

ROOT = pathlib.Path(__file__).parents[3]
CELL = re.compile(r"(works|not tried here|refused(?= ))( \([0-9]+\))*")


def cells() -> list[list[str]]:
    """The rows of the table, without its head."""
    table = staging_page.page().split("| target | draft | mode | ≤")[1].split("\n\n")[0]
    return [[each.strip() for each in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_cell_says_one_of_three_things_with_its_reasons() -> None:
    """A refusal has a reason, and every reason that is named is listed."""
    listed = len(re.findall(r"^[0-9]+\. That KServe ", staging_page.page(), re.MULTILINE))
    named = set()
    for row in cells():
        for cell in row[3:]:
            assert CELL.fullmatch(cell), cell
            named |= {int(each) for each in re.findall(r"\(([0-9]+)\)", cell)}
    assert named == set(range(1, listed + 1))


def test_the_newest_version_that_is_known_has_a_column() -> None:
    """Whoever teaches the operator a newer KServe sees it in the page."""
    head = next(line for line in staging_page.page().splitlines() if line.startswith("| target | draft | mode | ≤"))
    assert head.endswith(f"| {shown(NEWEST)} |")


def test_mixes_are_there_once_and_tried_ones_among_them() -> None:
    """A row that a test shows must not be lost by another name."""
    found = [(row.target, row.draft, row.mode) for row in staging_page.rows()]
    assert len(set(found)) == len(found) == len(cells())
    assert set(staging_page.TRIED) <= set(found)
    works = [row for row in cells() if "works" in row]
    assert len(works) == len(staging_page.TRIED)


@pytest.mark.parametrize("test", sorted(set(staging_page.TRIED.values())))
def test_whatever_works_is_shown_by_a_test_that_is_there(test: str) -> None:
    """In the node layer, by its name."""
    file, _, name = test.partition("::")
    assert file.startswith("tests/node/")
    functions = ast.walk(ast.parse((ROOT / file).read_text()))
    assert name in {each.name for each in functions if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
