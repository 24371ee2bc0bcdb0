"""Plan -> InferenceService, as a plain dict. Rendering twice gives equal dicts."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from specdec_operator import names
from specdec_operator.api.pod import Pod, Rollout, Strategy
from specdec_operator.serving import stopping
from specdec_operator.serving.devices import resources
from specdec_operator.serving.owner import Owner, owner_reference
from specdec_operator.serving.plan import Plan
from specdec_operator.serving.pods import ENGINE_PORT

Manifest: TypeAlias = dict[str, Any]

PROVE: Final = ("python3", "-m", "specdec_runtime", "prove", f"--port={ENGINE_PORT}")
"""The startup probe in the runtime image: a pod is up only after it has really generated."""
_BESIDE_PODS: Final = frozenset({"minReplicas", "maxReplicas", "deploymentStrategy"})
"""Parts of the predictor that no pod template shows: changing them restarts no pod."""
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - where every process looks for it
_PROBE_PERIOD: Final = 3
_PROBE_TIMEOUT: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The manifest, and the revision that its pods carry as a label."""

    manifest: Manifest
    revision: str


def render(plan: Plan, owner: Owner, replacing: str | None = None) -> Rendered:
    """The InferenceService of a plan. replacing: the revision for which there is no room beside the old pods."""
    predictor = _predictor(plan)
    reaches_pods = {key: value for key, value in predictor.items() if key not in _BESIDE_PODS}
    revision = hashlib.sha256(json.dumps(reaches_pods, sort_keys=True).encode()).hexdigest()[:10]
    if replacing == revision and plan.spec.rollout.strategy is Strategy.AUTO:
        predictor["deploymentStrategy"] = _replace(plan.spec.replicas)
    labels = {**predictor.get("labels", {}), names.OWNER_LABEL: owner.name, names.REVISION_LABEL: revision}
    manifest = {
        "apiVersion": f"{names.KSERVE_GROUP}/{names.KSERVE_VERSION}",
        "kind": "InferenceService",
        "metadata": {
            "name": owner.name,
            "namespace": owner.namespace,
            "labels": {names.OWNER_LABEL: owner.name},
            "annotations": {
                "serving.kserve.io/deploymentMode": "Standard",
                "serving.kserve.io/autoscalerClass": "none",
            },
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": {"predictor": {**predictor, "labels": labels}},
    }
    return Rendered(manifest=manifest, revision=revision)


def _predictor(plan: Plan) -> Manifest:
    spec = plan.spec
    return {
        "minReplicas": spec.replicas,
        "maxReplicas": spec.replicas,
        "deploymentStrategy": _strategy(spec.rollout, spec.replicas),
        "model": _model(plan),
        "volumes": [*plan.layout.volumes, *_shared_memory(spec.pod)],
        **({"storageUris": list(plan.layout.storage_uris)} if plan.layout.storage_uris else {}),
        "terminationGracePeriodSeconds": stopping.GRACE,
        **_pod(spec.pod or Pod()),
    }


def _model(plan: Plan) -> Manifest:
    """The engine's container. The format is `huggingface` on purpose: KServe takes every other format without a
    storage URI for a multi-model server and adds its agent.
    """
    engine = plan.spec.engine
    model: Manifest = {
        "modelFormat": {"name": "huggingface"},
        "runtime": engine.runtime or f"specdec-{engine.accelerator.value}",
        "args": [*plan.args, *stopping.flags(engine)],
        "volumeMounts": [
            *plan.layout.mounts,
            *({"name": each["name"], "mountPath": _SHARED_MEMORY} for each in _shared_memory(plan.spec.pod)),
        ],
        "startupProbe": {
            "exec": {"command": list(PROVE)},
            "periodSeconds": _PROBE_PERIOD,
            "timeoutSeconds": _PROBE_TIMEOUT,
            "failureThreshold": max(1, round(plan.spec.rollout.deadline / _PROBE_PERIOD)),
        },
        "readinessProbe": {
            "httpGet": {"path": "/health", "port": ENGINE_PORT},
            "periodSeconds": 5,
            "timeoutSeconds": 5,
        },
        "lifecycle": {"preStop": {"exec": {"command": list(stopping.DRAIN)}}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    if engine.image:
        model["image"] = engine.image
    if engine.env:
        model["env"] = engine.env
    if asked := resources(plan.spec):
        model["resources"] = asked
    return model


def _strategy(rollout: Rollout, replicas: int) -> Manifest:
    if rollout.strategy is Strategy.REPLACE:
        return _replace(replicas)
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def _replace(replicas: int) -> Manifest:
    if replicas == 1:
        return {"type": "Recreate"}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def _pod(pod: Pod) -> Manifest:
    return pod.model_dump(by_alias=True, exclude_none=True, exclude={"shared_memory"})


def _shared_memory(pod: Pod | None) -> list[Manifest]:
    if pod is None or pod.shared_memory is None:
        return []
    return [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": pod.shared_memory}}]
