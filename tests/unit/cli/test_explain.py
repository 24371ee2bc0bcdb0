"""`specdec explain` and the page docs/methods.md: every method, for people and for programs."""

import json
import re

import pytest
import typer
import yaml
from hack.pages.methods import page
from typer.testing import CliRunner

from specdec_command.advice.catalogue import METHODS
from specdec_command.cli.explain import explain

APP = typer.Typer()
APP.command()(explain)
RUNNER = CliRunner()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_explained_to_people(method: str) -> None:
    """Its meaning, where it runs, what K to begin with, and what to mind."""
    shown = RUNNER.invoke(APP, [method])
    assert shown.exit_code == 0
    words = " ".join(shown.output.replace("│", " ").split())
    assert METHODS[method].meaning in words
    assert all(head in words for head in ("guesses from", "runs on", "acceptance", "memory", "mind"))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_explained_to_programs(method: str) -> None:
    """JSON and YAML hold the same, sources included."""
    as_json = json.loads(RUNNER.invoke(APP, [method, "--format", "json"]).output)
    as_yaml = yaml.safe_load(RUNNER.invoke(APP, [method, "--format", "yaml"]).output)
    assert as_json == as_yaml
    assert as_json["method"] == method
    assert as_json["caveats"][0]["source"]


@pytest.mark.parametrize(("word", "near"), [("eagel3", "eagle3"), ("n_gram", "ngram"), ("draftmodel", "draft_model")])
def test_an_unknown_method_is_an_error_with_the_nearest_word(word: str, near: str) -> None:
    """Exit code 2, nothing on standard output, and all words that there are."""
    shown = RUNNER.invoke(APP, [word])
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith(
        f"error: {word!r} is not a method; did you mean {near}? the methods are mtp, eagle3,"
    )


def test_without_a_method_all_are_listed() -> None:
    """For people who do not know the words yet."""
    assert all(method in RUNNER.invoke(APP, []).output for method in METHODS)
    listed = json.loads(RUNNER.invoke(APP, ["--format", "json"]).output)
    assert [each["method"] for each in listed] == list(METHODS)


def test_the_page_has_every_method_and_every_fact() -> None:
    """docs/methods.md is this page. It has a fact that many methods share once."""
    text = page().replace("\\*", "*")
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["Methods and accelerators", "Facts about several methods", *METHODS]
    for each in METHODS.values():
        facts = (*each.needed, *each.checks, each.tokens_note, each.acceptance_note, *each.speedup_notes, each.memory)
        assert not [fact for fact in (*facts, *each.caveats) if fact.says not in text]
    assert text.count("On Ascend NPUs 1 + K must be") == 1
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1
