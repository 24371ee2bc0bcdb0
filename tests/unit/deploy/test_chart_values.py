"""The chart's own files, without Helm: its values and its version. What it renders: tests/chart."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from hack.helm import chart


def paths(schema: Mapping[str, Any], values: Any, at: str = "") -> Iterator[str]:
    """The paths of values that the schema does not know, and of keys of the schema that values.yaml does not show."""
    if schema.get("additionalProperties") is not False:
        return
    known = set(schema["properties"])
    yield from (f"{at}.{each}" for each in known.symmetric_difference(values))
    for each in known & set(values):
        yield from paths(schema["properties"][each], values[each], f"{at}.{each}")


def test_every_value_is_shown_and_described() -> None:
    """values.yaml is the reference: what can be set stands there. `global` is Helm's own, `claims` Kubernetes'."""
    schema = yaml.safe_load((chart.CHART / "values.schema.json").read_text())
    text = (chart.CHART / "values.yaml").read_text()
    assert set(paths(schema, yaml.safe_load(text))) == {".global", ".resources.claims"}


def test_the_chart_installs_the_operator_of_its_version() -> None:
    """The images' tags come from it."""
    project = tomllib.loads((chart.ROOT / "pyproject.toml").read_text())["project"]
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (project["version"], project["version"])
