"""An audit is never green by silence."""

import json

import pytest
from hack import audit as answer

FINE = {"name": "aiohttp", "version": "3.14.5", "vulns": []}
SKIPPED = {"name": "kopf", "skip_reason": "Dependency not found on PyPI and could not be audited: kopf (1.45.2)"}
WEAK = {"name": "yarl", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}]}
HOPELESS = {"name": "idna", "version": "3.0", "vulns": [{"id": "PYSEC-2", "fix_versions": [], "aliases": []}]}


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([FINE], 0, "audited: 1 packages, 0 known weaknesses"),
        ([FINE, SKIPPED], 2, "not audited: the index gives no advisories for 1 of 2 packages, among them kopf"),
        ([SKIPPED], 2, "not audited: the index gives no advisories for 1 of 1 packages, among them kopf"),
        ([], 2, "audited: 0 packages, 0 known weaknesses"),
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
    assert said in found.lines()


@pytest.mark.parametrize("text", ["", "No known vulnerabilities found", "[]", "{}"])
def test_a_text_that_is_not_an_answer_is_refused(text: str) -> None:
    """A program that gave up wrote no list."""
    with pytest.raises(ValueError, match=r"Expecting value|no list of dependencies"):
        answer.read(text)
