"""The chart's rules and dashboards, which tests/unit and tests/wire both check."""

import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

ROOT: Final = pathlib.Path(__file__).parents[1]
_FILES: Final = ROOT / "charts" / "specdec-operator" / "files"

RULES: Final[dict[str, Any]] = yaml.safe_load((_FILES / "rules.yaml").read_text())
_EACH: Final[list[dict[str, Any]]] = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS: Final = {rule["alert"]: rule for rule in _EACH if "alert" in rule}
RECORDED: Final = {rule["record"]: rule for rule in _EACH if "record" in rule}
NUMBER_OF_RULES: Final = len(_EACH)
RUNBOOKS: Final = "docs/runbooks/{alert}.md"

DASHBOARDS: Final[dict[str, dict[str, Any]]] = {
    path.stem: json.loads(path.read_text()) for path in sorted((_FILES / "dashboards").glob("*.json"))
}


def targets(dashboard: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The title and the query of each target of each panel, and of the annotations."""
    for panel in dashboard["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", ()))
    yield from ((each["name"], each["expr"]) for each in dashboard["annotations"]["list"])


def variables_of(expr: str) -> set[str]:
    """The names of the variables of a query."""
    return set(re.findall(r"\$(\w+)", expr))


def filled(expr: str, variables: Mapping[str, str]) -> str:
    """A query with the dashboard's variables filled in. Raises KeyError for one that has no value."""
    return re.sub(r"\$(\w+)", lambda found: variables[found[1]], expr)
