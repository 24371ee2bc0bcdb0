"""An operator for one namespace, with the rights of manifests/namespaced and no others."""

import json
import pathlib
import uuid

import yaml

from tests.wire.api import ISVC, SIS, Api, Object
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

MANIFESTS = pathlib.Path(__file__).parents[2] / "manifests" / "namespaced"
RBAC = "rbac.authorization.k8s.io"
SYSTEM = "specdec-system"


def rules_of(file: str, kind: str) -> list[Object]:
    """The rules of every role of a kind in a file."""
    found = [each for each in yaml.safe_load_all((MANIFESTS / file).read_text()) if each["kind"] == kind]
    return [rule for each in found for rule in each["rules"]]


async def make_account(api: Api, namespace: str) -> str:
    """An account with these rights, in place of the one that the other tests share."""
    name = f"scoped-{uuid.uuid4().hex[:6]}"
    await api.create(("v1", "serviceaccounts"), SYSTEM, {"metadata": {"name": name}})
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}]
    for kind, rules, path in (
        ("ClusterRole", rules_of("cluster-role.yaml", "ClusterRole"), f"/apis/{RBAC}/v1/"),
        ("Role", rules_of("roles.yaml", "Role"), f"/apis/{RBAC}/v1/namespaces/{namespace}/"),
    ):
        reference = {"apiGroup": RBAC, "kind": kind, "name": name}
        role: Object = {"metadata": {"name": name}, "rules": rules}
        await api.call("post", f"{path}{kind.lower()}s", role)
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
        await api.call("post", f"{path}{kind.lower()}bindings", binding)
    return name


async def test_an_operator_of_one_namespace_needs_no_rights_in_others(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path
) -> None:
    """It makes, watches and rolls back what is in its namespace, is refused nothing, and leaves others alone."""
    elsewhere = f"{world.namespace}-other"
    await api.create_namespace(elsewhere)
    account = await make_account(api, world.namespace)
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig", account=account)
    async with OperatorProcess(own, world.namespace, tmp_path) as operator:
        await api.apply(SIS, elsewhere, sis())
        await world.apply(sis())
        child = await world.child(speculative=True)
        await world.roll_out(child, EngineStandIn(tokens_per_second=2000.0, acceptance=0.05))
        await world.phase("Responding", "RolledBack")
        await world.child(speculative=False)
        assert await api.get(ISVC, elsewhere, NAME) is None
        lines = [json.loads(line) for line in operator.log.read_text().splitlines() if line.startswith("{")]
    refused = [line["message"] for line in lines if "forbidden" in line["message"] or "permission" in line["message"]]
    assert refused == []
