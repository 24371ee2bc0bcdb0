"""Runs Helm on the chart of this tree. It never touches a cluster."""

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from hack.cluster import shell
from hack.helm import program

ROOT: Final = pathlib.Path(__file__).parents[2]
CHART: Final = ROOT / "charts" / "specdec-operator"
RELEASE: Final = "specdec-operator"
NAMESPACE: Final = "specdec-system"

Objects = list[dict[str, Any]]


def template(values: Mapping[str, Any], *words: str, chart: pathlib.Path = CHART) -> str:
    """Return what the chart renders with these values. Raises ClusterError with Helm's words."""
    asked = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
    helm = str(program.ensure())
    return shell.run([helm, "template", RELEASE, str(chart), f"--namespace={NAMESPACE}", *asked, *words])


def objects(values: Mapping[str, Any], *words: str) -> Objects:
    """Return what it renders, as objects."""
    return [each for each in yaml.safe_load_all(template(values, *words)) if each]


def lint(values: Mapping[str, Any]) -> shell.Answer:
    """Return what `helm lint --strict` says of the chart with these values."""
    asked = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
    return shell.ask([str(program.ensure()), "lint", "--strict", str(CHART), *asked])


def key(body: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what tells an object from others: kind, namespace, name."""
    meta = body["metadata"]
    return body["kind"], meta.get("namespace", ""), meta["name"]


def by_key(found: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return objects by what tells them apart."""
    return {key(each): dict(each) for each in found}
