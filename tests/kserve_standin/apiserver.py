"""Shows an object as Kubernetes 1.34 stores it: with the defaults that the API server fills in.

Only printing and comparing need this; a real API server does it by itself. It validates nothing.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kserve_standin.model import Manifest

_POD_DEFAULTS = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER_DEFAULTS = {
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE_DEFAULTS = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
_SERVICE_DEFAULTS = {
    "internalTrafficPolicy": "Cluster",
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
    "sessionAffinity": "None",
    "type": "ClusterIP",
}
_CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
_SCALING_METRICS = [{"type": "Resource", "resource": _CPU}]
_FASTEST = {"periodSeconds": 15, "type": "Percent", "value": 100}
_SCALING_DEFAULTS = {
    "scaleDown": {"policies": [_FASTEST], "selectPolicy": "Max"},
    "scaleUp": {
        "policies": [{"periodSeconds": 15, "type": "Pods", "value": 4}, _FASTEST],
        "selectPolicy": "Max",
        "stabilizationWindowSeconds": 0,
    },
}


def as_stored(manifest: Manifest) -> Manifest:
    """Return a copy of an object with the API server's defaults in it."""
    stored = deepcopy(manifest)
    stored["spec"] = _DEFAULTED[manifest["kind"]](stored["spec"])
    return stored


def _deployment(spec: Manifest) -> Manifest:
    spec = {"progressDeadlineSeconds": 600, "replicas": 1, "revisionHistoryLimit": 10, **spec}
    strategy = {"type": "RollingUpdate", **spec.get("strategy", {})}
    if strategy["type"] == "RollingUpdate":
        limits = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = {"maxSurge": "25%", "maxUnavailable": "25%", **limits}
    template = {**spec["template"], "spec": _pod(spec["template"]["spec"])}
    return {**spec, "strategy": strategy, "template": template}


def _pod(spec: Manifest) -> Manifest:
    spec = {**_POD_DEFAULTS, **spec}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_container(item) for item in spec[field]]
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    return _without_image_volumes(spec)


def _container(spec: Manifest) -> Manifest:
    spec = {**_CONTAINER_DEFAULTS, **spec}
    if spec.get("ports"):
        spec["ports"] = [{"protocol": "TCP", **port} for port in spec["ports"]]
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        if spec.get(field):
            spec[field] = _probe(spec[field])
    return spec


def _probe(spec: Manifest) -> Manifest:
    spec = {**_PROBE_DEFAULTS, **spec}
    if spec.get("httpGet"):
        spec["httpGet"] = {"scheme": "HTTP", "path": "/", **spec["httpGet"]}
    return spec


def _without_image_volumes(spec: Manifest) -> Manifest:
    """Drop image volumes and their mounts: the feature is off in 1.34, and off means silently dropped."""
    images = {volume["name"] for volume in spec.get("volumes", []) if "image" in volume}
    if not images:
        return spec
    spec["volumes"] = [volume for volume in spec["volumes"] if volume["name"] not in images]
    for container in spec["containers"]:
        mounts = container.get("volumeMounts", [])
        container["volumeMounts"] = [mount for mount in mounts if mount["name"] not in images]
    return spec


def _service(spec: Manifest) -> Manifest:
    ports = [{"protocol": "TCP", **port} for port in spec["ports"]]
    return {**_SERVICE_DEFAULTS, **spec, "ports": ports}


def _autoscaler(spec: Manifest) -> Manifest:
    behavior = {**_SCALING_DEFAULTS, **spec.get("behavior", {})}
    return {"metrics": _SCALING_METRICS, **spec, "behavior": behavior}


_DEFAULTED: dict[str, Callable[[Manifest], Manifest]] = {
    "Deployment": _deployment,
    "HorizontalPodAutoscaler": _autoscaler,
    "Service": _service,
}
