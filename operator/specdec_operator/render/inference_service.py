"""Plan -> InferenceService, as a plain dict. Rendering twice gives equal dicts.

How a pod stops: a hook that lets its clients finish, then an engine that does, then force.

The devices that a pod asks its node for: as many as the engine is spread over, of what the device plugin offers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from specdec_engine.accelerators import Accelerator
from specdec_engine.version import Build, Version
from specdec_operator import names
from specdec_operator.api.autoscaling import Autoscaling, ScalerClass
from specdec_operator.api.canonical import digest_of
from specdec_operator.api.engine import Engine
from specdec_operator.api.pod import Pod
from specdec_operator.api.rollout import Rollout, Strategy
from specdec_operator.api.spec import InferenceServiceMeta, Owner, Spec, owner_reference
from specdec_operator.api.types import Part
from specdec_operator.names import KSERVE_GROUP
from specdec_operator.render.instrument import (
    brought,
    command,
    dial_volume,
    environment,
    further_flags,
    mounts,
    probes,
    security,
)
from specdec_operator.render.plan import Plan

Manifest: TypeAlias = dict[str, Any]

SCALER: Final = f"{KSERVE_GROUP}/autoscalerClass"
_NOBODY: Final = "none"
BESIDE_PODS: Final = frozenset(
    {"minReplicas", "maxReplicas", "scaleMetric", "scaleTarget", "scaleMetricType", "autoScaling"}
)
"""Parts of the predictor about the number of pods. Changing them restarts none."""


def scaler_class(spec: Spec) -> str:
    """The value of KServe's annotation. It reaches the pods: another one replaces them."""
    return spec.autoscaling.autoscaler_class.value if spec.autoscaling else _NOBODY


def class_of_pods(spec: Spec) -> Manifest:
    """The part of that by which revisions differ; nothing without an autoscaler."""
    return {"autoscalerClass": scaler_class(spec)} if spec.autoscaling else {}


def number_of_pods(spec: Spec, fewer: int = 0) -> Manifest:
    """The predictor's part about it. fewer: pods that give way to baseline pods; an autoscaler's never do."""
    if spec.autoscaling is None:
        number = max(1, spec.replicas - fewer) if fewer else spec.replicas
        return {"minReplicas": number, "maxReplicas": number}
    if spec.autoscaling.autoscaler_class is ScalerClass.EXTERNAL:
        return {}
    return _of_kserves(spec.autoscaling)


def _of_kserves(asked: Autoscaling) -> Manifest:
    said = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
    more = {name: said[name] for name in ("metrics", "behavior") if name in said}
    named = ("maxReplicas", "scaleMetric", "scaleTarget", "scaleMetricType")
    return {
        "minReplicas": asked.least,
        **{name: said[name] for name in named if name in said},
        **({"autoScaling": more} if more else {}),
    }


def in_place(spec: Spec) -> Manifest:
    """The strategy by which old pods go before new ones come. An autoscaler's number changes, and this must not."""
    if spec.replicas == 1 and spec.autoscaling is None:
        return {"type": "Recreate"}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


PLUGINS: Final = MappingProxyType({Accelerator.NVIDIA: "nvidia.com/gpu", Accelerator.ASCEND: "huawei.com/Ascend910"})
"""What the vendor's own device plugin calls its devices; a CPU needs none."""
_LISTS: Final = ("requests", "limits")


def resources(spec: Spec) -> dict[str, Any] | None:
    """The container's resources, with the devices if the user names none; None if there are none at all.

    A user who names an extended resource, or a ResourceClaim, names them all: another plugin, a slice of a device, a
    number. A runtime of the user's own brings its own devices.
    """
    written = spec.resources or {}
    name = PLUGINS.get(spec.engine.accelerator)
    lists = {each: written.get(each) or {} for each in _LISTS}
    readable = all(isinstance(each, dict) for each in lists.values())
    extended = readable and any("/" in each for amounts in lists.values() for each in amounts)  # others have no domain
    if name is None or spec.engine.runtime or not readable or written.get("claims") or extended:
        return written or None
    number = str(_devices(spec.engine))
    return {**written, **{each: {**amounts, name: number} for each, amounts in lists.items()}}


def _devices(engine: Engine) -> int:
    """Devices of one pod: each copy of the engine has as many as its layers are split over."""
    sizes = (engine.tensor_parallel_size, engine.pipeline_parallel_size, engine.data_parallel_size)
    return prod(size or 1 for size in sizes)


_TO_END: Final = 10
"""Seconds of the grace that are kept for the end of the engine's processes."""
_FLAG: Final = "--shutdown-timeout"
_SINCE: Final = Version(0, 18, 0)
"""vLLM PR 34730. An older engine drops what it was asked, and would not start with the flag."""


def stopping_flags(build: Build, engine: Engine, rollout: Rollout) -> tuple[str, ...]:
    """How long the engine goes on with what it was asked where no hook has waited; the user's own flag wins."""
    named = any(each.partition("=")[0].replace("_", "-") == _FLAG for each in engine.args or ())
    return () if named or build.vllm < _SINCE else (f"{_FLAG}={_enough(rollout)}",)


def _enough(rollout: Rollout) -> int:
    """Seconds for which a pod that is to stop goes on with what it was asked."""
    return round(rollout.grace) - _TO_END


_BESIDE_PODS: Final = BESIDE_PODS | {"deploymentStrategy"}
"""Parts of the predictor that no pod template shows: changing them restarts no pod."""
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - where every process looks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The manifest, and the revision that its pods carry as a label."""

    manifest: Manifest
    revision: str


_MODE: Final = f"{names.KSERVE_GROUP}/deploymentMode"


def render(plan: Plan, owner: Owner, replacing: str | None = None, *, let_go: bool = False, fewer: int = 0) -> Rendered:
    """The InferenceService of a plan. replacing: the revision for which there is no room beside the old pods.

    let_go: whether it stays when its owner is deleted, so that it has no owner reference. fewer: pods that give way to
    baseline pods.
    """
    predictor = _predictor(plan, owner)
    said = plan.spec.inference_service or InferenceServiceMeta()
    reaches_pods = {key: value for key, value in predictor.items() if key not in _BESIDE_PODS}
    reaches_pods |= class_of_pods(plan.spec)
    if said.labels or said.annotations:  # KServe copies them to the pods
        reaches_pods["metadata"] = [said.labels or {}, said.annotations or {}]
    revision = digest_of(reaches_pods)
    predictor |= number_of_pods(plan.spec, fewer)
    if replacing == revision:
        predictor["deploymentStrategy"] = in_place(plan.spec)
    labels = {**predictor.get("labels", {}), names.OWNER_LABEL: owner.name, names.REVISION_LABEL: revision}
    manifest: Manifest = {
        "apiVersion": names.KSERVE_API_VERSION,
        "kind": "InferenceService",
        "metadata": {
            "name": owner.name,
            "namespace": owner.namespace,
            "labels": {**(said.labels or {}), names.OWNER_LABEL: owner.name},
            "annotations": {**(said.annotations or {}), _MODE: "Standard", SCALER: scaler_class(plan.spec)},
            **({} if let_go else {"ownerReferences": [owner_reference(owner)]}),
        },
        "spec": {"predictor": {**predictor, "labels": labels}},
    }
    return Rendered(manifest=manifest, revision=revision)


def _predictor(plan: Plan, owner: Owner) -> Manifest:
    spec, pod = plan.spec, plan.spec.pod or Pod()
    surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": spec.rollout.max_surge, "maxUnavailable": 0}}
    volumes, init = brought(plan)
    return {
        **number_of_pods(spec),
        "deploymentStrategy": in_place(spec) if spec.rollout.strategy is Strategy.REPLACE else surge,
        "model": _model(plan),
        "volumes": [*plan.layout.volumes, *volumes, *dial_volume(plan), *_shared_memory(pod), *_dumped(pod.volumes)],
        **({"storageUris": list(plan.layout.storage_uris)} if plan.layout.storage_uris else {}),
        "terminationGracePeriodSeconds": round(spec.rollout.grace),
        **init,
        **_of_pods(pod, owner),
    }


def _of_pods(pod: Pod, owner: Owner) -> Manifest:
    """The predictor's fields for its pods as users write them. Spread is counted among the service's own pods."""
    said: Manifest = pod.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"shared_memory", "volumes", "volume_mounts"}
    )
    for each in said.get("topologySpreadConstraints", ()):
        each.setdefault("labelSelector", {"matchLabels": {names.OWNER_LABEL: owner.name}})
    return said


def _dumped(parts: Sequence[Part] | None) -> list[Manifest]:
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in parts or ()]


def _model(plan: Plan) -> Manifest:
    """The engine's container. The format is `huggingface` on purpose: KServe takes every other format without a
    storage URI for a multi-model server and adds its agent.
    """
    engine, rollout, pod = plan.spec.engine, plan.spec.rollout, plan.spec.pod or Pod()
    model: Manifest = {
        "modelFormat": {"name": "huggingface"},
        "runtime": plan.runtime,
        **command(plan),
        "args": [*further_flags(plan), *plan.args, *stopping_flags(plan.build, engine, rollout)],
        "volumeMounts": [
            *plan.layout.mounts,
            *({"name": each["name"], "mountPath": _SHARED_MEMORY} for each in _shared_memory(pod)),
            *mounts(plan),
            *_dumped(pod.volume_mounts),
        ],
        **probes(plan, _enough(rollout)),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    if plan.layout.storage_uri:
        model["storageUri"] = plan.layout.storage_uri
    if plan.image:
        model["image"] = plan.image
    if variables := environment(plan):
        model["env"] = variables
    if context := security(plan):
        model["securityContext"] = context
    if wanted := resources(plan.spec):
        model["resources"] = wanted
    return model


def _shared_memory(pod: Pod) -> list[Manifest]:
    if pod.shared_memory is None:
        return []
    return [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": pod.shared_memory}}]
