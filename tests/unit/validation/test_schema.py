"""`specdec validate` reads the CRD's rules as the API server does; tests/wire asks the server the same questions."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.rule_cases import CASES, RuleCase, whole

from specdec_command.validation import schema
from specdec_operator.schema.crd import openapi

SPEC = openapi()["properties"]["spec"]


def refused(spec: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = schema.problems(schema.filled(spec, SPEC), SPEC, "spec")
    return [(each.kind, each.path, each.message) for each in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.field}: {case.message[:30]}")
def test_each_rule_refuses_and_takes(case: RuleCase) -> None:
    ((kind, path, message),) = refused(whole(case.bad))
    assert (kind, path) == ("API-RULE", case.field)
    assert message.endswith(case.message)
    assert refused(whole(case.good)) == []


def rules(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from node.get("x-kubernetes-validations", ())
    for part in [*node.get("properties", {}).values(), *([node["items"]] if "items" in node else [])]:
        yield from rules(part)


def test_no_rule_is_without_a_case() -> None:
    """Each new rule needs a case that it refuses and one that it accepts."""
    shown = {case.message for case in CASES}
    assert [rule["message"] for rule in rules(SPEC) if not any(rule["message"].endswith(each) for each in shown)] == []


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("self.a != 'x && y' || !has(self.b)", {"a": "x && y"}, True),
        ("self.a != 'x && y' || !has(self.b)", {"a": "x && y", "b": 1}, False),
        ("!(self.a in ['x', 'y'])", {"a": "z"}, True),
        ("duration(self.a) >= duration('1s')", {"a": "999ms"}, False),
        ("self.all(x, x > 1)", [2, 3], True),
        ("self.exists_one(x, x == 2)", [2, 2], False),
        ("self.filter(x, x > 1).map(x, x + 1).isSorted()", [1, 3, 2], False),
        ("self[self.size() - 1] == 2", [1, 2], True),
        ("self.matches('^[a-z]+$')", "ab1", False),
        ("self == true", True, True),
    ],
)
def test_the_part_of_cel_that_is_read(rule: str, value: Any, expected: bool) -> None:
    """Operators, macros and functions that the rules use."""
    assert schema.holds(rule, value) is expected


def test_other_cel_is_not_guessed() -> None:
    """A rule with an unknown expression fails loudly, here and not at a user's."""
    with pytest.raises(NotImplementedError):
        schema.holds("[x for x in self]", [1])
