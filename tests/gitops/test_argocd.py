"""Argo CD's own evaluation of the patch of argocd-cm: its Lua, its limits on libraries, its reading of the results."""

import functools
from typing import Any

import pytest
import yaml
from hack.gitops import argocd

from tests.gitops import judges
from tests.gitops.states import CASES, Case
from tests.gitops.test_argocd_lua import TESTS, data, untimed


@functools.cache
def said() -> dict[str, dict[str, Any]]:
    """Argo CD's health and actions by the words of the case."""
    answers = judges.argo({"object": case.body} for case in CASES)
    return {case.words: answer for case, answer in zip(CASES, answers, strict=True)}


@functools.cache
def done() -> dict[str, dict[str, Any]]:
    """What Argo CD makes of each action of the layout."""
    tests = TESTS["actionTests"]
    answers = judges.argo({"object": data("actions", each["inputPath"]), "action": each["action"]} for each in tests)
    return {test["action"]: answer for test, answer in zip(tests, answers, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_argo_cd_itself_shows_each_state_as_in_the_table(case: Case) -> None:
    """The words are those that a real Lua has as well."""
    health = said()[case.words].get("health")
    assert health is not None, said()[case.words]
    assert health["status"] == case.argo


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_argo_cd_itself_offers_what_makes_sense(case: Case) -> None:
    """All four are listed, and those that make no sense are disabled."""
    actions = said()[case.words]["actions"]
    assert set(actions) == set(argocd.ACTIONS)
    assert {name for name, enabled in actions.items() if enabled} == case.acts


@pytest.mark.parametrize("test", TESTS["health"], ids=lambda test: test["inputPath"])
def test_argo_cd_itself_passes_the_layouts_health_tests(test: dict[str, Any]) -> None:
    """Status and message."""
    (answer,) = judges.argo([{"object": data(".", test["inputPath"])}])
    assert {key: answer["health"][key] for key in ("status", "message")} == test["healthStatus"]


@pytest.mark.parametrize("test", TESTS["actionTests"], ids=lambda test: test["action"])
def test_argo_cd_itself_changes_one_annotation(test: dict[str, Any]) -> None:
    """The object that it would write is the one that the layout expects, empty maps and lists included."""
    answer = done()[test["action"]]
    (changed,) = answer.get("changed", [None])
    assert changed is not None, answer
    wanted = data("actions", test["expectedOutputPath"])
    assert yaml.safe_load(untimed(yaml.safe_dump(changed, width=1000))) == wanted
