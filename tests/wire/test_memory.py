"""Out of memory against a real API server: less memory, twice, across deaths of the operator; and then no more."""

import signal

from tests.wire.api import Object
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, sis

LIMITED: Object = {"resources": {"limits": {"memory": "4Gi"}}}
CACHES = ["--kv-cache-memory-bytes=858783744", "--kv-cache-memory-bytes=643825664"]
"""1 GiB less 0.05 and 0.10 of 4 GiB."""


def cache_of(child: Object) -> str:
    """The flag of an InferenceService for its KV cache; empty if there is none."""
    args = child["spec"]["predictor"]["model"]["args"]
    return next((each for each in args if each.startswith("--kv-cache-memory-bytes")), "")


async def run_out(world: World, child: Object) -> None:
    """The pods of a child come, and their engine is killed for its memory limit as it starts."""
    (pod,) = await world.roll_out(child, EngineStandIn(), ready=False)
    await world.end(pod, {"exitCode": 137, "reason": "OOMKilled"})


async def lowered(world: World, steps: int) -> Object:
    """Waits until the InferenceService asks for so many steps less; returns it."""

    async def asked() -> Object | None:
        found = await world.child()
        return found if cache_of(found) == CACHES[steps - 1] else None

    child: Object = await world.until(f"{steps} steps less memory", asked)
    return child


@fault(
    part=Part.PODS,
    when="a pod with a draft is killed for its memory at two starts, and the operator after each",
    then="each start has less memory; the third serves",
)
async def test_a_pair_that_is_killed_twice_comes_up_with_less_memory(world: World, operator: OperatorProcess) -> None:
    """Each step is decided once, although the operator restarts in between."""
    await world.apply(sis(**LIMITED))
    child = await world.child(speculative=True)
    assert cache_of(child) == ""
    for steps in (1, 2):
        await operator.stop(signal.SIGKILL)
        await run_out(world, child)
        await operator.start()
        child = await lowered(world, steps)
        status = await world.phase("Responding")
        assert (status["reason"], status["guard"]["lowered"]["steps"]) == ("OutOfMemory", steps)
    await world.roll_out(child, EngineStandIn(tokens_per_second=400.0))
    await world.phase("Watching")
    await world.apply(sis(**LIMITED))
    await operator.stop(signal.SIGKILL)
    await operator.start()
    await world.turned(operator)
    status = await world.condition("GuardPassing", "True")
    guard = status["guard"]
    assert (guard["lowered"]["steps"], guard["rollbacks"], status["phase"]) == (2, 0, "Watching")
    assert cache_of(await world.child()) == CACHES[1]
    assert [each["reason"] for each in status["history"] if each["state"] == "Responding"] == ["OutOfMemory"] * 2
    assert "(OOMKilled); next start: " + CACHES[1] in guard["lowered"]["message"]
    await world.event("LoweringMemory")


@fault(
    part=Part.PODS,
    when="it is killed at the third start too",
    then="rollback for OutOfMemory; baseline pods have the whole cache",
)
async def test_a_pair_that_never_fits_goes_back_to_the_baseline_with_its_full_share(
    world: World, operator: OperatorProcess
) -> None:
    """The service without speculation always keeps its full share; another speculation begins again."""
    await world.apply(sis(**LIMITED))
    child = await world.child(speculative=True)
    for steps in (1, 2):
        await run_out(world, child)
        child = await lowered(world, steps)
    await run_out(world, child)
    child = await world.child(speculative=False)
    assert cache_of(child) == ""
    assert (await world.status())["guard"]["rollback"]["reason"] == "OutOfMemory"
    await world.roll_out(child, EngineStandIn(speculative=False))
    await world.phase("RolledBack")
    await world.apply(sis(**LIMITED, speculation={"method": "ngram", "tokens": 3}))
    child = await world.child(speculative=True)
    assert (cache_of(child), "lowered" in (await world.phase("RollingOut"))["guard"]) == ("", False)
