"""Every warning names its subject, the reason, and the fix: the user can act without a lookup of the rule."""

import re

import pytest
from tests.unit.engine.cases import broken
from tests.unit.engine.test_rules import SIDES

from specdec_engine.case import Case
from specdec_engine.check import RULES, check
from specdec_engine.rule import Finding, Severity

BAD: dict[str, Case] = {rule: bad for rule, bad, _ in SIDES}
WARNED = sorted(each.id for each in RULES if each.severity is Severity.WARNED)
WAY_OUT = re.compile(r"\b(use|set|remove|write|make|raise|allow|leave|see that|check|name|compare|measure)\b")
WITHOUT = {"VERSION-NEW": "nothing can be done but to wait for a release that knows it"}
"""Rules whose warning has no way out, and why."""
LEAST = 40
"""Characters: what is shorter has no room for a cause and a way out."""


def warning(rule: str) -> Finding:
    return next(each for each in check(BAD[rule]) if each.rule.id == rule)


def test_every_warning_has_an_example() -> None:
    """Else nothing below would ask it."""
    assert set(WARNED) <= BAD.keys()
    assert all(rule in broken(BAD[rule]) for rule in WARNED)


@pytest.mark.parametrize("rule", WARNED)
def test_it_names_the_field_the_cause_and_a_way_out(rule: str) -> None:
    """In one sentence that stands alone."""
    said = warning(rule)
    assert said.field
    assert rule in WITHOUT or WAY_OUT.search(said.message), said.message
    assert len(said.message) >= LEAST, said.message
    assert not said.message.endswith("?"), said.message
