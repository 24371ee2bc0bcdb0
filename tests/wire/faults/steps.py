"""What tests of the control plane, of clocks and of pairs of operators have in common: to a watched service, and on."""

from typing import Any

import aiohttp

from tests.wire.api import DEPLOYMENT, EVENT, ISVC, POD, SIS, Refused
from tests.wire.faults import acts
from tests.wire.faults.acts import busy, verdict
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, is_speculative


async def watched(world: World, **spec: Any) -> EngineStandIn:
    """A service whose draft is good, under watch; returns its one engine."""
    engine = busy()
    await acts.watched(world, engine, **spec)
    await verdict(world, "Accepted")
    return engine


async def served(world: World) -> None:
    """Waits until the API server serves every kind: it answers for a while before that ("storage is initializing")."""

    async def there() -> bool:
        try:
            for kind in (SIS, ISVC, DEPLOYMENT, POD, EVENT):
                await world.api.items(kind, world.namespace)
        except (Refused, OSError, aiohttp.ClientError):
            return False
        return True

    await world.until("the API server serves every kind", there)


async def not_blamed(world: World) -> None:
    """Speculation is still served and watched, and no window has spoken against it."""
    status = await world.status()
    assert (status["phase"], status["guard"]["failures"], status["guard"].get("rollback")) == ("Watching", 0, None)
    assert [each["state"] for each in status["history"]] == ["Watching", "WarmingUp", "RollingOut"]
    assert is_speculative(await world.child())


async def lives(operator: OperatorProcess, pid: int) -> None:
    """It is the same process as before, and /healthz shows that it is healthy."""
    assert operator.pid == pid
    url = f"http://127.0.0.1:{operator.health_port}/healthz"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 200, await answer.text()


async def still_follows(world: World, *, replicas: int = 2) -> None:
    """The watches work: a changed spec is applied, and a deleted InferenceService is made again."""
    await world.api.merge(SIS, world.namespace, NAME, {"spec": {"replicas": replicas}})
    await world.replicas(replicas)
    await deleted_and_made_again(world)


async def deleted_and_made_again(world: World) -> None:
    """Deletes the InferenceService, and waits until there is another one."""
    before = (await world.child())["metadata"]["uid"]
    await world.api.delete(ISVC, world.namespace, NAME)

    async def made_again() -> bool:
        found = await world.api.get(ISVC, world.namespace, NAME)
        return found is not None and found["metadata"]["uid"] != before

    await world.until("the InferenceService again", made_again)
