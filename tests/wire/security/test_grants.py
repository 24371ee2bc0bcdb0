"""What an operator without a permission reports, and that the grant that it names is enough, without a restart.

With the default roles for one namespace: the operator may not write Deployments, and reads no Secret.
"""

import pathlib
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hack.helm import chart

from tests.wire.api import Api, Object, Refused, connected, documents
from tests.wire.install import grant, make_account, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

NAMESPACED = pathlib.Path(__file__).parents[3] / "manifests" / "namespaced"
SECRET = "v1", "secrets"
TOKENS = 400.0
ALWAYS: dict[str, Any] = {"control": {"mode": "Always"}, "speedup": {"min": 1.0}, "baseline": "None"}


def rules(file: str) -> list[Object]:
    """The rules of all roles in a file of manifests/namespaced."""
    return [rule for each in documents((NAMESPACED / file).read_text()) for rule in each.get("rules", ())]


@pytest.fixture
async def account(api: Api, world: World) -> str:
    """A service account with the default permissions for one namespace."""
    made = await make_account(api, f"default-{world.namespace}")
    await grant(api, made, rules("cluster-role.yaml"))
    await grant(api, made, rules("roles.yaml"), within=world.namespace)
    return made


@pytest.fixture
async def limited(
    api: Api, kubeconfig: pathlib.Path, world: World, account: str, tmp_path: pathlib.Path
) -> AsyncIterator[OperatorProcess]:
    """An operator with that account."""
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig", account=account)
    async with OperatorProcess(own, world.namespace, tmp_path) as process:
        yield process


async def test_baseline_pods_wait_for_a_permission_for_this_service(
    api: Api, world: World, account: str, limited: OperatorProcess
) -> None:
    """Speculation goes on meanwhile. The grant by name is the chart's for rbac.controlServices."""
    await world.apply(sis(guard=ALWAYS))
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=TOKENS))
    found = await world.told("ComparingWithPlain", "rbac.controlServices", "kubectl apply -k manifests/control")
    assert (found["reason"], f'"{NAME}-predictor" is forbidden' in found["message"]) == ("NoPlainPod", True)
    await world.phase("Watching")
    values = {"rbac.controlServices": [f"{world.namespace}/{NAME}"]}
    (role,) = (each for each in chart.objects(values, "--show-only=templates/rbac-control.yaml") if "rules" in each)
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{world.namespace}/roles/{account}"
    roles = await api.call("get", path)
    await api.call("put", path, roles | {"rules": [*roles["rules"], *role["rules"]]})
    await world.baseline_pods()


async def test_a_token_waits_for_a_role_that_names_its_secret(
    api: Api, kubeconfig: pathlib.Path, world: World, account: str, limited: OperatorProcess, tmp_path: pathlib.Path
) -> None:
    """The message has the commands, and what they create grants this Secret and no other."""
    for name in ("metrics", "other"):
        await api.create(SECRET, world.namespace, {"metadata": {"name": name}})
    pods = {"scheme": "HTTPS", "tokenSecret": {"name": "metrics", "key": "token"}}
    await world.apply(sis(guard={"source": {"pods": pods}}))
    await world.roll_out(await world.child(), EngineStandIn(tokens_per_second=TOKENS))
    found = await world.told("GuardPassing", "ScrapeFailed", "the operator may not read it")
    asked = re.search(r"create role (\S+) --verb=get --resource=secrets --resource-name=metrics", found["message"])
    assert asked is not None
    assert f"--serviceaccount=specdec-system:{account}" in found["message"]
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{world.namespace}/role"
    one: Object = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["metrics"], "verbs": ["get"]}
    await api.call("post", f"{path}s", {"metadata": {"name": asked[1]}, "rules": [one]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": asked[1]}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "specdec-system"}]
    await api.call("post", f"{path}bindings", {"metadata": {"name": asked[1]}, "roleRef": role, "subjects": subjects})
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "reads", account=account)
    async with connected(own) as theirs:
        assert await theirs.get(SECRET, world.namespace, "metrics")
        with pytest.raises(Refused, match='cannot get resource "secrets"'):
            await theirs.get(SECRET, world.namespace, "other")
