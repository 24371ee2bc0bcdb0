"""docs/staging.md says of every mix and version whether it is served or refused, and which mixes were run."""

import ast
import pathlib
import re

import pytest
from hack.pages import staging as staging_page

from specdec_operator.engine.rule import Severity
from specdec_operator.staging.compatibility import KSERVE
from specdec_operator.staging.kserve import NEWEST, KServe
from specdec_operator.staging.layout import lay_out

ROOT = pathlib.Path(__file__).parents[3]


def test_every_version_that_is_supported_is_in_every_row_once() -> None:
    """Whoever teaches the operator a newer KServe sees it in the page."""
    assert tuple((0, minor) for minor in range(KSERVE.oldest[1], NEWEST[1] + 1)) == staging_page.VERSIONS
    for group in staging_page.groups()[0]:
        assert len(group.cells) == len(staging_page.VERSIONS)
        said = [int(each) for span in (group.served, group.refused) for each in re.findall(r"0\.([0-9]+)", span)]
        assert {KSERVE.oldest[1], NEWEST[1]} <= set(said)


def test_a_mix_is_refused_where_the_operator_refuses_it() -> None:
    """Of each row and version, asked again."""
    for group in staging_page.groups()[0]:
        for row in group.rows:
            for cell, version in zip(group.cells, staging_page.VERSIONS, strict=True):
                kserve = KServe(version=version, kubernetes=(1, 35), oci_mode="modelcar")
                found = {each.rule.severity for each in lay_out(row.spec, name="NAME", kserve=kserve).findings}
                assert cell.refused is (Severity.REFUSED in found), (row, version)
                assert bool(cell.numbers) or not cell.refused


def test_every_reason_is_named_and_every_number_is_listed() -> None:
    """In the page as it is."""
    groups, reasons = staging_page.groups()
    assert {number for group in groups for cell in group.cells for number in cell.numbers} == set(
        range(1, len(reasons) + 1)
    )
    assert len(re.findall(r"^[0-9]+\. That KServe ", staging_page.page(), re.MULTILINE)) == len(reasons)


def test_mixes_are_there_once_and_run_ones_among_them() -> None:
    """A row that a test shows must not be lost by another name; rows are far fewer than mixes."""
    found = [(row.target, row.draft, row.mode) for row in staging_page.rows()]
    groups = staging_page.groups()[0]
    together = [(row.target, row.draft, row.mode) for group in groups for row in group.rows]
    assert sorted(together) == sorted(found)
    assert len(set(found)) == len(found)
    assert set(staging_page.TRIED) <= set(found)
    assert sum(len(group.tried.split("; ")) for group in groups if group.tried) == len(staging_page.TRIED)
    assert len(groups) <= len(found) // 2


@pytest.mark.parametrize("test", sorted(set(staging_page.TRIED.values())))
def test_whatever_works_is_shown_by_a_test_that_is_there(test: str) -> None:
    """In the node layer, by its name."""
    file, _, name = test.partition("::")
    assert file.startswith("tests/node/")
    functions = ast.walk(ast.parse((ROOT / file).read_text()))
    assert name in {each.name for each in functions if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
