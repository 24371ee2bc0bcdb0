"""Fixtures of the GitOps tests: those of the wire tests, and Flux with a Git repository of its own."""

import pathlib
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.gitops.flux import Flux
from tests.gitops.flux import flux as running_flux
from tests.gitops.git import Repository, served
from tests.wire.api import Api
from tests.wire.conftest import api, environment, kubeconfig, operator, world
from tests.wire.world import World

__all__ = ["api", "environment", "flux", "kubeconfig", "operator", "repository", "world"]


@pytest.fixture
def repository(tmp_path: pathlib.Path) -> Iterator[Repository]:
    """A new Git repository on loopback."""
    with served(tmp_path) as made:
        yield made


@pytest.fixture
async def flux(
    api: Api, kubeconfig: pathlib.Path, world: World, repository: Repository, tmp_path: pathlib.Path
) -> AsyncIterator[Flux]:
    """Flux's own controllers in the test's namespace."""
    folder = tmp_path / "flux"
    folder.mkdir()
    async with running_flux(api, kubeconfig, world.namespace, repository, folder) as made:
        yield made
