"""The pages: a runbook for each alert, whose commands exist, and a table that names every metric."""

import pathlib
import re
import shlex
import subprocess

import pytest
import typer
from prometheus_client import REGISTRY
from tests.monitoring_files import ALERTS, ROOT

from specdec_command.cli.commands import application
from specdec_operator import metrics
from specdec_operator.report import service_metrics

PAGE = ROOT / "docs" / "monitoring.md"
RUNBOOKS = {path.stem: path.read_text() for path in (ROOT / "docs" / "runbooks").glob("*.md")}
PARTS = ["What to look at", "What to do", "When it is wrong"]
KUBECTL = {"get", "describe", "logs", "auth", "rollout", "apply"}
KINDS = {"sis", "isvc", "pods", "leases", "networkpolicies"}
COMMANDS = [
    (name, command)
    for name, text in sorted(RUNBOOKS.items())
    for command in dict.fromkeys(
        re.findall(r"^(?:specdec|kubectl) .*$|(?<=`)(?:specdec|kubectl) [^`]+(?=`)", text, re.M)
    )
]


def test_alerts_and_runbooks_match_one_to_one() -> None:
    """No alert would link to an additional page, and an additional link would be dead."""
    assert set(RUNBOOKS) == set(ALERTS)


@pytest.mark.parametrize("name", sorted(RUNBOOKS))
def test_a_runbook_has_its_meaning_diagnosis_and_fix(name: str) -> None:
    heads = re.findall(r"^#+ (.*)$", RUNBOOKS[name], re.M)
    assert heads == [name, *PARTS]
    for part in re.split(r"^#+ .*$", RUNBOOKS[name], flags=re.M)[1:]:
        assert len(part.split()) > 5, f"{name}: {part!r}"


def test_a_command_of_a_runbook_exists() -> None:
    """specdec's with its options; of kubectl's the verb, and the kind that it is about."""
    there = getattr(typer.main.get_command(application()), "commands", {})
    assert COMMANDS
    for where, command in COMMANDS:
        program, *words = shlex.split(command.replace("\n", " "))
        if program == "kubectl":
            assert words[0] in KUBECTL, (where, command)
            assert words[0] != "get" or words[1] in KINDS | {"--raw"}, (where, command)
            continue
        assert words[0] in there, (where, command)
        options = {option for each in there[words[0]].params for option in (*each.opts, *each.secondary_opts)}
        assert {word for word in words[1:] if word.startswith("-")} <= options, (where, command)


def test_every_metric_is_in_the_table() -> None:
    assert metrics is not service_metrics
    ends = {"counter": "_total", "histogram": "", "gauge": ""}
    names = {each.name + ends[each.type] for each in REGISTRY.collect() if each.name.startswith("specdec_")}
    assert names - set(re.findall(r"`(specdec_\w+)`", PAGE.read_text())) == set()


def test_the_table_has_the_largest_number_of_series_of_a_service() -> None:
    assert f"at most {service_metrics.MOST_SERIES} series" in PAGE.read_text()


def test_the_commands_that_move_the_runbooks_move_all_of_them(tmp_path: pathlib.Path) -> None:
    """As the page has them, for the plain rules and for those of the Prometheus operator."""
    commands = re.findall(r"^sed .*$", PAGE.read_text(), re.M)
    (tmp_path / "manifests").symlink_to(ROOT / "manifests")
    for command in commands:
        subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, timeout=20)
    made = sorted(tmp_path.glob("*.yaml"))
    assert [path.name for path in made] == ["prometheusrule.yaml", "rules.yaml"]
    for path in made:
        urls = re.findall(r"runbook_url: (.*)$", path.read_text(), re.M)
        assert urls == [f"https://wiki.example.com/specdec/{alert}.md" for alert in ALERTS]
