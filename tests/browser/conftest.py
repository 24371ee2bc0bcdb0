"""Fixtures of the browser tests: one Chromium a test, and the page with every kind of service."""

from collections.abc import AsyncIterator

import pytest
from hack.cluster.errors import ClusterError
from playwright.async_api import Browser

from specdec_operator.web.server import WebServer
from specdec_operator.web.store import ServiceStore
from tests.chromium import browsing
from tests.ports import free_port
from tests.unit.web.samples import HOSTILE, NOW, fleet, sample, spoiled


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """A real headless Chromium; the test is skipped, with the reason, where none can be had."""
    try:
        async with browsing() as found:
            yield found
    except ClusterError as error:
        pytest.skip(str(error))


@pytest.fixture
def seen() -> ServiceStore:
    """Every sample, and one in which every text is hostile and long."""
    found = fleet()
    body = spoiled(sample("watching"))
    body["metadata"] |= {"namespace": "team-b", "name": "hostile"}
    body["status"]["message"] = HOSTILE + "x" * 300
    found.note(body, deleted=False)
    return found


@pytest.fixture
async def base(seen: ServiceStore) -> AsyncIterator[str]:
    """The address of the page."""
    server, port = WebServer(seen, clock=NOW.timestamp), free_port()
    await server.start("127.0.0.1", port)
    yield f"http://127.0.0.1:{port}"
    await server.stop()
