"""What many of these tests begin with, and what they look at."""

from typing import Any

from tests.wire.api import POD
from tests.wire.faults.verdict import decided_once
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, is_speculative, sis

TOKENS = 400.0
"""Tokens a second of a busy engine, enough for a verdict in a window of two seconds."""


def busy(**more: float) -> EngineStandIn:
    """An engine with traffic, whose drafts are accepted unless `more` sets another rate."""
    return EngineStandIn(tokens_per_second=TOKENS, **more)  # type: ignore[arg-type]


async def watched(world: World, *engines: EngineStandIn, **spec: Any) -> list[str]:
    """A service whose guard watches; returns its pods."""
    await world.apply(sis(**spec))
    pods = await world.roll_out(await world.child(), *engines)
    await world.phase("Watching")
    return pods


async def responding(world: World, **spec: Any) -> None:
    """A service whose draft has failed a moment ago: the baseline pods are requested and do not exist yet."""
    engine = busy()
    await watched(world, engine, **spec)
    engine.acceptance = 0.0
    await world.phase("Responding")


async def rolled_back(world: World, **spec: Any) -> None:
    """A service whose draft was taken out."""
    await responding(world, **spec)
    await baseline_pods(world)


async def baseline_pods(world: World) -> None:
    """Brings up the pods that a rollback asks for."""
    child = await world.child(speculative=False)
    wanted = child["spec"]["predictor"].get("minReplicas", 1)
    await world.roll_out(child, *(busy(speculative=False) for _ in range(wanted)))
    await world.phase("RolledBack")


async def rolled_back_once(world: World) -> None:
    """The draft is taken out, by one decision, and baseline pods serve."""
    await baseline_pods(world)
    await decided_once(world, "AcceptanceRateLow")


async def verdict(world: World, *wanted: str) -> str:
    """Waits for a verdict with one of these reasons; returns its message."""
    return str((await world.verdict(*wanted))["guard"].get("message"))


async def still_speculating(world: World) -> None:
    """Nothing was decided, and nothing taken out."""
    guard = (await world.status())["guard"]
    assert (guard["state"], guard["rollbacks"], "rollback" in guard) == ("Watching", 0, False), guard
    assert is_speculative(await world.child())


async def move(world: World, pod: str, address: str) -> None:
    """Gives a pod another address."""
    status = {"podIP": address, "podIPs": [{"ip": address}]}
    await world.api.merge(POD, world.namespace, pod, {"status": status}, "status")
