"""Every recording of the real KServe controller is reproduced by the stand-in, field by field."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.kserve_standin.apiserver import as_stored
from tests.kserve_standin.model import Config, Manifest, RefusalKind, Refused, Runtime
from tests.kserve_standin.render import choose, render
from tests.kserve_standin.runtimes import runtime_of
from tests.kserve_standin.stage import REFUSED_BY_API_SERVER
from tests.kserve_standin.status import Made, next_status, status_of_refusal

RECORDED = Path(__file__).parents[2] / "data" / "kserve" / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.yaml"))
NOW = "<time>"
CONFIG = Config()


def recording(name: str) -> Manifest:
    loaded: Manifest = yaml.safe_load((RECORDED / f"{name}.yaml").read_text())
    return loaded


def runtimes() -> list[Runtime]:
    text = (RECORDED.parent / "runtimes.yaml").read_text()
    return [runtime_of(manifest) for manifest in yaml.safe_load_all(text)]


def deployment_behind(status: Manifest) -> Manifest:
    """Return the Deployment whose state a recorded status was made from: its PredictorReady tells."""
    condition = next(item for item in status["conditions"] if item["type"] == "PredictorReady")
    available = {"type": "Available", **{key: condition[key] for key in ("status", "reason", "message")}}
    observed = status["observedGeneration"]
    return {"status": {"conditions": [available], "observedGeneration": observed}}


def pods_behind(status: Manifest) -> list[Manifest]:
    """Return the pods whose state a recorded modelStatus was made from."""
    loaded = status["modelStatus"]["states"]["targetModelState"] == "Loaded"
    ready = status["modelStatus"]["copies"].get("totalCopies", 0)
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return [{"metadata": {}, "status": {"conditions": conditions}}] if loaded else []


def answer(isvc: Manifest, recorded: Manifest) -> tuple[list[Manifest], Manifest]:
    """Run the pure part of a reconcile: the objects as the API server stores them, and the status."""
    runtime = None
    try:
        runtime = choose(isvc, runtimes())
        rendered = render(isvc, runtime, CONFIG)
    except Refused as refused:
        return [], status_of_refusal({}, refused, runtime, NOW)
    objects = [as_stored(manifest) for manifest in rendered.objects()]
    if isvc["metadata"]["name"] in REFUSED_BY_API_SERVER:
        said = next(item for item in recorded["status"]["conditions"] if item["type"] == "PredictorReady")
        invalid = Refused(kind=RefusalKind.RECONCILE_FAILED, message=said["message"])
        return [as_stored(rendered.service)], status_of_refusal({}, invalid, runtime, NOW)
    # KServe first saw a Deployment without a status and no pods, then the state that was recorded.
    nothing: tuple[Manifest, list[Manifest]] = ({}, [])
    seen = deployment_behind(recorded["status"]), pods_behind(recorded["status"])
    status: Manifest = {}
    for deployment, pods in (nothing, seen):
        made = Made(deployment=deployment, pods=pods, runtime=runtime)
        status = next_status({**isvc, "status": status}, made, CONFIG, NOW)
    return objects, status


@pytest.mark.parametrize("name", NAMES)
def test_objects_and_status_are_those_of_the_recording(name: str) -> None:
    """The stand-in makes what KServe made, down to the last field."""
    recorded = recording(name)
    objects, status = answer(recorded["input"], recorded)
    assert objects == recorded["objects"]
    assert status == recorded["status"]


def test_no_recording_is_forgotten() -> None:
    """The fifteen recordings of KServe 0.20.0 are all here."""
    assert len(NAMES) >= 15
