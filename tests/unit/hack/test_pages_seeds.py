"""docs/seeds.md: each row names what exists, and a row that does not is an error."""

from typing import Any

import pytest
import yaml
from hack.pages import seeds

ROOT = seeds._ROOT
RULES_TEST = "tests/unit/engine/test_rules.py::test_a_rule_finds_its_mistake_and_nothing_else"


def of(*rows: list[str]) -> dict[str, Any]:
    return {"tests": {"rules": RULES_TEST}, "documents": [{"name": "guide", "topics": {"All": [*rows]}}]}


SOUND = ["a statement", "spec.speculation.tokens, rule ASC-K, hack/pages/seeds.py", "rules"]


def test_the_page_is_made_of_rows_that_name_what_exists() -> None:
    """Fields, rules, files and tests of the whole table; and docs/seeds.md is of now."""
    data = yaml.safe_load(seeds._DATA.read_text(encoding="utf-8"))
    assert [*seeds.problems(data)] == []
    assert seeds.page() == (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    assert [*seeds.problems(of(SOUND))] == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["s", "spec.speculation.nothing", "rules"], "s: there is no spec.speculation.nothing"),
        (["s", "rule ASC-NOTHING", "rules"], "s: there is no rule ASC-NOTHING"),
        (["s", "hack/pages/nothing.py", "rules"], "s: there is no hack/pages/nothing.py"),
        (["s", "hack/pages", "rules"], "s: there is no hack/pages"),
        (["s", "rule ASC-K", RULES_TEST.replace("mistake", "fault")], "s: there is no test"),
        (["s", "rule ASC-K", "tests/nothing.py::test_a"], "s: there is no test"),
        (["s", "rule ASC-K", ""], "s: there is no test"),
        (["s", "not built: no need", "rules"], "s: is not built, and names a test"),
    ],
)
def test_a_row_that_names_what_does_not_exist_is_an_error(row: list[str], words: str) -> None:
    """With its statement."""
    assert any(words in each for each in seeds.problems(of(SOUND, row)))


def test_a_name_of_a_test_that_no_row_uses_is_an_error() -> None:
    assert [*seeds.problems(of(["s", "not built: no need", ""]))] == ["no row uses the test rules"]
