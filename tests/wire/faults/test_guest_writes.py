"""What the guard writes to a guest: once, only the flags, and the status shows what API server and pods have."""

from typing import Final

import pytest

from tests.wire.api import ISVC, SIS, Object
from tests.wire.faults.acts import busy
from tests.wire.faults.points import AFTER, BEFORE, Killer, in_turn
from tests.wire.faults.proxy import Proxy
from tests.wire.faults.table import Part, fault
from tests.wire.guests import SPECULATES, THEIRS, guest, serve
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, World, conditions

BASELINE: Final = ["--model=/mnt/models", "--stop=<|im_end|>&"]
ARGS: Final = [*BASELINE, SPECULATES]
OUT: Final = "specdec.io/taken-out"
TAKE_OUT: Final = ("status Responding (4 tokens)", "guest, as a dry run", "guest")
"""The writes from the decision on, until the flag is out."""


async def theirs(world: World) -> Object:
    """Their InferenceService."""
    found = await world.api.get(ISVC, world.namespace, THEIRS)
    assert found is not None
    return found


async def failing(world: World, args: list[str], command: list[str] | None = None) -> Object:
    """A draft whose owner lets the guard act, and that fails from now on. Returns their InferenceService."""
    draft = busy()
    await serve(world, draft, args=args, leave=True, command=command)
    await world.apply(guest(guard={"mode": "Enforce"}))
    await world.verdict("Pass")
    draft.acceptance = 0.0
    return await theirs(world)


async def taken_out(world: World, before: Object) -> None:
    """The flag is out, by one change. The pods with it serve still, and so the status shows no rollback."""
    await world.told("Enforcing", "TakenOut")
    found, status = await theirs(world), await world.status()
    told = {each: (one["status"], one["reason"]) for each, one in conditions(status).items()}
    assert found["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert OUT in found["metadata"]["annotations"]
    assert (status["phase"], status["guard"]["rollbacks"]) == ("Responding", 0)
    assert (told["RolledBack"], told["SpeculationActive"][0]) == (("False", "Responding"), "True")


async def rolled_back(world: World, args: list[str], command: list[str] | None = None) -> None:
    """Pods without speculation serve, and now it counts."""
    await serve(world, busy(speculative=False), args=args, leave=True, command=command)
    status = await world.phase("RolledBack")
    assert status["guard"]["rollbacks"] == 1
    assert conditions(status)["RolledBack"]["status"] == "True"


async def retried(world: World) -> None:
    """The user asks for another try, and the guard restores the flag."""
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": {"specdec.io/retry": "1"}}})

    async def there() -> bool:
        return OUT not in (await theirs(world))["metadata"]["annotations"]

    await world.until("the flag is back", there)


async def test_a_guest_is_written_in_these_steps(world: World, proxied: OperatorProcess, proxy: Proxy) -> None:
    """First the decision into the status, then a dry run, then the write, and an Event after it."""
    before = await failing(world, ARGS)
    await world.event("TakenOut")
    await taken_out(world, before)
    writes = in_turn(proxy.writes)
    decided = writes.index(TAKE_OUT[0])
    assert tuple(writes[decided : decided + len(TAKE_OUT)]) == TAKE_OUT
    assert [each for each in writes if each.startswith("guest")] == list(TAKE_OUT[1:])


@fault(
    part=Part.OPERATOR,
    when="SIGKILL before or after each step of a write to a guest (decision, dry run, write)",
    then="the flag is removed once; RolledBack only after its pods serve",
)
@pytest.mark.parametrize("done", [BEFORE, AFTER])
@pytest.mark.parametrize("named", TAKE_OUT)
async def test_a_kill_at_a_step_of_a_write_to_a_guest(
    world: World, proxied: OperatorProcess, proxy: Proxy, named: str, *, done: bool
) -> None:
    """The operator that comes next reads what became of it."""
    proxy.rule = killer = Killer(proxied, [named], done)
    before = await failing(world, ARGS)
    await killer.over()
    await taken_out(world, before)
    assert (await theirs(world))["spec"]["predictor"]["model"]["args"] == BASELINE
    await rolled_back(world, BASELINE)


@fault(
    part=Part.OPERATOR,
    when="SIGKILL before or after the write that restores a guest's flag",
    then="it is restored once, byte for byte",
)
@pytest.mark.parametrize("done", [BEFORE, AFTER])
async def test_a_kill_at_the_return_of_a_guests_flag(
    world: World, proxied: OperatorProcess, proxy: Proxy, *, done: bool
) -> None:
    """The retry counts as handled, whether the flag is back already or not."""
    before = await failing(world, ARGS)
    await taken_out(world, before)
    await rolled_back(world, BASELINE)
    proxy.rule = killer = Killer(proxied, ["guest"], done)
    await retried(world)
    await killer.over()
    found = await theirs(world)
    assert found["spec"]["predictor"]["model"]["args"] == ARGS
    assert found["metadata"]["generation"] == before["metadata"]["generation"] + 2
    await serve(world, busy(), args=ARGS, leave=True)
    status = await world.phase("Watching")
    assert (status["guard"]["rollbacks"], status["guard"]["handledRetry"]) == (1, "1")
