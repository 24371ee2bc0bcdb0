"""Puts the CRDs and the operator's RBAC onto the API server, and gives the operator its service account's token."""

import pathlib
from collections.abc import Iterable
from typing import Any

import yaml
from hack.cluster.versions import KSERVE
from hack.kserve import module, objects

from tests.wire.api import APPLY, Api, Object, documents

_ROOT = pathlib.Path(__file__).parents[2]
OURS = (
    _ROOT / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml",
    _ROOT / "manifests" / "operator" / "namespace.yaml",
    _ROOT / "manifests" / "operator" / "rbac.yaml",
    _ROOT / "manifests" / "downloads" / "rbac.yaml",
    _ROOT / "manifests" / "control" / "rbac.yaml",
    _ROOT / "manifests" / "dial" / "rbac.yaml",
)
"""What the operator needs of this project, except itself."""
SYSTEM = "specdec-system"
_PLURALS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/specdec-system/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}


async def install(api: Api, files: Iterable[pathlib.Path] | None = None) -> None:
    """Applies the objects of files: by default everything the operator needs, except itself, and KServe's own CRDs
    without KServe. Waits until the API server serves each CRD among them.
    """
    bodies = kserve_definitions() if files is None else []
    bodies += [body for file in (OURS if files is None else files) for body in documents(file.read_text())]
    for body in bodies:
        path = f"{_PLURALS[body['kind']]}/{body['metadata']['name']}"
        await api.call("patch", path, body, content_type=APPLY, field_manager="wire-tests", force_conflicts=True)
    for body in bodies:
        if body["kind"] == "CustomResourceDefinition":
            await api.served(body)


def kserve_definitions() -> list[Object]:
    """KServe's CRDs of the version that is tested, as upstream's manifests have them."""
    return objects.definitions(module.objects_of(module.manifests(KSERVE)))


async def put_definition(api: Api, body: Object) -> None:
    """Applies one CRD, and waits until the API server serves each of its versions."""
    path = f"{_PLURALS['CustomResourceDefinition']}/{body['metadata']['name']}"
    await api.call("patch", path, body, content_type=APPLY, field_manager="wire-tests", force_conflicts=True)
    await api.served(body)


async def make_account(api: Api, name: str, namespace: str = SYSTEM) -> str:
    """A new service account; returns its name."""
    await api.create(("v1", "serviceaccounts"), namespace, {"metadata": {"name": name}})
    return name


async def grant(api: Api, account: str, rules: list[Object], *, within: str = "", of: str = SYSTEM) -> None:
    """Grants an account of a namespace these rules, within one namespace or in the whole cluster."""
    kind, place = ("Role", f"/namespaces/{within}") if within else ("ClusterRole", "")
    path = f"/apis/rbac.authorization.k8s.io/v1{place}/{kind.lower()}"
    await api.call("post", f"{path}s", {"metadata": {"name": account}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": account}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": of}]
    await api.call("post", f"{path}bindings", {"metadata": {"name": account}, "roleRef": role, "subjects": subjects})


async def operator_kubeconfig(
    api: Api, admin: pathlib.Path, target: pathlib.Path, *, account: str = "specdec-operator", namespace: str = SYSTEM
) -> pathlib.Path:
    """A kubeconfig with a token of the operator's service account, or of another: its permissions and no more."""
    request: Object = {"spec": {"audiences": [], "expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    token = (await api.call("post", path, request))["status"]["token"]
    content: dict[str, Any] = yaml.safe_load(admin.read_text())
    content["users"] = [{"name": content["users"][0]["name"], "user": {"token": token}}]
    target.write_text(yaml.safe_dump(content))
    return target
