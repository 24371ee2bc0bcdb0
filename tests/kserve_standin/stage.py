"""The pure steps of the stand-in on a stage: a cluster of one InferenceService that does what a scene says.

It plays the API server and the Deployment's controller, so that scenes recorded from KServe can be replayed
without either.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from tests.kserve_standin.apiserver import as_stored
from tests.kserve_standin.around import around_of
from tests.kserve_standin.model import (
    DISABLE_AUTO_UPDATE,
    Manifest,
    RefusalKind,
    Refused,
    Rendered,
    annotation,
    app_label,
    is_ready,
    is_stopped,
)
from tests.kserve_standin.model_status import StillStarting
from tests.kserve_standin.render import choose, render
from tests.kserve_standin.runtimes import runtime_of
from tests.kserve_standin.status import Made, next_status, status_of_refusal, status_of_stopped
from tests.kserve_standin.update import autoscaler_update, deployment_update, service_update
from tests.kserve_standin.wake import woken

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = "<time>"

# The API server refuses these after KServe sent them, so no pure function knows the words: they are taken from
# the recording here, and tests/wire/test_kserve_standin.py lets a real API server say them. Listed is what it
# lets through.
REFUSED_BY_API_SERVER = {
    "bad-mount-name": ("Service",),
    "ports-without-names": (),
    "two-handlers": ("Service",),
}


def merge_patch(target: Manifest, patch: Manifest) -> Manifest:
    """Merge as JSON merge patch does: null removes, lists are replaced."""
    merged = {name: value for name, value in target.items() if name not in patch or patch[name] is not None}
    for name, value in patch.items():
        if isinstance(value, dict):
            old = merged.get(name)
            merged[name] = merge_patch(old if isinstance(old, dict) else {}, value)
        elif value is not None:
            merged[name] = value
    return merged


class Stage:
    """A cluster of one InferenceService whose Deployment and pods do what a scene says."""

    def __init__(self, recorded: Manifest, runtimes: Sequence[Manifest]) -> None:
        self.isvc = deepcopy(recorded["input"])
        self.given = recorded.get("given", [])
        self.refusal = REFUSED_BY_API_SERVER.get(self.isvc["metadata"]["name"])
        self.said = recorded["status"]
        self.pods: dict[str, Manifest] = {}
        self.deployment_status: Manifest | None = None
        self.objects: list[Manifest] = []
        self.runtimes = {item["metadata"]["name"]: item for item in runtimes}
        self.retrying = False

    def change(self, step: Manifest) -> bool:
        """Do what a step says; return whether KServe would notice."""
        noticed = self.retrying
        if "runtime" in step:
            noticed |= self._change_runtime(step["runtime"])
        if "edit" in step:
            kind, patch = step["edit"]["kind"], step["edit"]["patch"]
            self.objects = [merge_patch(item, patch) if item["kind"] == kind else item for item in self.objects]
            noticed = True
        if "delete" in step:
            self.objects = [item for item in self.objects if item["kind"] != step["delete"]]
            self.deployment_status = None if step["delete"] == "Deployment" else self.deployment_status
            noticed = True
        if "replace" in step:
            self.isvc["spec"] = deepcopy(step["replace"]["spec"])
            noticed = True
        if "patch" in step:
            self.isvc = merge_patch(self.isvc, step["patch"])
            noticed = True
        if "pods" in step:
            noticed |= self._change_pods(step["pods"])
        if "deployment" in step:
            self.deployment_status = step["deployment"]
            noticed = True
        return noticed

    def _change_runtime(self, runtime: Manifest) -> bool:
        old = self.runtimes.get(runtime["metadata"]["name"])
        self.runtimes[runtime["metadata"]["name"]] = runtime
        return bool(woken(old, runtime, [self.isvc]))

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
        self.retrying = False
        if annotation(self.isvc, DISABLE_AUTO_UPDATE) == "true" and is_ready(self.isvc):
            return
        try:
            runtime = choose(self.isvc, [runtime_of(item) for item in self.runtimes.values()])
            config, around = around_of(self.isvc, self.given)
            rendered = render(self.isvc, runtime, config, around)
            if is_stopped(self.isvc):
                self.objects, self.deployment_status = [], None
                self.isvc["status"] = status_of_stopped(previous, runtime, NOW)
                return
            self._store(rendered)
            deployment = {"status": self.deployment_status or {}}
            made = Made(deployment=deployment, pods=list(self.pods.values()), runtime=runtime)
            self.isvc["status"] = next_status(self.isvc, made, config, NOW)
        except Refused as refused:
            self.retrying = True
            self.isvc["status"] = status_of_refusal(previous, refused, runtime, NOW)
        except StillStarting:
            return

    def _store(self, rendered: Rendered) -> None:
        found = {item["kind"]: item for item in self.objects}
        self.objects = [_stored(item, found.get(item["kind"])) for item in rendered.objects()]
        if self.refusal is not None:
            self.objects = [item for item in self.objects if item["kind"] in self.refusal]
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
