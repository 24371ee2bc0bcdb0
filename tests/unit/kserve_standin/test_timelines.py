"""Two rollouts filmed on a real node: the stand-in's conditions go the way KServe's went."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.kserve_standin.model import Config, Manifest, Runtime
from tests.kserve_standin.status import Made, next_status

TIMELINES = Path(__file__).parents[2] / "data" / "kserve" / "timelines"
ISVC = {"metadata": {"name": "film", "namespace": "rec"}}
RUNTIME = Runtime(name="rt", cluster_scoped=False, spec={})
NOW = "<time>"

# Where a frame and the stand-in disagree: (timeline, t, field) -> (KServe's value, the stand-in's).
DIFFERENCES = {
    # The frame's pods were read after KServe had last counted them: a pod that ends does not wake KServe.
    ("recreate-drop-speculation", 2.9, "modelStatus.copies.totalCopies"): (1, None),
}


def test_every_timeline_is_here() -> None:
    """Both films are compared."""
    assert {path.stem for path in TIMELINES.glob("*.yaml")} == {
        "recreate-drop-speculation",
        "rolling-update-new-pods-crash",
    }


@pytest.mark.parametrize("name", ["recreate-drop-speculation", "rolling-update-new-pods-crash"])
def test_conditions_follow_the_deployment_frame_by_frame(name: str) -> None:
    """Ready falls with Recreate and stays True while new pods of a rolling update crash."""
    status: Manifest = {}
    differences = {}
    for frame in yaml.safe_load((TIMELINES / f"{name}.yaml").read_text()):
        made = Made(deployment=_deployment(frame), pods=_pods(frame["pods"]), runtime=RUNTIME)
        # KServe looks again after each status that it writes: once to say Ready, once to say Loaded.
        for _ in range(2):
            status = next_status({**ISVC, "status": status}, made, Config(), NOW)
        ours = _flat(_as_filmed(status))
        theirs = _flat({key: value for key, value in frame["isvc"].items() if key != "generation"})
        for path in ours.keys() | theirs.keys():
            if ours.get(path) != theirs.get(path):
                differences[name, frame["t"], path] = (theirs.get(path), ours.get(path))
    assert differences == {key: value for key, value in DIFFERENCES.items() if key[0] == name}


def _as_filmed(status: Manifest) -> Manifest:
    conditions = {
        item["type"]: "/".join(filter(None, (item["status"], item.get("reason")))) for item in status["conditions"]
    }
    observed, model = status["observedGeneration"], status["modelStatus"]
    return {"observedGeneration": observed, "conditions": conditions, "modelStatus": model}


def _deployment(frame: Manifest) -> Manifest:
    """Return the Deployment of a frame; the films have its counts, its controller made these conditions of them."""
    counts = frame["deployment"]
    available = counts.get("availableReplicas", 0) >= 1
    done = (
        available and counts.get("replicas") == counts.get("updatedReplicas") and not counts.get("unavailableReplicas")
    )
    words = "Available" if available else "Unavailable"
    conditions = [
        {"type": "Available", "status": str(available), "reason": f"MinimumReplicas{words}"},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"},
    ]
    return {"status": {"observedGeneration": counts["observedGeneration"], "conditions": conditions}}


def _pods(filmed: list[Manifest]) -> list[Manifest]:
    """Return the pods of a frame; the films list them with the newest last when it is the only new one, so by hash."""
    newest = {"5d8f47d944": "2", "84f69645cc": "1", "65559c7596": "0"}
    return [
        {
            "metadata": {"creationTimestamp": newest[pod["hash"]]},
            "status": {
                "conditions": [{"type": "Ready", "status": pod["ready"][0]}],
                "containerStatuses": [{"name": "kserve-container", "state": {"running": {}}}],
            },
        }
        for pod in filmed
    ]


def _flat(value: object, prefix: str = "") -> dict[str, object]:
    if not isinstance(value, dict):
        return {prefix: value}
    return {
        path: leaf
        for key, inner in value.items()
        for path, leaf in _flat(inner, f"{prefix}.{key}" if prefix else str(key)).items()
    }
