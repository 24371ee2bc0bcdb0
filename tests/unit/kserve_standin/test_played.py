"""Scenes played to the real KServe controller are played to the stand-in's pure steps, with the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.kserve_standin.stage import Stage

PLAYED = Path(__file__).parents[2] / "data" / "kserve" / "played"
NAMES = sorted(path.stem for path in PLAYED.glob("*.yaml"))
RUNTIMES = list(yaml.safe_load_all((PLAYED.parent / "runtimes.yaml").read_text()))


@pytest.mark.parametrize("name", NAMES)
def test_a_scene_goes_as_it_went_with_kserve(name: str) -> None:
    """After every step of a scene the objects and the status are KServe's."""
    recorded = yaml.safe_load((PLAYED / f"{name}.yaml").read_text())
    stage = Stage(recorded, RUNTIMES)
    stage.look()
    expected = recorded["objects"]
    assert stage.objects == expected
    assert stage.isvc["status"] == recorded["status"]
    for number, step in enumerate(recorded.get("steps", [])):
        if stage.change(step):
            stage.look()
        expected = step.get("objects", expected)
        assert stage.objects == expected, f"objects after step {number}"
        assert stage.isvc["status"] == step["status"], f"status after step {number}"
