"""A namespace that is being deleted.

Where its controller runs, it takes the service with all else, in any order, within a moment. That the InferenceService
goes first is held on for: on an API server without any controller.
"""

import pathlib
import time

import pytest

from tests.wire.api import ISVC, SIS
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, World, sis


@pytest.fixture
def kubeconfig(alone: pathlib.Path) -> pathlib.Path:
    """Of an API server of its own."""
    return alone


@fault(
    part=Part.OBJECTS,
    when="the namespace is being deleted",
    then="the operator retries until the service is deleted",
)
async def test_a_namespace_that_ends_is_left_in_peace(world: World, operator: OperatorProcess) -> None:
    """The API server refuses what is new there: no hot loop, no crash, and no service that cannot go."""
    await world.apply(sis())
    await world.child()
    await world.api.call("delete", f"/api/v1/namespaces/{world.namespace}")
    await world.api.delete(ISVC, world.namespace, NAME)
    begun = time.monotonic()

    async def tried() -> bool:
        return await operator.metric("specdec_turn_failures_total") >= 2

    await world.until("two tries", tried)
    assert await operator.metric("specdec_turn_failures_total") <= (time.monotonic() - begun) / 2 + 2, "a hot loop"
    assert 1 <= operator.log.read_text().count("being terminated") <= 4
    assert await world.api.items(ISVC, world.namespace) == []
    await world.api.delete(SIS, world.namespace, NAME)
    await world.gone()
    assert "Traceback" not in operator.log.read_text()
