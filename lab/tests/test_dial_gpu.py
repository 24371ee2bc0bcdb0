"""What runs of the dial need no engine for: the plans, and how a trace of steps is read."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.engine import dial_gpu

PLANS: dict[str, Any] = yaml.safe_load(Path(dial_gpu.__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def test_the_step_in_which_the_dial_is_lowered_verifies_what_was_drafted_before() -> None:
    """One such step is right. A raised dial is followed one step later too, and no step verifies too much then."""
    trace = [[4, 4, 8], [0, 4, 8], [0, 0, 0], [4, 0, 0], [4, 4, 8], [2, 4, 8], [2, 2, 4]]
    assert dial_gpu.followed(trace) == {"changes": 3, "lowered": 2, "steps_late": 1}


def test_an_engine_that_follows_late_is_seen() -> None:
    """Three steps after the change still verify more than asked for."""
    assert dial_gpu.followed([[4, 4, 4], [1, 4, 4], [1, 3, 3], [1, 2, 2], [1, 1, 1]])["steps_late"] == 3


@pytest.mark.parametrize("place", PLANS)
def test_a_plan_names_methods_and_graphs_that_there_are(place: str, tmp_path: Path) -> None:
    """And each group of engines begins with its baseline."""
    known = {"baseline", *dial_gpu.methods(tmp_path)}
    assert {each[0] for each in PLANS[place]["cases"]} <= known
    assert {each[2] for each in PLANS[place]["cases"]} | {PLANS[place]["graphs"]} <= set(dial_gpu.GRAPHS)
    assert all("method" not in next(iter(group.values())) for group in PLANS[place]["groups"])


def test_large_models_are_written_as_the_plan_describes_them(tmp_path: Path) -> None:
    """A plan without any times the tiny pair."""
    runs = dial_gpu.DialRuns({"models": "/m", **PLANS["nvidia"]}, tmp_path / "out.json")
    places = dial_gpu.large(runs, tmp_path)
    config = json.loads((Path(places["target"]) / "config.json").read_text(encoding="utf-8"))
    assert (config["num_hidden_layers"], config["vocab_size"]) == (32, 128256)
    runs = dial_gpu.DialRuns({"models": "/m", **PLANS["cpu"]}, tmp_path / "out.json")
    assert dial_gpu.large(runs, tmp_path) == {"target": "/m/target", "draft": "/m/draft"}
