"""An audit is never green by silence."""

import json
import pathlib

import pytest
import yaml
from hack import audit as answer

ROOT = pathlib.Path(__file__).parents[3]

FINE = {"name": "aiohttp", "version": "3.14.5", "vulns": []}
SKIPPED = {"name": "kopf", "skip_reason": "Dependency not found on PyPI and could not be audited: kopf (1.45.2)"}
WEAK = {"name": "yarl", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}]}
HOPELESS = {"name": "idna", "version": "3.0", "vulns": [{"id": "PYSEC-2", "fix_versions": [], "aliases": []}]}


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([FINE], 0, "audited: 1 packages, 0 known weaknesses"),
        ([FINE, SKIPPED], 2, "not audited: the index gives no advisories for 1 of 2 packages, among them kopf"),
        ([SKIPPED, SKIPPED], 3, "the index gives no advisories for any of the 2 packages"),
        ([], 3, "the index gives no advisories for any of the 0 packages"),
        ([FINE, WEAK, SKIPPED], 1, "yarl 1.0: PYSEC-1, mended in 1.1"),
        ([HOPELESS], 1, "idna 3.0: PYSEC-2, not mended in any version yet"),
    ],
    ids=["fine", "one skipped", "all skipped", "nothing asked", "one weak", "not mended"],
)
def test_only_an_audit_of_everything_that_found_nothing_is_green(
    packages: list[dict[str, object]], code: int, said: str
) -> None:
    """pip-audit itself prints `No known vulnerabilities found` when the index answered for no package at all."""
    found = answer.read(json.dumps({"dependencies": packages, "fixes": []}))
    assert found.code == code
    assert said in "\n".join(found.lines())


def test_without_an_index_nothing_is_reported_as_audited_or_found() -> None:
    """Where to run it instead is named."""
    (line,) = answer.read(json.dumps({"dependencies": [SKIPPED], "fixes": []})).lines()
    assert line.startswith("not audited, no index with advisories: ")
    assert "weaknesses" not in line
    assert "the workflow ci in a fork" in line


def test_ci_accepts_no_audit_without_an_index() -> None:
    """`make audit` does: CI runs the module itself, whose exit code is not 0 then."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yaml").read_text())["jobs"]
    assert {"run": ".venv/bin/python -m hack.audit"} in jobs["audit"]["steps"]
    assert "if" not in jobs["audit"]


@pytest.mark.parametrize("text", ["", "No known vulnerabilities found", "[]", "{}"])
def test_a_text_that_is_not_an_answer_is_refused(text: str) -> None:
    """A program that gave up wrote no list."""
    with pytest.raises(ValueError, match=r"Expecting value|no list of dependencies"):
        answer.read(text)
