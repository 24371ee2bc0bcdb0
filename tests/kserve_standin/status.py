"""Decides the status of an InferenceService from its Deployment and pods, with KServe's traps in it.

Ready stays True as long as old pods are available, however the new ones fail; observedGeneration is the
Deployment's, not the InferenceService's.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.kserve_standin.conditions import (
    IMAGE_VOLUMES,
    INGRESS_READY,
    PREDICTOR_READY,
    READY,
    STOPPED,
    Conditions,
)
from tests.kserve_standin.model import Config, Manifest, RefusalKind, Refused, Runtime, predictor_name
from tests.kserve_standin.model_status import next_model_status, refused_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNTOUCHED: Manifest = {"transitionStatus": ""}
# What KServe says of Kubernetes 1.33 and 1.34, whether or not the gate is open.
_IMAGE_VOLUMES_GATED = (
    "ImageVolumeAlpha",
    "Cluster K8s 1.34 has ImageVolume feature-gated (K8s 1.33\u20131.34 beta). "
    "Ensure --feature-gates=ImageVolume=true is set on kube-apiserver and kubelet.",
)


def status_of_refusal(previous: Manifest, refused: Refused, runtime: Runtime | None, now: str) -> Manifest:
    """Return the status of an InferenceService whose objects KServe would not, or could not, make."""
    status, conditions = _opened(previous, runtime, now)
    if refused.kind is RefusalKind.INVALID_SPEC:
        status["modelStatus"] = refused_spec(status["modelStatus"], refused.reason, refused.message)
    else:
        status["components"] = {"predictor": {}, **status.get("components", {})}
        conditions.mark(PREDICTOR_READY, "False", refused.kind, refused.message)
    return {**status, "conditions": conditions.listed()}


def status_of_stopped(previous: Manifest, runtime: Runtime, now: str) -> Manifest:
    """Return the status of a stopped InferenceService: all that happened is forgotten."""
    if Conditions.of(previous, now).found.get(PREDICTOR_READY, {}).get("reason") == "Stopped":
        return previous
    conditions = Conditions.of({}, now)
    conditions.mark(PREDICTOR_READY, "False", "Stopped")
    conditions.mark(STOPPED, "False")
    conditions.mark(STOPPED, "True")
    cleared = {"deploymentMode": "Standard", "modelStatus": dict(_UNTOUCHED)}
    return {**_with_runtime(cleared, runtime), "conditions": conditions.listed()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What there is once KServe made the objects: its Deployment, the pods, the runtime they came from."""

    deployment: Manifest
    pods: Sequence[Manifest]
    runtime: Runtime


def next_status(isvc: Manifest, made: Made, config: Config, now: str) -> Manifest:
    """Return the status after KServe made the objects and looked at the Deployment and the pods."""
    status, conditions = _opened(isvc.get("status") or {}, made.runtime, now)
    name, namespace = predictor_name(isvc), isvc["metadata"].get("namespace", "default")
    conditions.mark(PREDICTOR_READY, *_predictor_ready(made.deployment.get("status") or {}))
    predictor = dict(status.get("components", {}).get("predictor", {}))
    if conditions.status(PREDICTOR_READY) == "True":
        predictor["url"] = f"http://{name}-{namespace}.{config.ingress_domain}"
    status["components"] = {**status.get("components", {}), "predictor": predictor}
    status.pop("observedGeneration", None)  # a Deployment that was just made has observed nothing
    observed = (made.deployment.get("status") or {}).get("observedGeneration")
    if observed:
        status["observedGeneration"] = observed
    ready = conditions.status(READY) == "True"
    status["modelStatus"] = next_model_status(status["modelStatus"], made.pods, ready=ready)
    if config.oci_mode == "native":
        conditions.mark(IMAGE_VOLUMES, "False", *_IMAGE_VOLUMES_GATED)
    if conditions.status(STOPPED) != "False":
        conditions.mark(STOPPED, "False")
    status["url"] = f"http://{isvc['metadata']['name']}-{namespace}.{config.ingress_domain}"
    status["address"] = {"url": f"http://{name}.{namespace}.svc.cluster.local"}
    conditions.mark(INGRESS_READY, "True")
    return {**status, "conditions": conditions.listed()}


def _opened(previous: Manifest, runtime: Runtime | None, now: str) -> tuple[Manifest, Conditions]:
    """Return what every path starts from: nothing forgotten, Unknown where nothing was said."""
    status = {"modelStatus": dict(_UNTOUCHED), **deepcopy(previous), "deploymentMode": "Standard"}
    conditions = Conditions.of(status, now)
    conditions.initialize()
    return _with_runtime(status, runtime), conditions


def _with_runtime(status: Manifest, runtime: Runtime | None) -> Manifest:
    if runtime is None:
        return status
    mine, other = "servingRuntimeName", "clusterServingRuntimeName"
    if runtime.cluster_scoped:
        mine, other = other, mine
    return {**{name: value for name, value in status.items() if name != other}, mine: runtime.name}


def _predictor_ready(status: Manifest) -> tuple[str, str, str]:
    """Return status, reason and message of PredictorReady; the later rules outweigh the earlier ones."""
    by_type = {item["type"]: item for item in status.get("conditions") or []}
    available = by_type.get("Available", {})
    verdict = ("False", "", "")
    if available.get("status") == "True":
        verdict = _as("True", available)
    verdict = _with_progress(verdict, available, by_type.get("Progressing", {}))
    if available.get("status") == "False":
        verdict = _as("False", available)
    failure = by_type.get("ReplicaFailure", {})
    return _as("False", failure) if failure.get("status") == "True" else verdict


def _with_progress(verdict: tuple[str, str, str], available: Manifest, progressing: Manifest) -> tuple[str, str, str]:
    match progressing.get("status"):
        case "False" if progressing.get("message"):
            return _as("False", progressing)
        case "True" if progressing.get("reason") == "NewReplicaSetAvailable":
            return _as("True", progressing)
        case "True" if available.get("status") != "True":
            return _as("Unknown", progressing)
        case _:
            return verdict


def _as(status: str, condition: Manifest) -> tuple[str, str, str]:
    return status, condition.get("reason", ""), condition.get("message", "")
