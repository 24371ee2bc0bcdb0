"""docs/staging.md shows for every mix and version whether it is served or refused, and which mixes were run."""

import ast
import pathlib
from dataclasses import replace
from typing import Any

import pytest
from hack.kserve.versions import SUMS

from lab.staging import page as staging_page
from lab.staging import recorded
from specdec_engine.rule import Severity
from specdec_operator.staging.compatibility import KSERVE
from specdec_operator.staging.kserve import NEWEST, KServe
from specdec_operator.staging.layout import lay_out

ROOT = pathlib.Path(__file__).parents[2]


RECORDED = recorded.runs(recorded.recording())


def test_every_version_that_is_supported_is_in_every_row() -> None:
    """A developer who adds a newer KServe to the operator sees it in the page."""
    assert tuple((0, minor) for minor in range(KSERVE.oldest[1], NEWEST[1] + 1)) == staging_page.VERSIONS
    columns = staging_page.columns(RECORDED)
    assert tuple(dict.fromkeys(each.version for each in columns)) == staging_page.VERSIONS
    assert {each.version for each in columns if not each.runs} == {(0, 18), (0, 21)}
    for group in staging_page.groups(RECORDED)[0]:
        assert len(group.cells) == len(columns)


def test_every_version_that_can_be_had_was_asked() -> None:
    """With the patch, too, where the shipped storage container refuses lists of downloads."""
    assert {each.kserve for each in RECORDED} == set(SUMS)
    refusing = {each.kserve for each in RECORDED if not each.detected["multi_download"]}
    assert refusing == {each.kserve for each in RECORDED if each.patched}
    assert {each.kserve for each in RECORDED if each.behaviours} == set(SUMS)


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.title)
def test_no_mix_is_missing_in_the_recording(run: recorded.Run) -> None:
    """A row that is added is asked: `make matrix`."""
    assert set(run.rows) == {row.key for row in staging_page.rows()}


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.title)
def test_the_operator_refuses_what_this_kserve_cannot_bring_and_nothing_else(run: recorded.Run) -> None:
    """A disagreement is a fault of a rule."""
    assert list(recorded.faults(run)) == []
    assert run.detected["version"] == run.kserve.rpartition(".")[0]


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: run.title)
def test_the_rules_are_still_those_of_the_recording(run: recorded.Run) -> None:
    """Else the page quotes words for a refusal that is no more."""
    kserve = KServe(version=run.version, kubernetes=(1, 34), oci_mode="modelcar", multi_download=multi_download(run))
    for row in staging_page.rows():
        found = lay_out(row.spec, name="NAME", kserve=kserve).findings
        refused = list(dict.fromkeys(each.rule.id for each in found if each.rule.severity is Severity.REFUSED))
        assert refused == run.rows[row.key]["rules"], row


def multi_download(run: recorded.Run) -> bool:
    return bool(run.detected["multi_download"]) or run.patched


def test_a_refusal_without_need_and_a_model_that_does_not_arrive_are_faults() -> None:
    """And a git repository on an old download program is neither."""
    run = RECORDED[0]
    for outcome in ("made without draft", "refused by the operator alone", "refused by the API server"):
        broken: Any = {("a", "b", "Auto"): {"outcome": outcome, "rules": [], "forms": {}}}
        assert len(list(recorded.faults(replace(run, rows=broken)))) == 1
    alone = {"outcome": "refused by the operator alone", "rules": ["KSERVE-LACKS"]}
    known = {("a", "b", "Auto"): {"outcome": "served", "rules": [], "schemes": {"git": alone}}}
    assert list(recorded.faults(replace(run, rows=known))) == []


@pytest.mark.parametrize("test", sorted(set(staging_page.TRIED.values())))
def test_whatever_works_is_shown_by_a_test_that_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert file.startswith("tests/node/")
    functions = ast.walk(ast.parse((ROOT / file).read_text()))
    assert name in {each.name for each in functions if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
