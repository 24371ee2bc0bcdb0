"""Simulated recordings of traffic that changes: each must end in the decision that its file calls right."""

import functools
import pathlib
from typing import Any

import pytest
import yaml

from specdec_command.replay.play import WindowDecision, learn, play, read_recording
from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.guard.policy import METHODS
from specdec_operator.guard.tries import Action

TRACES = pathlib.Path(__file__).parents[2] / "data" / "traces-traffic"
ABOUT = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(TRACES.glob("*.yaml"))}
DECIDED = sorted(name for name in ABOUT if not name.endswith("-plain"))


@functools.cache
def decisions(name: str) -> tuple[WindowDecision, ...]:
    """What the guard makes of it, with the settings that its file names."""
    about = ABOUT[name]
    guard = Guard.model_validate(about["guard"] | {"collateral": about.get("asked_more")})
    baseline = learn(read_recording(TRACES / about["baseline"]), guard) if "baseline" in about else ()
    rounds = read_recording(TRACES / about["recording"])
    return tuple(play(rounds, guard, METHODS[Method(about["method"])], baseline).decisions)


def times(name: str, action: Action) -> list[float]:
    """When it was done, in seconds of the recording."""
    return [each.at for each in decisions(name) if each.action is action]


def is_right(name: str) -> bool:
    """Whether the guard's decision is the one of the file, and in time."""
    expect: dict[str, Any] = ABOUT[name]["expect"]
    rolled_back, restarted = times(name, Action.ROLL_BACK), times(name, Action.RESTART_POD)
    match expect["action"]:
        case "keep":
            return not rolled_back and len(restarted) <= expect.get("restarts_at_most", 0)
        case "rollback":
            return bool(rolled_back) and expect["not_before"] <= rolled_back[0] <= expect["by"]
        case "restart-pod":
            pods = {each.pod for each in decisions(name) if each.action is Action.RESTART_POD}
            in_time = bool(restarted) and expect["not_before"] <= restarted[0] <= expect["by"]
            return in_time and pods == {expect["pod"]} and not rolled_back
        case "collateral":
            told = [(each.at, finding.value) for each in decisions(name) for finding in each.collateral]
            in_time = bool(told) and expect["not_before"] <= told[0][0] <= expect["by"]
            return in_time and {finding for _, finding in told} == {expect["finding"]} and not rolled_back
    return False


@pytest.mark.parametrize("name", DECIDED)
def test_the_decision_is_the_one_that_the_file_calls_right(name: str) -> None:
    """Not sooner than the truth turns bad, not later than the file allows, and nothing else."""
    found = [(each.at, each.action, each.pod, each.judged.verdict.message) for each in decisions(name) if each.action]
    assert is_right(name), (ABOUT[name]["expect"], found)
