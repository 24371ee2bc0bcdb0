"""What every fault test ends with: the right decision, exactly once, and nothing left behind."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tests.wire.api import DEPLOYMENT, ISVC, POD
from tests.wire.world import NAME, World, is_speculative

JOB: Final = "batch/v1", "jobs"
CLAIM: Final = "v1", "persistentvolumeclaims"


async def decided_once(world: World, reason: str) -> None:
    """A rollback for this reason was decided once, baseline pods serve, and no unneeded object is left."""
    status = await world.phase("RolledBack")
    guard = status["guard"]
    assert guard["rollback"]["reason"] == reason
    assert guard["rollbacks"] == 1, guard
    states = Counter(each["state"] for each in status["history"])
    assert states["Responding"] == states["RolledBack"] == 1, status["history"]
    await nothing_left(world)
    assert not is_speculative(await world.child())


async def nothing_left(world: World) -> None:
    """One InferenceService of the sis, one Deployment, and as many pods as it asks for."""
    names = [each["metadata"]["name"] for each in await world.api.items(ISVC, world.namespace)]
    assert names == [NAME]
    (deployment,) = await world.api.items(DEPLOYMENT, world.namespace)
    assert len(await world.api.items(POD, world.namespace)) == deployment["spec"]["replicas"]


async def as_undisturbed(
    world: World, *, states: Sequence[str], events: Iterable[str], generation: int, untold: Sequence[str] = ()
) -> None:
    """The history, the InferenceService and the sis are as if there had been no fault.

    states: of the history, newest first. events: those that may be sent, each so often; some may be missing.
    generation: the InferenceService's, which counts its changes. untold: states that were over before they could be
    written.
    """
    found = await world.sis()
    told = [each["state"] for each in found["status"]["history"]]
    assert told in (list(states), [each for each in states if each not in untold])
    guard = found["status"]["guard"]
    assert (guard["retries"], guard["restarts"], guard["held"], guard.get("would")) == (0, 0, False, None), guard
    (child,) = await world.api.items(ISVC, world.namespace)
    assert child["metadata"]["generation"] == generation
    assert [each["uid"] for each in child["metadata"]["ownerReferences"]] == [found["metadata"]["uid"]]
    assert found["metadata"]["generation"] == 1, "the spec was written to"
    for kind in (JOB, CLAIM):
        assert await world.api.items(kind, world.namespace) == []
    told_of = Counter(await world.events())
    assert told_of <= Counter(events), told_of
