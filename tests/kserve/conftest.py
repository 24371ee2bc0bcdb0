"""Fixtures of the tests against the real KServe: one of it a run, one namespace a test."""

import pathlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest
from kubernetes.aio import client, config

from tests.kserve.made import Place
from tests.wire.api import Api
from tests.wire.controllers import cluster

_SHARED = pytest.StashKey[pathlib.Path]()
_STACK = pytest.StashKey[ExitStack]()
IMAGE_VOLUMES: Final = "--feature-gates=ImageVolume=true"
"""As on hack.cluster; by default Kubernetes 1.34 drops these volumes."""
_OURS = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is of the layer that has the real KServe."""
    for item in items:
        if _OURS in item.path.parents:
            item.add_marker(pytest.mark.kserve)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """With several workers (xdist), the controlling process starts one KServe for all of them."""
    if _SHARED not in node.config.stash:
        stack = node.config.stash[_STACK] = ExitStack()
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        node.config.stash[_SHARED] = stack.enter_context(cluster(folder, IMAGE_VOLUMES))
    node.workerinput["kserve_kubeconfig"] = str(node.config.stash[_SHARED])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the shared programs."""
    if _STACK in config.stash:
        config.stash[_STACK].close()


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """The kubeconfig of an administrator of a cluster that has KServe."""
    shared: dict[str, str] = getattr(request.config, "workerinput", {})
    if "kserve_kubeconfig" in shared:
        yield pathlib.Path(shared["kserve_kubeconfig"])
        return
    with cluster(tmp_path_factory.mktemp("kserve"), IMAGE_VOLUMES) as path:
        yield path


@pytest.fixture
async def place(kubeconfig: pathlib.Path) -> AsyncIterator[Place]:
    """A namespace of its own, as an administrator; the runtimes of this project are there."""
    settings = client.Configuration()
    await config.load_kube_config(str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as connection:
        found = await Place.fresh(Api(connection))
        marker = kubeconfig.parent / "runtimes"
        if not marker.exists():
            await found.give_runtimes()
            marker.touch()
        yield found
        await found.clear()
