"""`specdec doctor` against real API servers of its own: one that is bare, one that is well, users with few rights.

Nothing is rolled out here, so there are KServe's CRDs, and the rest of it is as the tests write it.
"""

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import yaml

from tests import installed
from tests.unit.doctor.snapshots import node
from tests.wire.api import APPLY, Api, Object, Refused, connected, documents
from tests.wire.command import Command, Said
from tests.wire.controllers import without_kserve
from tests.wire.install import OURS, grant, install, make_account, operator_kubeconfig
from tests.wire.server import api_server

_ROOT = pathlib.Path(__file__).parents[2]
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_RUNTIMES = "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"
_SIS = "/apis/serving.specdec.io/v1alpha1/namespaces/team/speculativeinferenceservices"
_READY = {"type": "Ready", "status": "True", "reason": "Serving", "message": "1 pods answer requests"}

pytestmark = pytest.mark.xdist_group("doctor")  # one worker, which starts the module's API server once


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """The kubeconfig of an administrator of a cluster that only these tests use."""
    with without_kserve(tmp_path_factory.mktemp("doctor")) as path:
        yield path


@pytest.fixture
async def own(admin: pathlib.Path) -> AsyncIterator[Api]:
    """A client of that cluster."""
    async with connected(admin) as api:
        yield api


async def _put(api: Api, path: str, body: Object, status: Object | None = None) -> None:
    """Makes an object be so, with its status."""
    how = {"content_type": APPLY, "field_manager": "doctor-tests", "force_conflicts": True}
    await api.call("patch", path, body, **how)
    if status is not None:
        whole = {key: body[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": body["metadata"]["name"]}}
        await api.call("patch", f"{path}/status", whole | {"status": status}, **how)


def _deployment(namespace: str, name: str, pod: Object) -> tuple[str, Object, Object]:
    labels = {"app.kubernetes.io/name": "specdec-operator" if "specdec" in name else name}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }
    ready = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    return f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}", body, ready


@pytest.fixture
async def well(own: Api, admin: pathlib.Path) -> Command:
    """`specdec` of that cluster's administrator, after everything was put there that a service needs."""
    await _while_settling(own)
    for each in ("team", "kserve"):
        await _put(own, f"/api/v1/namespaces/{each}", _object("v1", "Namespace", each))
    for file in (_ROOT / "manifests" / "runtimes").glob("[!k]*.yaml"):
        for body in documents(file.read_text()):
            body["spec"]["containers"][0]["image"] = "registry.example/specdec-runtime:1"
            await _put(own, f"{_RUNTIMES}/{body['metadata']['name']}", body)
    manager = {"name": "manager", "image": "kserve/kserve-controller:v0.20.0"}
    await _put(own, *_deployment("kserve", "kserve-controller-manager", {"containers": [manager]}))
    configured = {"data": {"deploy": '{"defaultDeploymentMode": "Standard"}'}}
    path = "/api/v1/namespaces/kserve/configmaps/inferenceservice-config"
    await _put(own, path, _object("v1", "ConfigMap", "inferenceservice-config") | configured)
    env = [{"name": name, "value": value} for name, value in installed.settings().items()]
    operator = {"name": "operator", "image": "registry.example/specdec-operator:0.1.0", "env": env}
    pod = {"serviceAccountName": "specdec-operator", "containers": [operator]}
    await _put(own, *_deployment("specdec-system", "specdec-operator", pod))
    made = node()
    await _put(own, "/api/v1/nodes/gpu-1", _object("v1", "Node", "gpu-1") | {"spec": {}}, made["status"] | _INFO)
    await _service(own)
    return Command(admin, "team")


_INFO = {
    "nodeInfo": dict.fromkeys(("machineID", "systemUUID", "bootID", "kernelVersion", "osImage"), "")
    | dict.fromkeys(("containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion", "operatingSystem"), "")
    | {"architecture": "amd64"}
}
"""The fields that a node must report about itself; the test uses only the architecture."""


def _object(version: str, kind: str, name: str) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


async def _while_settling(api: Api) -> None:
    """Installs CRDs, RBAC and the operator's namespace; a CRD is served a moment after it was written."""
    await install(api, OURS)
    for _ in range(100):
        try:
            await api.call("get", _RUNTIMES)
            await api.call("get", _SIS)
        except Refused:
            await asyncio.sleep(0.1)
        else:
            return


async def _service(api: Api) -> None:
    claim = _object("v1", "PersistentVolumeClaim", "models") | {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    }
    await _put(api, "/api/v1/namespaces/team/persistentvolumeclaims/models", claim, {"phase": "Bound"})
    spec = {"model": {"uri": "pvc://models/llama"}, "speculation": {"method": "ngram", "tokens": 3}}
    sis = _object("serving.specdec.io/v1alpha1", "SpeculativeInferenceService", "llama") | {"spec": spec}
    said = _READY | {"lastTransitionTime": "2026-11-20T11:00:00Z"}
    await _put(api, f"{_SIS}/llama", sis, {"observedGeneration": 1, "conditions": [said]})


def _ids(said: Said) -> list[str]:
    assert said.err == ""
    return [each["id"] for each in json.loads(said.out)["findings"]]


async def test_a_bare_cluster_lacks_everything_in_the_order_in_which_it_is_installed(admin: pathlib.Path) -> None:
    """KServe, the CRD, the operator. This test has a server to itself: others install into theirs."""
    with api_server(admin.parent / "bare") as path:
        said = await Command(path, "default")("doctor", "--output", "json")
    assert said.code == 1
    assert _ids(said) == ["KServeMissing", "CRDMissing", "OperatorMissing"]


async def test_a_cluster_that_is_well_has_nothing_to_fix(well: Command) -> None:
    """Our own CRD, as this API server stores it, is the one that this command knows; the permissions are enough."""
    said = await well("doctor")
    assert (said.code, said.err) == (0, ""), said.out
    assert "nothing to fix, 0 to check, 0 unknown" in said.out
    assert "KServe       0.20 (the controller is kserve/kserve-controller:v0.20.0)" in said.out


async def _somebody(api: Api, admin: pathlib.Path, target: pathlib.Path, name: str, rules: list[Object]) -> Command:
    """A service account with these permissions in the whole cluster."""
    await make_account(api, name, "team")
    await grant(api, name, rules, of="team")
    return Command(await operator_kubeconfig(api, admin, target, account=name, namespace="team"), "team")


async def test_a_user_without_permissions_gets_the_missing_ones_and_no_fault(
    well: Command, own: Api, admin: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """An unknown state is not a fault, and it is still reported."""
    nobody = await _somebody(own, admin, tmp_path / "kubeconfig", "nobody", [])
    said = await nobody("doctor", "-o", "json")
    found = json.loads(said.out)
    assert (said.code, said.err, {each["severity"] for each in found["findings"]}) == (0, "", {"unknown"})
    assert "fine" not in {state for area, state in found["areas"].items() if area != "Kubernetes"}
    assert any("verbs [list] on nodes" in each["fix"] for each in found["findings"])


async def test_a_user_who_reads_roles_and_cannot_review_others_gets_findings_from_the_roles(
    well: Command, own: Api, admin: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The usual rights of a reader: everything by get and list, and no review."""
    rules: list[Object] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]
    reader = await _somebody(own, admin, tmp_path / "kubeconfig", "reader", rules)
    enough = await reader("doctor", "-o", "json")
    await own.call("delete", f"{_RBAC}/clusterrolebindings/specdec-operator")
    lacking = await reader("doctor", "-o", "json")
    assert _ids(enough) == []
    assert {*_ids(lacking)} == {"NotAllowed", "PermissionsUnknown"}  # KServe's ConfigMap may be granted by a Role


async def test_a_cluster_that_cannot_be_reached_is_not_a_finding(admin: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Exit code 2, and a message: no kubeconfig, no server at the address, and a token that is refused."""
    content: dict[str, Any] = yaml.safe_load(admin.read_text())
    gone = content["clusters"][0]["cluster"]["server"]
    (tmp_path / "stranger").write_text(
        yaml.safe_dump(content | {"users": [{"name": content["users"][0]["name"], "user": {"token": "nobody's"}}]})
    )
    content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "gone").write_text(yaml.safe_dump(content))
    for name, words in (("none", "no kubeconfig"), ("gone", "did not answer"), ("stranger", "log in again")):
        said = await Command(tmp_path / name, "team")("doctor")
        assert (said.code, said.out) == (2, ""), (name, gone)
        assert words in said.err
