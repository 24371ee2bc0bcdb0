"""Our rules against the recorded verdicts of five engines' own configuration code."""

import json
from typing import Any

import pytest
from tests.unit.engine.cases import KINDS, VERDICTS
from tests.unit.engine.recorded import judge

from specdec_operator.engine.check import RULES

VERSIONS = ("0.11.2", "0.15.1", "0.20.2", "0.25.1", "0.32.0")
STRICTER = {rule.id for rule in RULES if rule.stricter}
LEAST_AGREEMENT = 0.999


def lines(version: str, series: str = "vllm") -> list[dict[str, Any]]:
    """All recordings of a version."""
    return [json.loads(line) for line in (VERDICTS / f"{series}-{version}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("series", ["vllm", "drawn"])
@pytest.mark.parametrize("version", VERSIONS)
def test_we_say_what_the_engine_says(version: str, series: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At least 999 of 1000 verdicts are foretold; every other one is printed with what was said on both sides.

    Where we are stricter than the engine a rule marked so says why, and what it refuses we never deploy. Schedules were
    run through the function that the scheduler's constructor calls: what it refuses later we refuse now.
    """
    judged = [(line, judge(line, KINDS)) for line in lines(version, series)]
    for line, said in judged:
        explained(line, said)
    wrong = [(line, said) for line, said in judged if line["ok"] != said["engine_ok"]]
    with capsys.disabled():
        for line, said in wrong:
            print(f"\n{version} {line['id']}: the engine {line['error'] or 'accepts it'}; we {said['message']}")
    assert 1 - len(wrong) / len(judged) >= LEAST_AGREEMENT


def explained(line: dict[str, Any], said: dict[str, Any]) -> None:
    """What must hold for each line, whether we agree with the engine or not."""
    if said["ok"] != said["engine_ok"]:
        assert said["engine_ok"], line["id"]
        assert STRICTER & set(said["rules"]), line["id"]
        assert said["message"], line["id"]
    late = line.get("late_check")
    if isinstance(late, dict) and late.get("ok") is False and line["ok"]:
        assert not said["ok"], line["id"]


def test_the_recordings_are_all_there() -> None:
    """The same ids for all versions."""
    ids = [{line["id"] for line in lines(version)} for version in VERSIONS]
    assert [len(each) for each in ids] == [848] * len(VERSIONS)
    assert all(each == ids[0] for each in ids)
