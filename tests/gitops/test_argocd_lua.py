"""health.lua and the actions in a real Lua, over every state and over the files of Argo CD's own test layout."""

import os
import re
from typing import Any

import pytest
import yaml
from hack.gitops import argocd

from tests.gitops import layout
from tests.gitops.lua import run
from tests.gitops.states import CASES, Case

DISCOVERY = (argocd.FOLDER / "actions" / "discovery.lua").read_text()
TESTS = {
    "health": yaml.safe_load((argocd.FOLDER / "health_test.yaml").read_text())["tests"],
    **yaml.safe_load((argocd.FOLDER / "actions" / "action_test.yaml").read_text()),
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ by")


def untimed(text: str) -> str:
    """With the time of an action as the files of the layout have it."""
    return _TIME.sub(f"{layout.NOW} by", text)


def data(folder: str, path: str) -> Any:
    """A file that a test of the layout names."""
    return yaml.safe_load((argocd.FOLDER / folder / path).read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_argo_shows_each_state_as_in_the_table(case: Case) -> None:
    """Degraded only where the user must act, or asked for it; a rolled back service that answers is Healthy."""
    said = run(argocd.health(), case.body)
    assert said["status"] == case.argo
    assert said["message"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_argo_offers_what_makes_sense(case: Case) -> None:
    """No retry where nothing was taken back, no rollback of nothing, nothing at all while it is deleted."""
    offered = run(DISCOVERY, case.body)
    assert list(offered.keys()) != []
    assert {name for name, each in offered.items() if not each["disabled"]} == case.acts


@pytest.mark.parametrize("test", TESTS["health"], ids=lambda test: test["inputPath"])
def test_the_layouts_health_tests_hold(test: dict[str, Any]) -> None:
    """Status and message, as Argo CD's own runner compares them."""
    assert run(argocd.health(), data(".", test["inputPath"])) == test["healthStatus"]


@pytest.mark.parametrize("test", TESTS["discoveryTests"], ids=lambda test: test["inputPath"])
def test_the_layouts_discovery_tests_hold(test: dict[str, Any]) -> None:
    """Each action with its name to show and whether it is disabled."""
    offered = run(DISCOVERY, data("actions", test["inputPath"]))
    assert [{"name": each["name"], **offered[each["name"]]} for each in test["result"]] == test["result"]


@pytest.mark.parametrize("test", TESTS["actionTests"], ids=lambda test: test["action"])
def test_the_layouts_action_tests_hold(test: dict[str, Any]) -> None:
    """One annotation is written or taken away, and nothing else of the object is touched."""
    script = (argocd.FOLDER / "actions" / test["action"] / "action.lua").read_text()
    made = run(script, data("actions", test["inputPath"]))
    assert yaml.safe_load(untimed(yaml.safe_dump(made, width=1000))) == data("actions", test["expectedOutputPath"])


def test_the_layouts_files_are_those_of_the_operators_own_code() -> None:
    """SPECDEC_GOLDEN=write rewrites them; `git diff` is the review."""
    wanted = layout.files()
    if os.environ.get("SPECDEC_GOLDEN") == "write":
        for path, text in wanted.items():
            (argocd.FOLDER / path).write_text(text)
    there = {each.relative_to(argocd.FOLDER).as_posix() for each in argocd.FOLDER.rglob("*.yaml")}
    assert there == set(wanted)
    assert {path: (argocd.FOLDER / path).read_text() for path in wanted} == wanted


def test_the_patch_of_argocd_cm_is_made_of_the_scripts() -> None:
    """`python -m hack.gitops` writes it."""
    assert argocd.PATCH.read_text() == argocd.patch()
