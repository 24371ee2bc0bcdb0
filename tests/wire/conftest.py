"""Fixtures of the wire tests: an API server with KServe a run, a namespace a test, the operator with its own rights."""

import pathlib
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.wire.api import Api, connected
from tests.wire.command import Command
from tests.wire.install import OURS, install, operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.shared import kubeconfig, pytest_configure_node, pytest_unconfigure
from tests.wire.world import World

__all__ = ["kubeconfig", "pytest_configure_node", "pytest_unconfigure"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is of the wire layer."""
    for item in items:
        if pathlib.Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.wire)


@pytest.fixture
async def api(kubeconfig: pathlib.Path) -> AsyncIterator[Api]:
    """A client of the API server, with the operator's CRD and RBAC installed."""
    async with connected(kubeconfig) as made:
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
    """Settings of the operator that a module's tests need; only the defaults unless the module overrides this."""
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
