"""Fixtures of the node tests: the local cluster with images, models and operator, and a namespace a test.

What is missing is made, so `pytest tests/node` works by itself; `make test` makes it beside other tests.
"""

import asyncio
import pathlib
import uuid
from collections.abc import AsyncIterator, Generator

import pytest
from hack import images, install
from hack.cluster import kubectl, lifecycle, volumes
from hack.models import store as models

from tests.node import artifacts, s3, trouble
from tests.node.film import Film
from tests.node.service import Service
from tests.wire.api import Api, connected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is of the node layer."""
    for item in items:
        if pathlib.Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the cluster's state to the report of a failure: its namespace is deleted next, and often the cluster."""
    report = yield
    if report.failed and pathlib.Path(__file__).parent in item.path.parents:
        report.sections.append(("the cluster when it failed", "\n".join(trouble.ask())))
    return report


@pytest.fixture(scope="session")
def cluster() -> pathlib.Path:
    """The kubeconfig of a running cluster with the operator on it."""
    lifecycle.up(print)
    install.ensure(images.refs())
    return kubectl.config()


@pytest.fixture(scope="session")
def model_folder() -> pathlib.Path:
    """The tiny models: target, draft, draft-other-vocab, and prompts.json."""
    return models.ensure()


@pytest.fixture(scope="session")
def cars(cluster: pathlib.Path, model_folder: pathlib.Path) -> artifacts.Modelcars:
    """Modelcars of the tiny models, on the node."""
    return artifacts.modelcars(model_folder)


@pytest.fixture(scope="session")
def running_store(cluster: pathlib.Path, model_folder: pathlib.Path) -> s3.Store:
    """A store in the cluster that speaks S3 and has the tiny models in its bucket `models`."""
    return s3.ensure(model_folder)


@pytest.fixture
async def api(cluster: pathlib.Path) -> AsyncIterator[Api]:
    """A client of the cluster."""
    async with connected(cluster) as made:
        yield made


@pytest.fixture
async def service(api: Api, model_folder: pathlib.Path) -> AsyncIterator[Service]:
    """A sis in a namespace of its own, with the models on a PVC; removed afterwards with all that it made."""
    namespace = f"node-{uuid.uuid4().hex[:8]}"
    await asyncio.to_thread(volumes.ensure_models, model_folder, namespace)
    made = Service(api, namespace, model_folder)
    try:
        yield made
    finally:
        await made.remove()
        await api.call("delete", f"/api/v1/namespaces/{namespace}")
        for volume in (await api.call("get", "/api/v1/persistentvolumes"))["items"]:
            if volume["spec"].get("claimRef", {}).get("namespace") == namespace:
                await api.call("delete", f"/api/v1/persistentvolumes/{volume['metadata']['name']}")


@pytest.fixture
async def store(running_store: s3.Store, service: Service) -> s3.Store:
    """The store, with accounts for it in the test's namespace."""
    await artifacts.let_in(service.api, service.namespace, running_store)
    return running_store


@pytest.fixture
async def film(service: Service, cluster: pathlib.Path) -> AsyncIterator[Film]:
    """Watches the sis."""
    async with Film(cluster, service.namespace, service.name) as watching:
        yield watching
