"""Makes the pod that KServe asks for: the runtime's and the InferenceService's containers and fields merged.

It knows nothing of Deployments, and it leaves out what the API server fills in by itself.
"""

from __future__ import annotations

from copy import deepcopy

from tests.kserve_standin.merge import merge, merge_container
from tests.kserve_standin.model import SERVER_CONTAINER, Manifest, Runtime
from tests.kserve_standin.runtimes import retagged, server_container
from tests.kserve_standin.template import fill

# The fields of spec.predictor that are KServe's own; every other one belongs to the pod.
_NOT_OF_THE_POD = frozenset(
    {
        "annotations",
        "autoScaling",
        "batcher",
        "canaryTrafficPercent",
        "confidential",
        "containerConcurrency",
        "containers",
        "deploymentStrategy",
        "labels",
        "logger",
        "maxReplicas",
        "minReplicas",
        "model",
        "name",
        "scaleMetric",
        "scaleMetricType",
        "scaleTarget",
        "storageContainerName",
        "storageUris",
        "timeout",
        "workerSpec",
    }
)
_NOT_OF_THE_CONTAINER = frozenset(
    {"modelFormat", "protocolVersion", "runtime", "runtimeVersion", "storage", "storageUri"}
)
# A runtime may say more about its pod, but only this much reaches the pod.
_TAKEN_FROM_RUNTIME = (
    "affinity",
    "imagePullSecrets",
    "nodeSelector",
    "schedulerName",
    "tolerations",
    "volumes",
)


def make_pod(isvc: Manifest, runtime: Runtime) -> Manifest:
    """Return the spec of the pod, or raise KServe's refusal of the runtime's container."""
    predictor = isvc["spec"]["predictor"]
    base = {name: runtime.spec[name] for name in _TAKEN_FROM_RUNTIME if runtime.spec.get(name)}
    own = {name: value for name, value in predictor.items() if name not in _NOT_OF_THE_POD}
    beside = [item for item in runtime.spec["containers"] if item["name"] != SERVER_CONTAINER]
    containers = [_make_server(isvc, runtime), *beside, *predictor.get("containers", [])]
    named = [_with_env(item, "INFERENCE_SERVICE_NAME", isvc["metadata"]["name"]) for item in containers]
    return _with_defaults({**merge(base, own), "containers": named})


def _make_server(isvc: Manifest, runtime: Runtime) -> Manifest:
    model = isvc["spec"]["predictor"]["model"]
    own = {name: value for name, value in model.items() if name not in _NOT_OF_THE_CONTAINER}
    merged = merge_container(server_container(runtime), own)
    return retagged(fill(merged, isvc["metadata"], runtime), model, runtime)


def _with_env(container: Manifest, name: str, value: str) -> Manifest:
    env = deepcopy(container.get("env") or [])
    for item in env:
        if item["name"] == name:
            item["value"] = value
            break
    else:
        env.append({"name": name, "value": value})
    return {**container, "env": env}


def _with_defaults(pod: Manifest) -> Manifest:
    """Fill in the two defaults that are KServe's and not the API server's: pull policy and readiness."""
    containers = [{"imagePullPolicy": "IfNotPresent", **item} for item in pod["containers"]]
    for item in containers:
        if item["name"] == SERVER_CONTAINER and not item.get("readinessProbe"):
            ports = item.get("ports") or [{"containerPort": 8080}]
            item["readinessProbe"] = {"tcpSocket": {"port": ports[0]["containerPort"]}}
    return {**pod, "containers": containers}
