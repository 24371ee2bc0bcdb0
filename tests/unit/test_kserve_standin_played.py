"""Scenes played to the real KServe controller are played to the stand-in's pure steps, with the same answers."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from tests.kserve_standin.apiserver import as_stored
from tests.kserve_standin.merge import merge
from tests.kserve_standin.model import Config, Manifest, RefusalKind, Refused, Rendered, app_label, is_stopped
from tests.kserve_standin.model_status import StillStarting
from tests.kserve_standin.render import choose, render
from tests.kserve_standin.runtimes import runtime_of
from tests.kserve_standin.status import Made, next_status, status_of_refusal, status_of_stopped
from tests.kserve_standin.update import autoscaler_update, deployment_update, service_update
from tests.kserve_standin.wake import woken

PLAYED = Path(__file__).parents[1] / "data" / "kserve" / "played"
NAMES = sorted(path.stem for path in PLAYED.glob("*.yaml"))
RUNTIMES = list(yaml.safe_load_all((PLAYED.parent / "runtimes.yaml").read_text()))
NOW = "<time>"

# The API server refuses these, after KServe sent them: what it says is taken from the recording, and
# tests/wire/test_kserve_standin.py lets a real API server say it. The kinds are those it lets through.
REFUSED_BY_API_SERVER = {"two-handlers": ["Service"], "ports-without-names": []}


class Stage:
    """A cluster of one InferenceService whose Deployment and pods do what a scene says."""

    def __init__(self, recorded: Manifest) -> None:
        self.isvc = deepcopy(recorded["input"])
        self.said = recorded["status"]
        self.pods: dict[str, Manifest] = {}
        self.deployment_status: Manifest | None = None
        self.objects: list[Manifest] = []

    def change(self, step: Manifest) -> bool:
        """Do what a step says; return whether KServe would notice."""
        noticed = False
        if "replace" in step:
            self.isvc["spec"] = deepcopy(step["replace"]["spec"])
            noticed = True
        if "patch" in step:
            self.isvc = _without_nulls(merge(self.isvc, step["patch"]))
            noticed = True
        if "pods" in step:
            noticed |= self._change_pods(step["pods"])
        if "deployment" in step:
            self.deployment_status = step["deployment"]
            noticed = True
        return noticed

    def _change_pods(self, pods: list[Manifest]) -> bool:
        app = {"app": app_label(self.isvc), "serving.kserve.io/inferenceservice": self.isvc["metadata"]["name"]}
        new: dict[str, Manifest] = {}
        for pod in pods:
            # A pod keeps the moment at which it first appeared.
            born = self.pods.get(pod["name"], {}).get("metadata", {}).get("creationTimestamp")
            meta = {"name": pod["name"], "namespace": "rec", "labels": app}
            meta["creationTimestamp"] = born or f"{len(self.pods) + len(new):04}"
            new[pod["name"]] = {"kind": "Pod", "metadata": meta, "status": pod["status"]}
        # The API server first stores a new pod without a status: KServe sees the status come.
        changes = [(self.pods.get(name, {**pod, "status": {}}), pod) for name, pod in new.items()]
        self.pods = new
        return any(woken(old, pod, []) for old, pod in changes)

    def look(self) -> None:
        """Let KServe look until nothing changes any more: its own status write wakes it again."""
        for _ in range(5):
            before = self.isvc.get("status")
            self._reconcile()
            if self.isvc.get("status") == before:
                return
        raise AssertionError("the status never settles")

    def _reconcile(self) -> None:
        previous, runtime = self.isvc.get("status") or {}, None
        try:
            runtime = choose(self.isvc, [runtime_of(item) for item in RUNTIMES])
            rendered = render(self.isvc, runtime, Config())
            if is_stopped(self.isvc):
                self.objects, self.deployment_status = [], None
                self.isvc["status"] = status_of_stopped(previous, runtime, NOW)
                return
            self._store(rendered)
            deployment = {"status": self.deployment_status or {}}
            made = Made(deployment=deployment, pods=list(self.pods.values()), runtime=runtime)
            self.isvc["status"] = next_status(self.isvc, made, Config(), NOW)
        except Refused as refused:
            self.isvc["status"] = status_of_refusal(previous, refused, runtime, NOW)
        except StillStarting:
            return

    def _store(self, rendered: Rendered) -> None:
        accepted = REFUSED_BY_API_SERVER.get(self.isvc["metadata"]["name"])
        found = {item["kind"]: item for item in self.objects}
        self.objects = [_stored(item, found.get(item["kind"])) for item in rendered.objects()]
        if accepted is not None:
            self.objects = [item for item in self.objects if item["kind"] in accepted]
            message = next(item for item in self.said["conditions"] if item["type"] == "PredictorReady")
            raise Refused(kind=RefusalKind.RECONCILE_FAILED, message=message["message"])


def _stored(wanted: Manifest, found: Manifest | None) -> Manifest:
    """Return an object as it is in the cluster after KServe wrote it, or left it alone."""
    if found is None:
        return as_stored(wanted)
    match wanted["kind"]:
        case "Deployment":
            stored = as_stored(deployment_update(wanted, found))
            return found if stored["spec"] == found["spec"] else stored
        case "Service":
            return as_stored(service_update(wanted, found) or found)
        case _:
            return as_stored(autoscaler_update(wanted, found) or found)


def _without_nulls(manifest: Manifest) -> Manifest:
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in manifest.items()
        if value is not None
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_scene_goes_as_it_went_with_kserve(name: str) -> None:
    """After every step of a scene the objects and the status are KServe's."""
    recorded = yaml.safe_load((PLAYED / f"{name}.yaml").read_text())
    stage = Stage(recorded)
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
