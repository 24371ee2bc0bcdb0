"""What users and their tools build on is still there: it is compared with that of an earlier commit.

tests/data/released/README.md has how the file was made and what to do when a test fails here.
"""

import ast
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml
from prometheus_client import REGISTRY
from typer.main import get_command

from specdec_command.cli.commands import application
from specdec_engine import exit_codes
from specdec_operator.leadership.holding import LOST
from specdec_operator.report import service_metrics

ROOT: Final = pathlib.Path(__file__).parents[2]
BEFORE: Final[dict[str, Any]] = json.loads((ROOT / "tests/data/released/d110860.json").read_text())
VERSION: Final[dict[str, Any]] = yaml.safe_load(
    (ROOT / "crds/serving.specdec.io_speculativeinferenceservices.yaml").read_text()
)["spec"]["versions"][0]
SOURCES: Final = ("operator/specdec_operator", "runtime/specdec_engine")


def parts(part: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of a schema by its path, with what a client of the API depends on."""
    yield path, {key: part[key] for key in ("type", "enum", "format", "default") if key in part}
    for name, each in part.get("properties", {}).items():
        yield from parts(each, f"{path}.{name}")
    if "items" in part:
        yield from parts(part["items"], f"{path}[]")
    if isinstance(part.get("additionalProperties"), dict):
        yield from parts(part["additionalProperties"], f"{path}.*")


NOW: Final = dict(parts(VERSION["schema"]["openAPIV3Schema"], ""))


def test_fields_keep_their_types_and_defaults() -> None:
    """A word may be added to an enumeration, none may go."""
    changed = {
        path: (before, now)
        for path, before in BEFORE["schema"].items()
        if (now := NOW.get(path)) is None
        or {**now, "enum": None} != {**before, "enum": None}
        or not set(before.get("enum", ())) <= set(now.get("enum", ()))
    }
    assert changed == {}


def test_the_columns_of_kubectl_get_keep_their_order() -> None:
    """Scripts cut columns by their place, so a new one comes last."""
    names = [each["name"] for each in VERSION["additionalPrinterColumns"]]
    assert names[: len(BEFORE["columns"])] == BEFORE["columns"]


def test_metrics_keep_their_names_and_labels() -> None:
    """Dashboards and alerts of users name them."""
    collectors = [each for each in [*REGISTRY._collector_to_names] if hasattr(each, "_labelnames")]
    now = {each._name: sorted(each._labelnames) for each in collectors}
    now |= {each.name: sorted(each._labels) for each in service_metrics._FLEET.collect()}
    assert {name: now.get(name) for name in BEFORE["metrics"]} == BEFORE["metrics"]


def test_phases_conditions_reasons_and_events_keep_their_names() -> None:
    """`kubectl wait`, alerts and GitOps health checks name them."""
    texts = "\n".join(path.read_text() for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))
    constants = (each.value for each in ast.walk(ast.parse(texts)) if isinstance(each, ast.Constant))
    now = {each for each in constants if isinstance(each, str) and re.fullmatch("[A-Za-z]+", each)}
    assert set(BEFORE["words"]) <= now


@pytest.mark.parametrize("name", BEFORE["commands"])
def test_a_command_keeps_its_options(name: str) -> None:
    """Scripts call them. The empty name is `specdec` itself."""
    whole: Any = get_command(application())
    command = whole.commands[name] if name else whole
    now = {each for param in command.params for each in (*param.opts, *param.secondary_opts)}
    assert set(BEFORE["commands"][name]) <= now


def test_exit_codes_of_pods_stay() -> None:
    """Users' alerts on terminated containers name them."""
    now = {"engine refused": exit_codes.REFUSED, "engine died": exit_codes.DIED, "lease lost": LOST}
    assert now == BEFORE["exitCodes"]
