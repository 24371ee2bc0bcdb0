"""What the operator may do is what it does: nothing that it asks is forbidden, and nothing that it may is never asked.

An API server of its own writes down every request, and the operator acts as its service account through stories that
need everything.
"""

import pathlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hack.helm import chart

from specdec_operator.api.spec import Owner, owner_reference
from tests.wire.api import APPLY, ISVC, Api, Object, Refused, connected, documents
from tests.wire.controllers import cluster
from tests.wire.install import SYSTEM, grant, make_account, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.security import stories
from tests.wire.security.recording import Recording, Right, granted, refused, table, used
from tests.wire.waiting import until
from tests.wire.world import NAME, World, sis

_CONTROL = "templates/rbac-control.yaml"
MANIFESTS = pathlib.Path(__file__).parents[3] / "manifests"
ACCOUNT = "specdec-operator"
GROUP = "serving.specdec.io"
OWNING = Right(group=GROUP, resource="speculativeinferenceservices/finalizers", verb="update")
"""The API server checks it for a client that writes blockOwnerDeletion: no request shows it, so its test is below."""
OF_SOME_NAMESPACES = {Right(group="", resource="namespaces", verb=verb) for verb in ("list", "watch")}
"""Asked for by an operator of some namespaces: the test of that one sees them. One ClusterRole is for both."""
OF_DOWNLOADS = {"jobs", "persistentvolumeclaims", "pods/log", "configmaps", "clusterstoragecontainers"}
"""What the stories without a download, in a cluster whose KServe was read before, need not ask for."""
RBAC = "rbac.authorization.k8s.io"
pytestmark = pytest.mark.xdist_group("audited")  # one worker, which starts the server once


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """An API server that writes down who asks it for what."""

    kubeconfig: pathlib.Path
    recording: Recording


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """The server; it also asks for the right to own objects, as OpenShift's does."""
    folder = tmp_path_factory.mktemp("audited")
    recording = Recording(folder)
    more = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
    with cluster(folder, *recording.flags(), more) as kubeconfig:
        yield Audited(kubeconfig=kubeconfig, recording=recording)


@pytest.fixture(scope="module")
def kubeconfig(audited: Audited) -> pathlib.Path:
    """The administrator's of that server."""
    return audited.kubeconfig


def _roles(*files: str) -> list[Object]:
    """All roles and bindings in files of manifests/."""
    found = [each for file in files for each in documents((MANIFESTS / file).read_text())]
    return [each for each in found if each["apiVersion"].startswith("rbac.")]


async def _apply_roles(api: Api, roles: list[Object]) -> None:
    for body in roles:
        kind, meta = body["kind"], body["metadata"]
        place = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
        path = f"/apis/{RBAC}/v1{place}/{kind.lower()}s/{meta['name']}"
        await api.call("patch", path, body, content_type=APPLY, field_manager="rights", force_conflicts=True)


def _rules(roles: list[Object]) -> list[Object]:
    return [rule for each in roles for rule in each.get("rules", ())]


async def _stories(api: Api, world: World, recording: Recording) -> None:
    """Everything, in three namespaces."""

    def log_read() -> bool:
        return any(each.right.resource == "pods/log" for each in recording.of(ACCOUNT))

    await stories.rolled_back_and_tried_again(world)
    for name in ("restarted", "downloaded"):
        await api.create_namespace(f"{world.namespace}-{name}")
    async with World(api, f"{world.namespace}-restarted") as other:
        await stories.restarted(other)
    async with World(api, f"{world.namespace}-downloaded") as other:
        await stories.downloaded(other, log_read)


async def _until_none(unused: Callable[[], list[Right]]) -> None:
    """Lets the operator finish: what a story ends with may be asked for a moment later."""

    async def none() -> bool:
        return not unused()

    await until("every right needed", none, state=unused)


async def test_the_operator_asks_for_all_that_it_may_and_for_nothing_else(
    api: Api, audited: Audited, world: World, tmp_path: pathlib.Path
) -> None:
    """Watching the whole cluster, with an election, downloads and baseline pods: create to delete."""
    files = (f"{part}/rbac.yaml" for part in ("operator", "downloads", "control", "dial"))
    roles, recording = _roles(*files, "ha/leader-election.yaml"), audited.recording
    rights = granted(_rules(roles))

    def unused() -> list[Right]:
        return sorted(rights - used(recording.of(ACCOUNT), rights).keys() - {OWNING} - OF_SOME_NAMESPACES)

    await _apply_roles(api, roles)
    own = await operator_kubeconfig(api, audited.kubeconfig, tmp_path / "kubeconfig")
    told = {"SPECDEC_LEADER_LEASE": f"{SYSTEM}/specdec-operator"}

    async def renewed() -> bool:
        return any(each.right.resource == "leases" and each.right.verb == "update" for each in recording.of(ACCOUNT))

    async with OperatorProcess(own, "", tmp_path, name="leader", environment=told) as leader:
        await world.until("a leader", leader.leads)
        await world.until("its Lease renewed", renewed)
    async with OperatorProcess(own, "", tmp_path):
        await _stories(api, world, recording)
        await _until_none(unused)
    asked = recording.of(ACCOUNT)
    counts = used(asked, rights)
    print(table(counts))
    assert refused(asked) == []
    assert [right for right in counts if "secret" in right.resource] == []
    assert unused() == []


async def test_an_operator_of_some_namespaces_asks_for_all_that_it_may_and_for_nothing_else(
    api: Api, audited: Audited, world: World, tmp_path: pathlib.Path
) -> None:
    """With a Role in its namespace, and a ClusterRole that only reads; without downloads, whose role is another.

    The Deployments of baseline pods are granted by name: the operator creates by an apply, whose request has the name.
    """
    account = await make_account(api, f"scoped-{world.namespace}")
    everywhere, here = (_rules(_roles(f"namespaced/{file}.yaml")) for file in ("cluster-role", "roles"))
    here += _rules(_roles("namespaced/dial.yaml"))
    here += _rules(chart.objects({"rbac.controlServices": [f"{world.namespace}/{NAME}"]}, f"--show-only={_CONTROL}"))
    await grant(api, account, everywhere)
    await grant(api, account, here, within=world.namespace)
    rights = granted([*everywhere, *here])

    def unused() -> list[Right]:
        missing = rights - used(audited.recording.of(account), rights).keys() - {OWNING}
        return sorted(each for each in missing if each.resource not in OF_DOWNLOADS)

    own = await operator_kubeconfig(api, audited.kubeconfig, tmp_path / "kubeconfig", account=account)
    async with OperatorProcess(own, world.namespace, tmp_path):
        await stories.rolled_back_and_tried_again(world)
        await stories.restarted(world)
        await _until_none(unused)
    asked = audited.recording.of(account)
    counts = used(asked, rights)
    print(table(counts))
    assert refused(asked) == []
    assert [right for right in counts if "secret" in right.resource] == []
    assert unused() == []


async def test_owning_an_inference_service_needs_the_right_to_the_finalizers_of_its_owner(
    api: Api, audited: Audited, world: World, tmp_path: pathlib.Path
) -> None:
    """Where the API server asks for it: all other rights are not enough."""
    made = await world.apply(sis())
    account = await make_account(api, "owns-nothing")
    rules = [rule for rule in _rules(_roles("operator/rbac.yaml")) if OWNING.resource not in rule["resources"]]
    await grant(api, account, rules)
    own = await operator_kubeconfig(api, audited.kubeconfig, tmp_path / "kubeconfig", account=account)
    owner = Owner(name=NAME, namespace=world.namespace, uid=made["metadata"]["uid"])
    child: Object = {
        "apiVersion": ISVC[0],
        "kind": "InferenceService",
        "metadata": {"name": NAME, "ownerReferences": [owner_reference(owner)]},
        "spec": {"predictor": {"model": {"modelFormat": {"name": "huggingface"}}}},
    }
    async with connected(own) as theirs:
        with pytest.raises(Refused, match="cannot set blockOwnerDeletion"):
            await theirs.apply(ISVC, world.namespace, child)
