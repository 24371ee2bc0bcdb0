"""One API server with Kubernetes' controllers and KServe a run, for tests/wire, tests/kserve and xdist's workers."""

import pathlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.wire.controllers import cluster

_SHARED = pytest.StashKey[pathlib.Path]()
_STACK = pytest.StashKey[ExitStack]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """With several workers (xdist), the controlling process starts the programs for all of them.

    Both folders' conftest have this hook: the second call finds what the first one made.
    """
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
