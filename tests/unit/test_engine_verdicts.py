"""Our rules against the recorded verdicts of five engines' own configuration code."""

import json
from typing import Any

import pytest

from specdec_operator.engine.check import RULES
from specdec_operator.engine.recorded import judge
from tests.unit.engine_cases import KINDS, VERDICTS

VERSIONS = ("0.11.2", "0.15.1", "0.20.2", "0.25.1", "0.32.0")
STRICTER = {rule.id for rule in RULES if rule.stricter}
LEAST_AGREEMENT = 0.999


def lines(version: str, series: str = "vllm") -> list[dict[str, Any]]:
    """All recordings of a version."""
    return [json.loads(line) for line in (VERDICTS / f"{series}-{version}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("series", ["vllm", "drawn"])
@pytest.mark.parametrize("version", VERSIONS)
def test_we_say_what_the_engine_says(version: str, series: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At least 999 of 1000 verdicts are foretold; every other one is printed with what was said on both sides."""
    recorded = lines(version, series)
    judged = [(line, judge(line, KINDS)) for line in recorded]
    wrong = [(line, said) for line, said in judged if line["ok"] != said["engine_ok"]]
    agreement = 1 - len(wrong) / len(recorded)
    with capsys.disabled():
        for line, said in wrong:
            print(f"\n{version} {line['id']}: the engine {line['error'] or 'accepts it'}; we {said['message']}")
    assert agreement >= LEAST_AGREEMENT


@pytest.mark.parametrize("version", VERSIONS)
def test_where_we_are_stricter_a_rule_says_why(version: str) -> None:
    """What the engine accepts and we refuse breaks a rule marked stricter; what it refuses we never deploy."""
    for line in lines(version):
        said = judge(line, KINDS)
        if said["ok"] != said["engine_ok"]:
            assert said["engine_ok"], line["id"]
            assert STRICTER & set(said["rules"]), line["id"]
            assert said["message"], line["id"]


@pytest.mark.parametrize("version", VERSIONS)
def test_schedules_that_the_scheduler_refuses_later_are_refused(version: str) -> None:
    """The recordings ran every schedule through the function that the scheduler's constructor calls."""
    for line in lines(version):
        late = line.get("late_check")
        if isinstance(late, dict) and late.get("ok") is False and line["ok"]:
            assert not judge(line, KINDS)["ok"], line["id"]


def test_the_recordings_are_all_there() -> None:
    """The same ids for all versions."""
    ids = [{line["id"] for line in lines(version)} for version in VERSIONS]
    assert [len(each) for each in ids] == [848] * len(VERSIONS)
    assert all(each == ids[0] for each in ids)
