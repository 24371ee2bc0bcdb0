"""The small parts of `specdec doctor`: NetworkPolicies, quantities, and how findings are shown."""

import io
import json
from typing import Any

import pytest
from rich.console import Console
from tests.unit.doctor.snapshots import DENIED, Raw, snapshot
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.cli.doctor import document, page, signs_for
from specdec_command.doctor.check_metrics import Direction, Endpoint, Passage, lets, selecting
from specdec_command.doctor.examine import examine
from specdec_engine.quantity import quantity
from specdec_operator.display.untrusted import Untrusted

_OPERATOR = Endpoint(namespace="home", around={"kubernetes.io/metadata.name": "home"}, labels={"app": "operator"})
_HOME = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "home"}}}
_NOT_HOME = {
    "namespaceSelector": {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["home"]}]
    }
}
_IS_OPERATOR = {"podSelector": {"matchLabels": {"app": "operator"}}}
_BLOCK = {"ipBlock": {"cidr": "10.0.0.0/8"}}


def rule(*peers: Raw, ports: list[Raw] | None = None) -> Raw:
    return {**({"from": list(peers)} if peers else {}), **({"ports": ports} if ports is not None else {})}


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        ([], Passage.NO),
        ([{}], Passage.YES),
        ([rule(_HOME)], Passage.YES),
        ([rule(_NOT_HOME)], Passage.NO),
        ([rule({"namespaceSelector": {}})], Passage.YES),
        ([rule(_IS_OPERATOR)], Passage.NO),  # alone it means pods of the policy's own namespace
        ([rule({**_HOME, **_IS_OPERATOR})], Passage.YES),
        ([rule({**_HOME, "podSelector": {"matchLabels": {"app": "other"}}})], Passage.NO),
        ([rule({**_HOME, "podSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}})], Passage.YES),
        (
            [rule({**_HOME, "podSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}})],
            Passage.YES,
        ),
        ([rule(_HOME, ports=[{"port": 8080}])], Passage.YES),
        ([rule(_HOME, ports=[{"port": 9090}])], Passage.NO),
        ([rule(_HOME, ports=[{"port": 8080, "protocol": "UDP"}])], Passage.NO),
        ([rule(_HOME, ports=[{"port": 8000, "endPort": 8100}])], Passage.YES),
        ([rule(_HOME, ports=[{"port": 8081, "endPort": 8100}])], Passage.NO),
        ([rule(_HOME, ports=[{"protocol": "TCP"}])], Passage.YES),
        ([rule(_HOME, ports=[{"port": "http"}])], Passage.YES),
        ([rule(_HOME, ports=[{"port": "metrics"}])], Passage.NO),
        ([rule(_BLOCK)], Passage.MAYBE),
        ([rule(_BLOCK, ports=[{"port": 9090}])], Passage.NO),
        ([rule(_BLOCK), rule(_HOME)], Passage.YES),
        ([rule(_NOT_HOME), rule(_HOME)], Passage.YES),
    ],
)
def test_policies_let_through_what_any_of_their_rules_lets_through(rules: list[Raw], answer: Passage) -> None:
    """Peers in one entry are both asked for, entries and rules are alternatives, ports go by number or name."""
    policies = (Untrusted({"spec": {"podSelector": {}, "ingress": rules}}),)
    assert lets(policies, _OPERATOR, Direction.IN, 8080, {"http": 8080}, "team") is answer


@pytest.mark.parametrize(
    ("spec", "way", "chosen"),
    [
        ({"podSelector": {}}, Direction.IN, True),
        ({"podSelector": {}}, Direction.OUT, False),
        ({"podSelector": {}, "egress": [{}]}, Direction.OUT, True),
        ({"podSelector": {}, "policyTypes": ["Egress"]}, Direction.IN, False),
        ({"podSelector": {"matchLabels": {"app": "operator"}}}, Direction.IN, True),
        ({"podSelector": {"matchLabels": {"app": "x"}}}, Direction.IN, False),
        (
            {"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}},
            Direction.IN,
            False,
        ),
    ],
)
def test_a_policy_is_about_the_pods_and_the_ways_that_it_names(spec: Raw, way: Direction, chosen: bool) -> None:
    """Without policyTypes: what comes in, and what goes out where it has rules for it."""
    assert bool(selecting((Untrusted({"spec": spec}),), _OPERATOR, way)) is chosen


def test_no_policy_lets_everybody_in() -> None:
    assert lets((), _OPERATOR, Direction.IN, 8080, {}, "team") is Passage.YES


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2", 2.0),
        ("500m", 0.5),
        ("1.5", 1.5),
        ("2k", 2000.0),
        ("1Gi", 2.0**30),
        ("1e3", 1000.0),
        ("x", None),
        ("", None),
    ],
)
def test_quantities_are_read(text: str, number: float | None) -> None:
    """Decimal and binary units, thousandths and powers of ten."""
    assert quantity(text) == number


def _denied(raw: Raw) -> None:
    raw["nodes"] = DENIED
    raw["controller"]["status"] = {}


def _shown(encoding: str) -> str:
    seen = snapshot(_denied)
    console = Console(width=300, file=io.StringIO(), highlight=False)
    with console.capture() as captured:
        console.print(page(seen, examine(seen), signs_for(encoding)))
    return captured.get()


def test_people_see_every_area_and_the_way_out_below_each_finding() -> None:
    """A tick for what is well, and no tick where something could not be read."""
    lines = _shown("utf-8").splitlines()
    assert "✓ Kubernetes" in lines
    assert "? devices" in lines
    at = next(number for number, line in enumerate(lines) if "KServeControllerNotReady" in line)
    assert lines[at - 1] == "✗ KServe"
    assert lines[at + 1].strip().startswith("fix: kubectl -n kserve describe pods")
    assert lines[-1] == "1 to fix, 0 to check, 1 unknown"


def test_an_output_that_knows_no_ticks_gets_words() -> None:
    """LC_ALL=C, old consoles and their pipes."""
    assert _shown("ascii").isascii()
    assert "FIX KServe" in _shown("ascii")


def test_programs_get_the_same() -> None:
    """Every finding in its parts, and the state of each area."""
    seen = snapshot(_denied)
    made: dict[str, Any] = json.loads(json.dumps(document(seen, examine(seen))))
    assert made["toFix"] == 1
    assert made["areas"]["devices"] == "unknown"
    assert [each["id"] for each in made["findings"]] == ["KServeControllerNotReady", "NotReadable"]
    assert all(each["what"] and each["why"] and each["fix"] for each in made["findings"])


@pytest.mark.parametrize("option", ["-n", "--service", "--operator-namespace"])
def test_names_become_parts_of_urls_and_are_looked_at(option: str) -> None:
    done = CliRunner().invoke(application("doctor"), ["doctor", option, "../secrets"])
    assert done.exit_code == 2
    assert "is not a valid name" in done.output
