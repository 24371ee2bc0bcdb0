"""InferenceServices and the objects that they need, written by hand: KServe does the same for any author of them."""

from typing import Any

from tests.kserve.made import shipped
from tests.wire.api import Object

RUNTIME = "specdec-cpu"
"""The default name of this project's runtime, for an operator that is given no other name."""
HUB, BUCKET = "hf://org/target", "s3://bucket/draft/"


def service(
    name: str = "asked", *, model: Object | None = None, notes: Object | None = None, **predictor: Any
) -> Object:
    """An InferenceService in Standard mode that nothing scales. model, predictor: further parts of its spec."""
    asked = {"modelFormat": {"name": "huggingface"}, "runtime": RUNTIME} | (model or {})
    annotations = {
        "serving.kserve.io/deploymentMode": "Standard",
        "serving.kserve.io/autoscalerClass": "none",
    } | (notes or {})
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"predictor": {"minReplicas": 1, "model": asked} | predictor},
    }


def sources(*uris: str) -> list[Object]:
    """storageUris, the target first."""
    return [
        {"uri": uri, "mountPath": f"/mnt/{place}/model"} for uri, place in zip(uris, ("target", "draft"), strict=False)
    ]


def runtime(name: str, **container: Any) -> Object:
    """A ServingRuntime of the namespace: this project's for CPUs, with other parts in its container."""
    spec = shipped("cpu")["spec"]
    spec["containers"][0] |= container
    kind = {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ServingRuntime"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def secret(name: str, data: dict[str, str], notes: Object | None = None) -> Object:
    """A Secret of a namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "annotations": notes or {}},
        "stringData": data,
    }


def account(name: str, *secrets: str) -> Object:
    """A ServiceAccount with secrets."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name},
        "secrets": [{"name": each} for each in secrets],
    }


def initializer(pod: Object) -> dict[str, Any]:
    """Variables of KServe's download in a pod's spec, by name: a value, or where it comes from."""
    (found,) = (each for each in pod["initContainers"] if each["name"] == "storage-initializer")
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in found.get("env", ())}
