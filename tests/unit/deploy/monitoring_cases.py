"""When the alerts fire and when they do not: the cases of data/alert_cases.yaml."""

import pathlib
from dataclasses import dataclass
from typing import Any

import yaml

FILE = pathlib.Path(__file__).parents[2] / "data" / "alert_cases.yaml"
SERVICE = {"namespace": "team-a", "name": "llama"}
ON = '{namespace="team-a",name="llama",instance="operator"'
"""Labels of a series as it is scraped, with the operator's own pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An alert some minutes after the beginning. labels: of the alert that fires, except its severity; None: the alert
    does not fire. value: how its texts show its value.
    """

    alert: str
    when: str
    series: dict[str, str]
    minutes: int
    labels: dict[str, str] | None = None
    value: str = ""


def cases(row: dict[str, Any]) -> tuple[Case, ...]:
    """The case that fires, the same too early, and those that do not."""
    alert, minutes, fires = row["alert"], row["minutes"], _scraped(row["fires"])
    labels, value = row.get("labels", SERVICE), row.get("value", "")
    first = Case(alert=alert, when="it fires", series=fires, minutes=minutes, labels=labels, value=value)
    early = Case(alert=alert, when="too early", series=fires, minutes=minutes - 1)
    others = (
        Case(alert=alert, when=when, series=_scraped(series), minutes=minutes) for when, series in row["others"].items()
    )
    return (first, *([early] if row.get("tight", True) else []), *others)


def _scraped(series: dict[str, str]) -> dict[str, str]:
    return {name.replace("{ON", ON): values for name, values in series.items()}


CASES = tuple(case for row in yaml.safe_load(FILE.read_text()) for case in cases(row))
