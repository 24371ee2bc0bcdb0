"""Asks a Prometheus server what a dashboard would ask it."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hack.cluster.errors import ClusterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series: its labels, and its values by time in epoch seconds."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From when to when is asked, in epoch seconds, and in what steps."""

    begin: float
    end: float
    step: float


def filled(expr: str, variables: Mapping[str, str]) -> str:
    """A query with the dashboard's variables filled in. Raises ValueError for one that has no value."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in variables:
            raise ValueError(f"${name} in {expr}: there is no such variable; there are {', '.join(variables)}")
        return variables[name]

    return re.sub(r"\$(\w+)", value, expr)


def targets(dashboard: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The title and the query of each target of each panel, and of the annotations."""
    for panel in dashboard["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", ()))
    yield from ((each["name"], each["expr"]) for each in dashboard["annotations"]["list"])


def over(url: str, expr: str, span: Span) -> tuple[Series, ...]:
    """What a query gives over time. Raises ClusterError with the server's words where it takes it for no query."""
    asked = {"query": expr, "start": span.begin, "end": span.end, "step": span.step}
    found = _answer(f"{url}/api/v1/query_range", asked)
    return tuple(_series(each["metric"], each["values"]) for each in found)


def at(url: str, expr: str, when: float) -> tuple[Series, ...]:
    """What a query gives at one moment, in epoch seconds. Raises as `over` does."""
    found = _answer(f"{url}/api/v1/query", {"query": expr, "time": when})
    return tuple(_series(each["metric"], [each["value"]]) for each in found)


def _series(labels: Mapping[str, str], values: list[list[Any]]) -> Series:
    return Series(labels=labels, points=tuple((float(when), float(value)) for when, value in values))


def _answer(url: str, asked: Mapping[str, object]) -> list[dict[str, Any]]:
    data = urllib.parse.urlencode(asked).encode()
    try:
        with urllib.request.urlopen(url, data=data, timeout=30) as answer:  # noqa: S310 - http, as the caller says
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found
    except urllib.error.HTTPError as error:
        raise ClusterError(f"Prometheus refuses {asked['query']}: {error.read().decode()[:500]}") from error
