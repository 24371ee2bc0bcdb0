"""Our rules against the recorded verdicts of the engines' own configuration code."""

import functools
import pathlib
from typing import Any

import pytest
from lab.verdicts.agree import lines as recordings
from lab.verdicts.judge import judge
from tests.unit.engine.cases import KINDS, VERDICTS
from tests.unit.engine.test_rules import SIDES

from specdec_engine.check import RULES
from specdec_engine.rule import Severity
from specdec_engine.tables import table

VERSIONS = ("0.11.2", "0.15.1", "0.20.2", "0.25.1", "0.32.0")
FILES = sorted([*VERDICTS.glob("vllm-*"), *VERDICTS.glob("drawn-*"), *VERDICTS.glob("n*.gz")])
STRICTER = {rule.id for rule in RULES if rule.stricter}
ENGINES_OWN = {rule.id for rule in RULES if rule.severity is Severity.REFUSED and not rule.stricter}
LEAST_AGREEMENT = 0.999


Judged = list[tuple[dict[str, Any], dict[str, Any]]]
"""Recorded lines with our verdict of each."""


@functools.cache
def judged_of(path: pathlib.Path) -> Judged:
    """All of a recording, judged once for both tests."""
    return [(line, judge(line, KINDS)) for line in recordings(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".jsonl")[0])
def test_our_verdict_is_the_verdict_of_the_engine(path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At least 999 of 1000 verdicts are predicted. The test prints every other one with both results.

    Where we are stricter than the engine, a rule with that mark has the reason, and we never deploy what it refuses.
    Schedules were run through the function that the scheduler's constructor calls: we refuse now what it refuses later.
    """
    judged = judged_of(path)
    for line, said in judged:
        explained(line, said)
    wrong = [
        (line, said) for line, said in judged if line["ok"] != said["engine_ok"] and not line.get("platform_specific")
    ]
    with capsys.disabled():
        for line, said in wrong:
            print(f"\n{path.name} {line['id']}: the engine {line.get('error') or 'accepts it'}; we {said['message']}")
    assert 1 - len(wrong) / len(judged) >= LEAST_AGREEMENT
    assert not [line["id"] for line, _ in wrong if line["ok"]], "what the engine accepts is refused"


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
    names = [*(f"vllm-{version}.jsonl" for version in VERSIONS), "vllm-0.33.0.jsonl.gz", "vllm-ascend-0.23.0.jsonl.gz"]
    ids = [{line["id"] for line in recordings(VERDICTS / name)} for name in names]
    assert [len(each) for each in ids] == [848] * len(names)
    assert all(each == ids[0] for each in ids)


def test_every_rule_has_an_example_or_alone_explains_a_recorded_refusal() -> None:
    """Without it the verdict of a recording would be another. test_argv.py has the rules of the command line."""
    missing = {rule.id for rule in RULES} - {each[0] for each in SIDES} - table("rules")["rules"]["command_line"].keys()
    for path in sorted(FILES, key=lambda each: each.stat().st_size):
        if not missing:
            break
        for line, said in judged_of(path):
            found = ENGINES_OWN.intersection(said["rules"])
            if len(found) == 1 and not line["ok"] and not line.get("platform_specific"):
                missing -= found
    assert missing == set()
