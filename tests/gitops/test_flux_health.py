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
def test_kstatus_agrees_with_the_table(case: Case) -> None:
    """`wait: true` waits while pods come up, succeeds when they serve, fails at once where only the user can help."""
    assert said()[case.words]["status"] == case.flux, said()[case.words]["message"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_the_expressions_agree_with_kstatus(case: Case) -> None:
    """One exception: the expressions cannot see that an object is being deleted."""
    wanted = "Current" if case.flux == "Terminating" else case.flux
    assert said()[case.words].get("expressions") == wanted, said()[case.words]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_the_strict_expressions_call_a_rollback_a_failure(case: Case) -> None:
    """This holds for every value of `guard.health`. While the service rolls back, the expressions wait."""
    assert said("-strict")[case.words].get("expressions") == case.strict, said("-strict")[case.words]
