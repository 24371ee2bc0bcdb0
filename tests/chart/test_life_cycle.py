"""The chart with the real Helm on a real node: installed, tested, upgraded, rolled back, uninstalled, and again."""

import asyncio
import pathlib
import shutil
import uuid
from typing import Any

import pytest
import yaml
from hack.cluster import kubectl
from hack.cluster.errors import ClusterError
from hack.helm import chart

from tests.chart.conftest import CRD
from tests.chart.release import Release
from tests.node.service import ENGINE, Service
from tests.wire.api import ISVC, POD, SIS, Api

FINALIZER = "serving.specdec.io/operator"
LEASE = "coordination.k8s.io/v1", "leases"
TINY = {
    "model": {"uri": "pvc://models/target"},
    "speculation": {"method": "ngram", "tokens": 3},
    "engine": ENGINE,
    "resources": {"requests": {"cpu": "400m", "memory": "1500Mi"}},
    "rollout": {"strategy": "Replace", "deadline": "15m"},
}


def older(folder: pathlib.Path) -> pathlib.Path:
    """This chart as if an older one, whose CRD knew no `memory` and no column."""
    made = folder / "older"
    shutil.copytree(chart.CHART, made)
    crd = yaml.safe_load((made / "files" / "crd.yaml").read_text())
    (version,) = crd["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["memory"]
    del version["additionalPrinterColumns"]
    (made / "files" / "crd.yaml").write_text(yaml.safe_dump(crd))
    return made


def known_fields(kubeconfig: pathlib.Path) -> set[str]:
    """The fields of spec that the API server knows now."""
    crd = kubectl.get(kubeconfig, "crd", CRD)
    assert crd is not None
    return set(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])


def runtimes(kubeconfig: pathlib.Path) -> set[str]:
    """The names of the chart's ClusterServingRuntimes that are on the cluster."""
    found = kubectl.get(kubeconfig, "clusterservingruntimes", "--selector=app.kubernetes.io/part-of=specdec-operator")
    return {each["metadata"]["name"] for each in (found or {"items": []})["items"]}


def environment(kubeconfig: pathlib.Path) -> dict[str, str]:
    """The operator's environment as it is on the cluster."""
    found = kubectl.get(kubeconfig, "deployment", "specdec-operator", f"--namespace={chart.NAMESPACE}")
    assert found is not None
    (container,) = found["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def left_behind(kubeconfig: pathlib.Path) -> set[str]:
    """What a release has left: objects with its label, of every kind that it makes, and pods of its namespace."""
    kinds = "deployments,services,serviceaccounts,jobs,configmaps,networkpolicies"
    kinds += ",roles,rolebindings,clusterroles,clusterrolebindings"
    kinds += ",validatingadmissionpolicies,validatingadmissionpolicybindings"
    label = "--selector=app.kubernetes.io/part-of=specdec-operator"
    found = kubectl.get(kubeconfig, kinds, "--all-namespaces", label) or {"items": []}
    pods = kubectl.get(kubeconfig, "pods", f"--namespace={chart.NAMESPACE}") or {"items": []}
    return {f"{each['kind']}/{each['metadata']['name']}" for each in (*found["items"], *pods["items"])}


async def until_left(installed: Release, what: set[str]) -> None:
    """Waits until a release that was removed has left this behind: Helm does not wait for pods that end."""
    async with asyncio.timeout(30):
        while await asyncio.to_thread(left_behind, installed.kubeconfig) != what:
            await asyncio.sleep(0.2)


async def the(api: Api, kind: tuple[str, str], service: Service) -> dict[str, Any]:
    """An object of the service's name."""
    found = await api.get(kind, service.namespace, service.name)
    assert found is not None
    return found


async def finalizers(api: Api, service: Service) -> list[str]:
    """The finalizers of a service."""
    return (await the(api, SIS, service))["metadata"].get("finalizers", [])


async def test_an_upgrade_brings_the_newer_crd_and_a_rollback_the_older(
    service: Service, installed: Release, ours: dict[str, object], tmp_path: pathlib.Path
) -> None:
    """Helm itself never upgrades a chart's crds/; this one is a template. `helm test` serves a model in between."""
    tested = {"test.namespace": service.namespace, "test.service": TINY, "test.waitForReady": True, "test.timeout": 500}
    await asyncio.to_thread(installed.upgrade, ours | tested, source=older(tmp_path))
    assert "memory" not in known_fields(installed.kubeconfig)
    first = await asyncio.to_thread(installed.revision)

    await asyncio.to_thread(installed.upgrade, ours | tested | {"logLevel": "DEBUG"})
    assert "memory" in known_fields(installed.kubeconfig)
    assert environment(installed.kubeconfig)["SPECDEC_LOG_LEVEL"] == "DEBUG"
    said = await asyncio.to_thread(installed.test, "--logs")
    assert said.code == 0, said
    assert "the operator has handled it and created its InferenceService, which is Ready" in said.out
    assert "the sample is deleted again" in said.out

    await asyncio.to_thread(installed.rollback, first)
    assert environment(installed.kubeconfig)["SPECDEC_LOG_LEVEL"] == "INFO"
    assert "memory" not in known_fields(installed.kubeconfig)

    await asyncio.to_thread(installed.uninstall)
    await until_left(installed, {"Pod/specdec-operator-test"})  # with its log, until it is deleted
    assert "memory" not in known_fields(installed.kubeconfig)  # kept as it was


async def test_a_runtime_of_other_content_is_another_one_and_the_old_one_stays(
    installed: Release, ours: dict[str, object]
) -> None:
    """For the services that still use it. The way back is an upgrade too: what was kept is in `helm rollback`'s way."""
    await asyncio.to_thread(installed.upgrade, ours)
    before, told = runtimes(installed.kubeconfig), environment(installed.kubeconfig)["SPECDEC_RUNTIMES"]
    first = await asyncio.to_thread(installed.revision)
    await asyncio.to_thread(installed.upgrade, ours | {"runtimes.cpu.kvCacheGiB": 3})
    (newer,) = runtimes(installed.kubeconfig) - before
    assert f"cpu={newer}" in environment(installed.kubeconfig)["SPECDEC_RUNTIMES"]
    with pytest.raises(ClusterError, match="no ClusterServingRuntime with the name"):
        await asyncio.to_thread(installed.rollback, first)
    await asyncio.to_thread(installed.upgrade, ours)
    assert environment(installed.kubeconfig)["SPECDEC_RUNTIMES"] == told
    assert runtimes(installed.kubeconfig) == before | {newer}


async def test_a_failing_test_prints_the_reason(service: Service, installed: Release, ours: dict[str, object]) -> None:
    """The test prints the conditions of the sample."""
    wrong = TINY | {"model": {"uri": "pvc://nowhere/target"}}
    tested = {"test.namespace": service.namespace, "test.service": wrong, "test.waitForReady": True, "test.timeout": 15}
    await asyncio.to_thread(installed.upgrade, ours | tested)
    said = await asyncio.to_thread(installed.test)
    assert said.code != 0
    log = kubectl.ask(installed.kubeconfig, "logs", "specdec-operator-test", f"--namespace={chart.NAMESPACE}").out
    assert "error: after 15 s: the sample is not Ready yet: " in log
    assert await service.api.items(SIS, service.namespace) == []


async def test_services_outlive_the_operator_and_are_adopted_by_the_next(
    service: Service, installed: Release, ours: dict[str, object]
) -> None:
    """Uninstalled with a service still there: it serves on; a next release takes it over without a new pod."""
    await asyncio.to_thread(installed.upgrade, ours)
    await service.apply(None, {each: TINY[each] for each in ("resources", "rollout")})
    await service.phase("Serving", seconds=500)
    assert await finalizers(service.api, service) == []
    pods = {each["metadata"]["uid"] for each in await service.api.items(POD, service.namespace)}
    child = await the(service.api, ISVC, service)

    await asyncio.to_thread(installed.uninstall)
    await until_left(installed, set())
    assert (await service.ask("def f(", max_tokens=4))["choices"]

    older_one = {"metadata": {"finalizers": [FINALIZER, "tests.example/other"]}}  # as an older version left it
    await service.api.merge(SIS, service.namespace, service.name, older_one)
    await asyncio.to_thread(installed.upgrade, ours)

    async def adopted() -> bool:
        return await finalizers(service.api, service) == ["tests.example/other"]

    await service.until("the old finalizer gone", adopted, 30)
    await service.api.merge(SIS, service.namespace, service.name, {"metadata": {"finalizers": None}})
    await service.condition("Ready", "Serving", 30)
    again = await the(service.api, ISVC, service)
    assert (again["metadata"]["uid"], again["metadata"]["generation"]) == (
        child["metadata"]["uid"],
        child["metadata"]["generation"],
    )
    assert {each["metadata"]["uid"] for each in await service.api.items(POD, service.namespace)} == pods

    await asyncio.to_thread(installed.uninstall)
    await service.remove()  # with no operator there


async def test_a_list_of_namespaces_is_all_that_it_sees_and_may(
    service: Service, installed: Release, ours: dict[str, object], model_folder: pathlib.Path
) -> None:
    """Another namespace's services are not touched, and no ClusterRole speaks of services."""
    other = Service(service.api, f"node-{uuid.uuid4().hex[:8]}", model_folder)
    await service.api.create_namespace(other.namespace)
    try:
        watched = {"namespaces": [service.namespace], "test.service": TINY}
        await asyncio.to_thread(installed.upgrade, ours | watched)
        for each in (other, service):
            await each.apply(None)

        async def seen() -> bool:
            return bool(await service.api.get(ISVC, service.namespace, service.name))

        await service.until("an InferenceService", seen, 60)
        assert await other.status() == {"observedGeneration": -1}  # the CRD's default, before an operator reads the sis
        role = kubectl.get(installed.kubeconfig, "clusterrole", "specdec-operator")
        assert role is not None
        assert not [rule for rule in role["rules"] if "serving.specdec.io" in rule["apiGroups"]]
        said = await asyncio.to_thread(installed.test)
        assert said.code == 0, said
        await asyncio.to_thread(installed.uninstall)
    finally:
        await service.api.call("delete", f"/api/v1/namespaces/{other.namespace}")


async def test_of_two_replicas_one_leads_and_a_rollout_hands_over(
    installed: Release, ours: dict[str, object], api: Api
) -> None:
    """Both are Ready, or `--wait` would not end; the Lease names one of them, and after a change one of the new."""
    holders = set()
    for level in ("INFO", "DEBUG"):
        await asyncio.to_thread(
            installed.upgrade, ours | {"replicas": 2, "leaderElection.enabled": True, "logLevel": level}
        )

        async def leader() -> str:
            pods = [each["metadata"] for each in await api.items(POD, chart.NAMESPACE)]
            staying = [each["name"] for each in pods if "deletionTimestamp" not in each]
            found = await api.get(LEASE, chart.NAMESPACE, "specdec-operator")
            holder = (found or {"spec": {}})["spec"].get("holderIdentity", "")
            return next((name for name in staying if holder.startswith(name)), "")

        async with asyncio.timeout(60):
            while not (holder := await leader()):
                await asyncio.sleep(0.5)
        holders.add(holder)
    assert len(holders) == 2
    await asyncio.to_thread(installed.uninstall)
    await until_left(installed, set())
