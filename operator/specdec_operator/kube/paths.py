"""The paths in the API of the objects that the operator makes, and what is posted in addition."""

from collections.abc import Mapping
from typing import Any, Final

_PLURALS: Final[Mapping[str, str]] = {
    "Deployment": "deployments",
    "InferenceService": "inferenceservices",
    "Job": "jobs",
    "Pod": "pods",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PodDisruptionBudget": "poddisruptionbudgets",
}


def path_of(manifest: Mapping[str, Any]) -> str:
    """The path of an object of a namespace, of one of the kinds that the operator makes."""
    version, meta = manifest["apiVersion"], manifest["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{base}/namespaces/{meta['namespace']}/{_PLURALS[manifest['kind']]}/{meta['name']}"


def eviction(namespace: str, pod: str) -> tuple[str, dict[str, Any]]:
    """The path and the body of the request to evict a pod, which respects every PodDisruptionBudget."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    metadata = {"name": pod, "namespace": namespace}
    return path, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
