"""What of upstream's manifests is applied, and what is changed so that the controller runs as a process. Pure."""

import base64
import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

NAMESPACE: Final = "kserve"
ACCOUNT: Final = "kserve-controller-manager"
"""The controller's ServiceAccount, and its Deployment."""
STORAGE_IMAGE: Final = "localhost/storage-initializer"
"""The download container of the tests (hack/images/storage): KServe's own image cannot be pulled everywhere."""
_SERVICE: Final = "kserve-webhook-server-service"
_NOT_RUN: Final = ("llmisvc", "llminferenceservice", "localmodel")
"""Parts of 0.16's single manifest that have controllers of their own, which are not run here."""
_WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_CHECKED: Final = ("ClusterServingRuntime", "ClusterStorageContainer")
"""Of KServe's own kinds: they exist once their CRD does, and KServe's webhook looks at them."""
Object = dict[str, Any]


def key_of(item: Mapping[str, Any]) -> tuple[str, str, str]:
    """What an object is identified by: kind, namespace, name."""
    meta = item["metadata"]
    return (item["kind"], meta.get("namespace", ""), meta["name"])


def definitions(items: Iterable[Object]) -> list[Object]:
    """The CustomResourceDefinitions of the kinds whose controller is run."""
    return [each for each in items if each["kind"] == "CustomResourceDefinition" and _is_run(each)]


def before_start(items: Iterable[Object], *, version: str) -> list[Object]:
    """What the controller expects to find when it starts.

    Changed: the ConfigMap sets Standard mode without an ingress, and the image of the download container. The
    Deployment names this version, and has no pod.
    """
    wanted = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap", "Deployment")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    found = [copy.deepcopy(each) for each in items if each["kind"] in wanted and _is_run(each)]
    for each in found:
        if each["kind"] == "ConfigMap":
            each["data"] = configured(each["data"], version)
        if each["kind"] == "Deployment":
            _without_pods(each, version)
    return [namespace, *found]


def webhooks(items: Iterable[Object], *, port: int, authority: bytes) -> list[Object]:
    """The webhooks, at the controller's port on loopback. authority: the PEM certificate that vouches for it."""
    found = [copy.deepcopy(each) for each in items if each["kind"] in _WEBHOOKS]
    bundle = base64.b64encode(authority).decode()
    for item in found:
        item["metadata"].pop("annotations", None)  # they ask cert-manager for the authority
        item["webhooks"] = [each for each in item["webhooks"] if each["clientConfig"]["service"]["name"] == _SERVICE]
        for each in item["webhooks"]:
            path = each["clientConfig"]["service"]["path"]
            each["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}
    return [each for each in found if each["webhooks"]]


def after_start(items: Iterable[Object], *, version: str) -> list[Object]:
    """Runtimes and storage containers as upstream ships them, except the image of the download container."""
    found = [copy.deepcopy(each) for each in items if each["kind"] in _CHECKED]
    for each in found:
        if each["kind"] == "ClusterStorageContainer":
            each["spec"]["container"]["image"] = f"{STORAGE_IMAGE}:v{version}"
    return found


def configured(data: Mapping[str, str], version: str) -> dict[str, str]:
    """The ConfigMap's data: Standard mode, as its own installer for that mode sets it, and nothing for an ingress."""
    changes: dict[str, Object] = {
        "deploy": {"defaultDeploymentMode": "Standard"},
        "ingress": {"disableIngressCreation": True, "disableIstioVirtualHost": True},
        "storageInitializer": {"image": f"{STORAGE_IMAGE}:v{version}"},
    }
    merged = {key: json.dumps(json.loads(data[key]) | change) for key, change in changes.items()}
    return {key: value for key, value in data.items() if key != "_example"} | merged


def _without_pods(deployment: Object, version: str) -> None:
    deployment["metadata"].setdefault("annotations", {})["specdec.io/runs"] = "as a process of hack.cluster"
    deployment["spec"]["replicas"] = 0
    for each in deployment["spec"]["template"]["spec"]["containers"]:
        if each["name"] == "manager":
            each["image"] = f"kserve/kserve-controller:v{version}"


def _is_run(item: Mapping[str, Any]) -> bool:
    return not any(part in item["metadata"]["name"] for part in _NOT_RUN)
