"""Fixtures of the tests against the real KServe: one of it a run, one namespace a test."""

import pathlib
from collections.abc import AsyncIterator

import pytest

from tests.kserve.made import Place
from tests.wire.api import connected
from tests.wire.shared import kubeconfig, pytest_configure_node, pytest_unconfigure

__all__ = ["kubeconfig", "pytest_configure_node", "pytest_unconfigure"]
_OURS = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is of the layer that has the real KServe."""
    for item in items:
        if _OURS in item.path.parents:
            item.add_marker(pytest.mark.kserve)


@pytest.fixture
async def place(kubeconfig: pathlib.Path) -> AsyncIterator[Place]:
    """A namespace of its own, as an administrator; the runtimes of this project are there."""
    async with connected(kubeconfig) as api:
        found = await Place.fresh(api)
        yield found
        await found.clear()
