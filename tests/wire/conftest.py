"""Fixtures of the wire tests: an API server with KServe a run, a namespace a test, the operator with its own rights."""

import pathlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kubernetes.aio import client, config

from tests.wire.api import Api
from tests.wire.command import Command
from tests.wire.controllers import cluster
from tests.wire.install import OURS, install, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.world import World

_SHARED = pytest.StashKey[pathlib.Path]()
_STACK = pytest.StashKey[ExitStack]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is of the wire layer."""
    for item in items:
        if pathlib.Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.wire)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """With several workers (xdist), the controlling process starts one API server and one KServe for all of them."""
    if _SHARED not in node.config.stash:
        stack = node.config.stash[_STACK] = ExitStack()
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        node.config.stash[_SHARED] = stack.enter_context(cluster(folder))
    node.workerinput["wire_kubeconfig"] = str(node.config.stash[_SHARED])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends them."""
    if _STACK in config.stash:
        config.stash[_STACK].close()


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """The kubeconfig of an administrator of a real API server, with the real KServe beside it."""
    shared: dict[str, str] = getattr(request.config, "workerinput", {})
    if "wire_kubeconfig" in shared:
        yield pathlib.Path(shared["wire_kubeconfig"])
        return
    with cluster(tmp_path_factory.mktemp("wire")) as path:
        yield path


@pytest.fixture
async def api(kubeconfig: pathlib.Path) -> AsyncIterator[Api]:
    """A client of the API server, with the operator's CRD and RBAC installed."""
    settings = client.Configuration()
    await config.load_kube_config(str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as connection:
        made = Api(connection)
        marker = kubeconfig.parent / "installed"
        if not marker.exists():
            await install(made, OURS)
            marker.touch()
        yield made


@pytest.fixture
async def world(api: Api) -> AsyncIterator[World]:
    """A namespace of its own, in which the test plays the kubelet, and real HTTP servers play the pods."""
    async with await World.fresh(api) as made:
        yield made


@pytest.fixture
def environment() -> dict[str, str]:
    """Settings of the operator that a module's tests need; none but the defaults unless it says otherwise."""
    return {}


@pytest.fixture
async def operator(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path, environment: dict[str, str]
) -> AsyncIterator[OperatorProcess]:
    """The operator as a process, watching the test's namespace, with the permissions of manifests/ and no more."""
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
    async with OperatorProcess(own, world.namespace, tmp_path, environment=environment) as process:
        yield process


@pytest.fixture
def specdec(kubeconfig: pathlib.Path, world: World) -> Iterator[Command]:
    """The command `specdec` as an administrator runs it."""
    command = Command(kubeconfig, world.namespace)
    yield command
    command.end()
