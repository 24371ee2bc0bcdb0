"""The rules, judged by Prometheus' own promtool: they parse, and each alert fires when it should and only then."""

import json
import pathlib
import re
import subprocess
from typing import Any

import pytest
import yaml
from tests.monitoring_files import ALERTS, NUMBER_OF_RULES, RECORDED, ROOT, RULES, RUNBOOKS
from tests.unit.deploy.monitoring_cases import CASES, Case

from tests import prometheus as package

SEVERITY = {name: rule["labels"]["severity"] for name, rule in ALERTS.items()}
OF_MODEL = 'namespace="team-a",model_name="llama"'
ENGINE = f'{OF_MODEL},pod="p",engine="0"'
PER_POSITION = f"vllm:spec_decode_num_accepted_tokens_per_pos_total{{{ENGINE},position="
COUNTED = {
    f"vllm:generation_tokens_total{{{ENGINE}}}": "0+300x10",
    f"vllm:spec_decode_num_drafts_total{{{ENGINE}}}": "0+100x10",
    f"vllm:spec_decode_num_draft_tokens_total{{{ENGINE}}}": "0+400x10",
    f"vllm:spec_decode_num_accepted_tokens_total{{{ENGINE}}}": "0+200x10",
    f'{PER_POSITION}"0"}}': "0+90x10",
    f'{PER_POSITION}"3"}}': "0+15x10",
    f"vllm:request_time_per_output_token_seconds_sum{{{ENGINE}}}": "0+1.2x10",
    f"vllm:request_time_per_output_token_seconds_count{{{ENGINE}}}": "0+60x10",
}
ENGINES_RECORDED = {
    "namespace_model_name:vllm_spec_decode_acceptance_rate:rate5m": {OF_MODEL: 0.5},
    "namespace_model_name:vllm_spec_decode_acceptance_length:rate5m": {OF_MODEL: 3.0},
    "namespace_model_name:vllm_spec_decode_drafted_share:rate5m": {OF_MODEL: 1.0},
    "namespace_model_name:vllm_time_per_output_token_seconds:rate5m": {OF_MODEL: 0.02},
    "namespace_model_name:vllm_generation_tokens:rate5m": {OF_MODEL: 5.0},
    "namespace_model_name_position:vllm_spec_decode_acceptance_rate:rate5m": {
        f'{OF_MODEL},position="0"': 0.9,
        f'{OF_MODEL},position="3"': 0.15,
    },
}
A, B = 'namespace="team-a",name="a"', 'namespace="team-b",name="b"'
FLEET_SEEN = {
    f'specdec_service_info{{{A},method="mtp"}}': "1x10",
    f'specdec_service_info{{{B},method="none"}}': "1x10",
    f"specdec_speculating{{{A}}}": "1x10",
    f"specdec_speculating{{{B}}}": "0x10",
    f'specdec_phase{{{A},phase="Watching"}}': "1x10",
    f'specdec_phase{{{B},phase="Watching"}}': "0x10",
    f'specdec_phase{{{B},phase="Serving"}}': "1x10",
    f"specdec_rollbacks{{{A}}}": "2x10",
    f"specdec_rollbacks{{{B}}}": "1x10",
}
FLEET_RECORDED = {
    "specdec:services:count": {"": 2},
    "specdec:services_speculating:count": {"": 1},
    "phase:specdec_services:count": {'phase="Watching"': 1, 'phase="Serving"': 1},
    "specdec:rollbacks:sum": {"": 3},
}


@pytest.fixture(scope="module")
def promtool() -> pathlib.Path:
    return package.promtool()


def run(program: pathlib.Path, *words: str, folder: pathlib.Path, **files: Any) -> subprocess.CompletedProcess[str]:
    """Runs it where these files are, each written as JSON, which is YAML."""
    for name, content in files.items():
        (folder / f"{name}.yaml").write_text(json.dumps(content))
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def written(series: dict[str, str]) -> list[dict[str, str]]:
    """Series in promtool's format."""
    return [{"series": name, "values": values} for name, values in series.items()]


def text_of(case: Case, template: str) -> str:
    """A text of the rules with the alert's labels, and with its value wherever something else is filled in."""
    text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda label: (case.labels or {})[label[1]], template)
    return re.sub(r"(\{\{.*?\}\})+", case.value or "NO VALUE", text)


def alert_test(case: Case) -> dict[str, Any]:
    """A case in promtool's format."""
    expected = []
    if case.labels is not None:
        said = {name: text_of(case, text) for name, text in ALERTS[case.alert]["annotations"].items()}
        assert said["runbook_url"] == RUNBOOKS.replace("{alert}", case.alert)
        expected = [{"exp_labels": case.labels | {"severity": SEVERITY[case.alert]}, "exp_annotations": said}]
    asked = {"eval_time": f"{case.minutes}m", "alertname": case.alert, "exp_alerts": expected}
    return {
        "name": f"{case.alert}: {case.when}",
        "interval": "1m",
        "input_series": written(case.series),
        "alert_rule_test": [asked],
    }


def expression_test(series: dict[str, str], recorded: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Recording rules in promtool's format."""
    asked = [
        {
            "expr": f"round({record}, 0.0001)",
            "eval_time": "10m",
            "exp_samples": [{"labels": f"{{{labels}}}", "value": value} for labels, value in samples.items()],
        }
        for record, samples in recorded.items()
    ]
    return {"interval": "1m", "input_series": written(series), "promql_expr_test": asked}


def cases_of(tests: list[dict[str, Any]], *, minutes: int = 0) -> dict[str, Any]:
    """A file of tests. minutes: how long they last; rules are asked once a minute, in a long test every ten."""
    return {"rule_files": ["rules.yaml"], "evaluation_interval": "10m" if minutes > 600 else "1m", "tests": tests}


def test_the_rules_are_rules(promtool: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Each expression and each template parses, and no record is there twice."""
    done = run(promtool, "check", "rules", "--lint-fatal", "rules.yaml", folder=tmp_path, rules=RULES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(ALERTS) + len(RECORDED) == NUMBER_OF_RULES, "two rules have one name"
    assert f"{NUMBER_OF_RULES} rules found" in done.stdout + done.stderr


@pytest.mark.parametrize("alert", sorted(SEVERITY))
def test_an_alert_fires_when_it_should_and_only_then(
    alert: str, promtool: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """With its labels and its texts, with the numbers filled in."""
    cases = [case for case in CASES if case.alert == alert]
    asked = cases_of([alert_test(case) for case in cases], minutes=max(case.minutes for case in cases))
    done = run(promtool, "test", "rules", "cases.yaml", folder=tmp_path, rules=RULES, cases=asked)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_cases_of_both_kinds() -> None:
    """An alert that never fires is useless, and so is one that always fires."""
    assert {case.alert for case in CASES if case.labels is not None} == set(SEVERITY)
    assert {case.alert for case in CASES if case.labels is None} == set(SEVERITY)


@pytest.mark.parametrize(("series", "recorded"), [(COUNTED, ENGINES_RECORDED), (FLEET_SEEN, FLEET_RECORDED)])
def test_what_is_recorded_is_what_was_counted(
    series: dict[str, str], recorded: dict[str, dict[str, float]], promtool: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """400 drafted tokens a minute, 200 of them accepted in 100 drafts: 0.5, and 3 tokens a step."""
    tests = [expression_test(series, recorded)]
    done = run(promtool, "test", "rules", "cases.yaml", folder=tmp_path, rules=RULES, cases=cases_of(tests))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_recording_rule_is_tested() -> None:
    assert set(RECORDED) == {*ENGINES_RECORDED, *FLEET_RECORDED}


def test_the_object_of_the_prometheus_operator_holds_the_same_rules() -> None:
    """One source, two wrappings."""
    wrapped = yaml.safe_load((ROOT / "manifests" / "monitoring" / "prometheusrule.yaml").read_text())
    assert wrapped["kind"] == "PrometheusRule"
    assert wrapped["spec"] == RULES
