"""What Flux makes of a sis, by Flux's own libraries: kstatus, and the CEL of healthCheckExprs."""

import functools
import pathlib
from typing import Any

import pytest
import yaml

from tests.gitops import judges
from tests.gitops.states import CASES, Case

_ROOT = pathlib.Path(__file__).parents[2]
_SAMPLES = {"": "healthchecks.yaml", "-strict": "healthchecks-strict.yaml"}


def expressions(strict: str) -> dict[str, Any]:
    """The healthCheckExprs of a sample, as Flux reads them."""
    text = (_ROOT / "manifests" / "gitops" / "flux" / _SAMPLES[strict]).read_text()
    (found,) = yaml.safe_load(text)["spec"]["healthCheckExprs"]
    return {key: found[key] for key in ("inProgress", "failed", "current")}


@functools.cache
def said(strict: str = "") -> dict[str, dict[str, Any]]:
    """Flux's answers by the words of the case."""
    answers = judges.flux((case.body for case in CASES), expressions(strict))
    return {case.words: answer for case, answer in zip(CASES, answers, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_kstatus_says_what_the_table_says(case: Case) -> None:
    """`wait: true` waits while pods come up, succeeds when they serve, fails at once where only the user can help."""
    assert said()[case.words]["status"] == case.flux, said()[case.words]["message"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_the_expressions_say_what_kstatus_says(case: Case) -> None:
    """But for an object that is being deleted, of which expressions know nothing."""
    wanted = "Current" if case.flux == "Terminating" else case.flux
    assert said()[case.words].get("expressions") == wanted, said()[case.words]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_the_strict_expressions_call_a_rollback_a_failure(case: Case) -> None:
    """Whatever `guard.health` says; while it rolls back, they wait."""
    assert said("-strict")[case.words].get("expressions") == case.strict, said("-strict")[case.words]
