"""A cluster in the wrong order: the operator first, then its CRD, a sis, KServe, a runtime. Each step names the next.

It has an API server of its own, because the other tests' has everything.
"""

import pathlib
from collections.abc import AsyncIterator

import pytest

from tests import installed
from tests.wire.api import APPLY, DEPLOYMENT, Api, Object, connected, documents
from tests.wire.controllers import controller_of, kserve, kubernetes_controllers
from tests.wire.install import install, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.server import SAVING, api_server
from tests.wire.world import NAME, World, sis

ROOT = pathlib.Path(__file__).parents[2]
CRD = ROOT / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml"
OPERATOR = (ROOT / "manifests" / "operator" / "namespace.yaml", ROOT / "manifests" / "operator" / "rbac.yaml")
RUNTIMES = "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"
TEAM = "team-a"
STAGING = {"mode": "PersistentVolumeClaim", "claim": {"storage": "1Gi"}}


@pytest.fixture
async def bare(tmp_path: pathlib.Path) -> AsyncIterator[tuple[Api, pathlib.Path]]:
    """An API server on which nothing was installed but the operator's account and its rights."""
    with api_server(tmp_path / "server", variables=SAVING) as kubeconfig:
        async with connected(kubeconfig) as api:
            await install(api, OPERATOR)
            await api.create_namespace(TEAM)
            yield api, kubeconfig


def conditions(status: Object) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in status.get("conditions", ())}


async def told(world: World, reason: str) -> tuple[str, str, str]:
    """Waits until the sis is not Ready for this reason; returns the condition Ready."""

    async def said() -> tuple[str, str, str] | None:
        ready = conditions(await world.status()).get("Ready", ("", "", ""))
        return ready if ready[:2] == ("False", reason) else None

    found: tuple[str, str, str] = await world.until(f"Ready=False, {reason}", said)
    return found


async def test_a_cluster_that_is_put_together_in_the_wrong_order_shows_what_is_missing(
    bare: tuple[Api, pathlib.Path], tmp_path: pathlib.Path
) -> None:
    """No CRD, no KServe, no runtime: Ready shows the reason and the fix. Installing the part is enough."""
    api, admin = bare
    own = await operator_kubeconfig(api, admin, tmp_path / "operator.kubeconfig")
    name = installed.runtimes()["cpu"]
    told_of = {installed.RUNTIMES: installed.settings()[installed.RUNTIMES]}
    async with OperatorProcess(own, TEAM, tmp_path, environment=told_of):
        await install(api, (CRD,))
        world = World(api, TEAM)
        await world.apply(sis())

        ready = await told(world, "KServeMissing")
        assert "install KServe" in ready[2]
        status = await world.status()
        assert conditions(status)["Reconciling"][1] == status["reason"] == "KServeMissing"
        await world.event("KServeMissing")

        with kubernetes_controllers(admin), kserve(admin):
            ready = await told(world, "RuntimeNotRecognized")
            assert f"ClusterServingRuntime {name}" in ready[2]
            assert "kubectl apply -k manifests/runtimes" in ready[2]
            await world.event("RuntimeNotRecognized")

            (runtime,) = documents((ROOT / "manifests" / "runtimes" / "cpu.yaml").read_text())
            path = f"{RUNTIMES}/{name}"
            await api.call("patch", path, runtime, content_type=APPLY, field_manager="wire-tests")

            async def deployed() -> Object | None:
                return await api.get(DEPLOYMENT, TEAM, f"{NAME}-predictor")

            await world.until("KServe makes the Deployment", deployed)
            await told(world, "RollingOut")
            await world.child(speculative=True)


async def test_the_right_to_download_is_asked_for_by_name_and_used_once_it_is_there(
    bare: tuple[Api, pathlib.Path], tmp_path: pathlib.Path
) -> None:
    """By default the operator may not make PVCs and Jobs: a service that needs them shows it. A grant is enough."""
    api, admin = bare
    await install(api, (CRD,))
    controller_of(admin).install_definitions()
    own = await operator_kubeconfig(api, admin, tmp_path / "operator.kubeconfig")
    image = {"SPECDEC_STORAGE_INITIALIZER": "localhost/storage-initializer:v0.20.0"}
    async with OperatorProcess(own, TEAM, tmp_path, environment=image):
        world = World(api, TEAM)
        await world.apply(sis(staging=STAGING, model={"uri": "hf://org/model:main"}))
        ready = await told(world, "Forbidden")
        assert 'cannot patch resource "persistentvolumeclaims"' in ready[2]
        assert "kubectl apply -k manifests/downloads" in ready[2]
        assert "rbac.downloads=true" in ready[2]
        await install(api, (ROOT / "manifests" / "downloads" / "rbac.yaml",))

        async def claimed() -> Object | None:
            return await api.get(("v1", "persistentvolumeclaims"), TEAM, f"{NAME}-models")

        await world.until("the claim is made", claimed)
