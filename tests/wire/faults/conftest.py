"""The operator with a proxy between it and the API server."""

import pathlib
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.wire.api import Api
from tests.wire.controllers import cluster, without_kserve
from tests.wire.faults.foreign import DOWNLOADS
from tests.wire.faults.proxy import Proxy
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.world import World


@pytest.fixture
def own_kubeconfig(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """An API server with KServe for a test that changes a CRD, which closes the watches of all tests that share one."""
    with cluster(tmp_path / "cluster") as path:
        yield path


@pytest.fixture
def alone(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """An API server with KServe's CRDs and no controller at all, for a test that one would hinder."""
    with without_kserve(tmp_path / "alone") as path:
        yield path


@pytest.fixture
async def proxy(kubeconfig: pathlib.Path) -> AsyncIterator[Proxy]:
    """The proxy, which lets everything pass."""
    async with Proxy(kubeconfig) as made:
        yield made


@pytest.fixture
async def proxied(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path, proxy: Proxy
) -> AsyncIterator[OperatorProcess]:
    """The operator as a process whose every request goes through the proxy; it runs."""
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
    async with OperatorProcess(proxy.through(own, tmp_path / "through"), world.namespace, tmp_path) as process:
        yield process


@pytest.fixture
async def downloader(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path
) -> AsyncIterator[OperatorProcess]:
    """The operator, with an image for download Jobs."""
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
    async with OperatorProcess(own, world.namespace, tmp_path, environment=DOWNLOADS) as process:
        yield process
