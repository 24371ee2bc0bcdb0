"""The tables, and their answers for releases that were not read."""

import ast
import pathlib
import re

import pytest

import specdec_engine
from specdec_engine.check import RULES
from specdec_engine.rule import Severity
from specdec_engine.tables import cell_words, entries, in_release, table
from specdec_engine.version import NEWEST, OLDEST, Version, holds, minor_text

ENGINE = pathlib.Path(specdec_engine.__path__[0])
TABLES = ("architectures", "fields", "flags", "methods", "model_types", "mtp", "rules", "values")


@pytest.mark.parametrize(
    ("architecture", "version", "there"),
    [
        ("LlamaForCausalLM", "0.11.0", True),
        ("LlamaForCausalLM", "0.33.0", True),
        ("NoSuchForCausalLM", "0.20.0", False),
        ("NoSuchForCausalLM", "0.33.0", False),
        ("NoSuchForCausalLM", "0.34.0", None),
        ("DFlashDraftModel", "0.15.0", False),
        ("DFlashDraftModel", "0.17.0", None),
        ("DFlashDraftModel", "0.20.0", True),
        ("ExaoneMoeMTP", "0.11.0", False),
        ("LlamaForCausalLM", "0.10.0", True),
        ("ExaoneMoeMTP", "0.10.0", None),
    ],
)
def test_a_release_between_two_known_ones_is_like_both_or_not_known(
    architecture: str, version: str, there: bool | None
) -> None:
    """The same minor counts as the same release. Newer releases keep the existing entries and may have more."""
    assert in_release("architectures", "registered", architecture, Version.parse(version)) is there


def test_entries_are_those_that_are_certainly_there() -> None:
    """For messages that list what may be written."""
    assert "nvfp4_per_token" in entries("values", "quantization", Version(0, 32))
    assert "nvfp4_per_token" not in entries("values", "quantization", Version(0, 28))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_names_its_source(name: str) -> None:
    """A fact without a source cannot be checked."""
    assert re.search(r"\w+\.py|Literal", table(name)["source"])


@pytest.mark.parametrize("name", ["architectures", "flags", "model_types", "values"])
def test_cells_are_named_by_the_releases_that_were_read(name: str) -> None:
    """One digit each, and every entry in one cell only."""
    for key, cells in table(name).items():
        if isinstance(cells, dict) and key not in ("base", "kinds", "short", "values"):
            found = [word for cell in cells.values() for word in cell_words(cell)]
            assert all(re.fullmatch(f"[01]{{{len(table(name)['versions'])}}}", mark) for mark in cells), key
            assert len(found) == len(set(found)), key


@pytest.mark.parametrize(
    ("version", "since", "until", "inside"),
    [
        ("0.20.2", "0.20", "", True),
        ("0.19.1", "0.20", "", False),
        ("0.20.2", "", "0.20", True),
        ("0.20.2", "", "0.20.1", False),
        ("0.21.0", "", "0.20", False),
        ("1.0.0", "0.20", "", True),
        ("0.1.0", "", "", True),
    ],
)
def test_ranges_of_versions_are_inclusive(version: str, since: str, until: str, *, inside: bool) -> None:
    """An end without a patch means the whole minor."""
    assert holds(Version.parse(version), since, until) is inside


def test_every_rule_is_used_in_its_file() -> None:
    """By its id: a rule without code would never have a finding, and code without a rule would have no message."""
    written: dict[str, set[str]] = {}
    for file in sorted([*ENGINE.glob("rules/*.py"), ENGINE / "command_line.py"]):
        nodes = ast.walk(ast.parse(file.read_text()))
        written[file.stem] = {str(each.value) for each in nodes if isinstance(each, ast.Constant)}
    for name, rows in table("rules")["rules"].items():
        assert rows.keys() <= written[name], name
    known = {rule.id for rule in RULES}
    assert {
        each for words in written.values() for each in words if re.fullmatch(r"[A-Z0-9]+(-[A-Z0-9]+)+", each)
    } <= known


def test_the_range_of_versions_that_the_rules_name_is_that_of_the_releases_that_were_read() -> None:
    """And nothing else stands for a value in their sentences."""
    named = {rule.id: rule.says for rule in RULES}
    assert named["VERSION-OLD"] == f"Engines before {minor_text(OLDEST)} are not supported."
    newest = minor_text(NEWEST)
    assert named["VERSION-NEW"] == f"Engines after {newest} are checked as {newest}."
    assert not [rule.id for rule in RULES if "{" in rule.says]


def test_rules_have_names_and_a_message() -> None:
    """Stable ids, one sentence each, a source, and ends that are versions."""
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*", rule.id), rule.id
        assert rule.says.endswith("."), rule.id
        assert rule.source, rule.id
        assert holds(Version(0, 20), rule.since, rule.until) in (True, False)
        assert not rule.stricter or rule.severity is Severity.REFUSED, rule.id
