"""A user who may patch the status forges it, and the operator restarts: the guard goes on, and reports the forgery."""

import signal
from typing import Final

from tests.wire.api import SIS
from tests.wire.faults.acts import busy, rolled_back_once, watched
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, World

FORGED: Final = {
    "since": "0001-01-01T00:00:00+14:00",
    "retries": 9223372036854775807,
    "rollbacks": -9223372036854775808,
}


@fault(
    part=Part.OBJECTS,
    when="another client writes impossible times and numbers into status.guard, and the operator restarts",
    then="StateUnreadable names each value; a draft that fails is rolled back, once",
)
async def test_a_forged_status_does_not_stop_the_guard(world: World, operator: OperatorProcess) -> None:
    """One such time ended each reconcile of the service before, for ever, while its phase stayed Watching."""
    engine = busy()
    await watched(world, engine)
    await operator.stop(signal.SIGKILL)
    await world.api.merge(SIS, world.namespace, NAME, {"status": {"guard": FORGED}}, "status")
    await operator.start()
    await world.told("StateUnreadable", *(f"status.guard.{each}" for each in FORGED))
    engine.acceptance = 0.0
    await world.phase("Responding")
    await rolled_back_once(world)
    assert (await world.events()).count("StateUnreadable") == 1
