"""What a user sees of a rollback, of a retry and of two steps of the guard, each as fast as windows allow."""

from typing import Final

from tests.wire.api import ISVC, SIS, Object
from tests.wire.faults.acts import busy
from tests.wire.faults.points import tokens_of
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

QUICK: Final = {"window": "1s"}


async def rollback(world: World, *, slowly: bool = False) -> None:
    """From nothing to RolledBack: a draft that is accepted at first, and then no longer.

    slowly: no pod is ready before the status has shown that it is not.
    """
    engine = await watched(world, slowly=slowly)
    engine.acceptance = 0.0
    await taken_out(world, slowly=slowly)


async def watched(world: World, *, slowly: bool = False) -> EngineStandIn:
    """From nothing to Watching; returns the engine, whose draft is accepted."""
    engine = busy()
    await _served(world, engine, sis(guard=QUICK), slowly=slowly)
    await world.phase("Watching")
    return engine


async def taken_out(world: World, *, slowly: bool = False) -> None:
    """From a draft that is no longer accepted to RolledBack."""
    await _served(world, busy(speculative=False), tokens=0, slowly=slowly)
    await world.phase("RolledBack")


async def retry(world: World) -> None:
    """After a rollback: the annotation that asks for another try, and a draft that is accepted."""
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": {"specdec.io/retry": "1"}}})
    await _served(world, busy())
    await world.phase("Watching")


async def ladder(world: World) -> None:
    """From nothing to RolledBack in two steps: fewer tokens, and then none."""
    late = busy(acceptance=0.23, falls=0.1)  # a collapse with four tokens; two of them would have passed,
    late.tokens_per_second *= 5  # and a window of so many drafts proves that
    await _served(world, late, sis(guard=QUICK | {"response": ["ReduceTokens", "RollBack"]}))
    fewer = await world.until("fewer tokens", lambda: _reduced(world))
    await _served(world, busy(acceptance=0.0, tokens=fewer), tokens=fewer)
    await _served(world, busy(speculative=False), tokens=0)
    await world.phase("RolledBack")


async def _served(
    world: World, engine: EngineStandIn, asked: Object | None = None, *, tokens: int = 4, slowly: bool = False
) -> None:
    """Applies what is asked, and rolls out the InferenceService that comes of it."""
    if asked is not None:
        await world.apply(asked)

    async def there() -> Object | None:
        child = await world.api.get(ISVC, world.namespace, NAME)
        return child if child and tokens_of(child) == tokens else None

    child = await world.until(f"an InferenceService of {tokens} tokens", there)
    if slowly:
        await world.roll_out(child, engine, ready=False)
        await world.until("a status that tells of pods that are not ready", lambda: _waits(world))
    await world.roll_out(child, engine)


async def _waits(world: World) -> bool:
    return "0 of 1 pods of revision" in str(await world.status())


async def _reduced(world: World) -> int:
    return int((await world.status())["guard"].get("reduced", {}).get("tokens", 0))
