"""Decides which objects KServe makes of an InferenceService and its runtime, or why it refuses to.

The result is what KServe sends; apiserver.py knows what the API server adds to it. Nothing here does I/O.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from tests.kserve_standin.model import (
    AGENT,
    AUTOSCALER_CLASS,
    GROUP,
    ISVC_API,
    ISVC_LABEL,
    NEVER_COPIED,
    Around,
    Config,
    Manifest,
    Metadata,
    RefusalKind,
    Refused,
    Rendered,
    Runtime,
    app_label,
    predictor_name,
)
from tests.kserve_standin.podspec import make_pod
from tests.kserve_standin.runtimes import resolve
from tests.kserve_standin.scope import check_scope
from tests.kserve_standin.storage import Settings, with_storage

if TYPE_CHECKING:
    from collections.abc import Iterable


def choose(isvc: Manifest, runtimes: Iterable[Runtime]) -> Runtime:
    """Return the runtime of an InferenceService that the stand-in covers, or raise why there is none."""
    check_scope(isvc)
    return resolve(isvc["spec"]["predictor"]["model"], runtimes)


def render(isvc: Manifest, runtime: Runtime, config: Config, around: Around | None = None) -> Rendered:
    """Return the objects of one InferenceService, or raise the refusal that KServe reports instead."""
    predictor = isvc["spec"]["predictor"]
    meta = _metadata(isvc, runtime)
    pod = make_pod(isvc, runtime)
    service = _service(meta, pod)
    # A pod with the multi-model agent loads its models itself, so KServe leaves its storage alone.
    if predictor.get("storageUris") and AGENT not in meta["annotations"]:
        settings = Settings(config=config, around=around or Around())
        pod = with_storage(pod, isvc, meta["annotations"], settings)
    return Rendered(
        deployment=_deployment(meta, pod, predictor),
        service=service,
        autoscaler=_autoscaler(meta, predictor),
    )


def owner_reference(isvc: Manifest) -> Manifest:
    """Return the reference by which Kubernetes deletes an object together with its InferenceService."""
    return {
        "apiVersion": ISVC_API,
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": "InferenceService",
        "name": isvc["metadata"]["name"],
        "uid": isvc["metadata"].get("uid", "<uid>"),
    }


def _metadata(isvc: Manifest, runtime: Runtime) -> Metadata:
    """Return the metadata that all objects share; the predictor's outweighs the InferenceService's."""
    name, predictor = isvc["metadata"]["name"], isvc["spec"]["predictor"]
    annotations = {
        **(runtime.spec.get("annotations") or {}),
        **(isvc["metadata"].get("annotations") or {}),
        **(predictor.get("annotations") or {}),
    }
    copied = {key: value for key, value in annotations.items() if key not in NEVER_COPIED}
    return {
        "name": predictor_name(isvc),
        "namespace": isvc["metadata"].get("namespace", "default"),
        "annotations": {**copied, **(_agent_annotations(name) if _is_multi_model(predictor) else {})},
        "labels": {
            **(runtime.spec.get("labels") or {}),
            **(isvc["metadata"].get("labels") or {}),
            **(predictor.get("labels") or {}),
            ISVC_LABEL: name,
            "component": "predictor",
            "app": app_label(isvc),
        },
        "ownerReferences": [owner_reference(isvc)],
    }


def _is_multi_model(predictor: Manifest) -> bool:
    """Say whether KServe takes the predictor for a server that is told its models later.

    It does so for every format but huggingface that names no storage: the trap that makes the operator
    render `huggingface`.
    """
    if predictor.get("containers"):
        env = predictor["containers"][0].get("env") or []
        return any(item["name"] == "MULTI_MODEL_SERVER" and item.get("value") == "true" for item in env)
    return predictor["model"]["modelFormat"]["name"] != "huggingface" and not predictor.get("storageUris")


def _agent_annotations(name: str) -> dict[str, str]:
    prefix = f"internal.{GROUP}"
    return {
        AGENT: "true",
        f"{prefix}/configMountPath": "/mnt/configs",
        f"{prefix}/configVolumeName": f"modelconfig-{name}-0",
        f"{prefix}/modelDir": "/mnt/models",
    }


def _deployment(meta: Metadata, pod: Manifest, predictor: Manifest) -> Manifest:
    template = {key: deepcopy(meta[key]) for key in ("name", "namespace", "annotations", "labels")}
    spec: Manifest = {
        "selector": {"matchLabels": {"app": meta["labels"]["app"]}},
        "template": {"metadata": template, "spec": pod},
    }
    if predictor.get("deploymentStrategy"):
        spec["strategy"] = deepcopy(predictor["deploymentStrategy"])
    # With any other class the replicas belong to the autoscaler, so KServe does not name a number.
    if meta["annotations"].get(AUTOSCALER_CLASS) == "none" and predictor.get("minReplicas") is not None:
        spec["replicas"] = predictor["minReplicas"]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": deepcopy(meta), "spec": spec}


def _service(meta: Metadata, pod: Manifest) -> Manifest:
    ports = pod["containers"][0].get("ports") or [{"name": meta["name"], "containerPort": 8080}]
    spec = {
        "selector": {"app": meta["labels"]["app"]},
        "ports": [
            {
                **({"name": port["name"]} if port.get("name") else {}),
                # The first port is the one that clients know; the others keep their numbers.
                "port": 80 if index == 0 else port["containerPort"],
                "protocol": port.get("protocol", "TCP"),
                "targetPort": port["containerPort"],
            }
            for index, port in enumerate(ports)
        ],
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": deepcopy(meta), "spec": spec}


def _autoscaler(meta: Metadata, predictor: Manifest) -> Manifest | None:
    scaler = meta["annotations"].get(AUTOSCALER_CLASS, "hpa")
    if scaler not in {"hpa", "external", "none"}:
        message = f"fails to create NewRawKubeReconciler for predictor: unknown autoscaler class type: {scaler}"
        raise Refused(kind=RefusalKind.RECONCILE_FAILED, message=message)
    if scaler != "hpa":
        return None
    at_least = max(1, predictor.get("minReplicas") or 1)
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"]},
        "minReplicas": at_least,
        "maxReplicas": max(at_least, predictor.get("maxReplicas") or 0),
        "behavior": {},
        **_metrics(predictor.get("scaleMetric", "cpu"), predictor.get("scaleTarget")),
    }
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**head, "metadata": deepcopy(meta), "spec": spec}


def _metrics(metric: str, target: int | None) -> Manifest:
    """Return what to scale by; for anything but CPU and memory KServe asks for nothing at all."""
    wanted = 80 if metric == "cpu" and target is None else target
    if metric not in {"cpu", "memory"} or wanted is None:
        return {}
    resource = {"name": metric, "target": {"type": "Utilization", "averageUtilization": wanted}}
    return {"metrics": [{"type": "Resource", "resource": resource}]}
