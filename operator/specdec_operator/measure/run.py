"""The whole measurement, in order."""

from collections.abc import Mapping, Sequence

from specdec_operator.measure.asking import repeat
from specdec_operator.measure.compare import Repeat
from specdec_operator.measure.connection import Connection, connected
from specdec_operator.measure.context import Context, context
from specdec_operator.measure.measurement import Measurement
from specdec_operator.measure.order import Job
from specdec_operator.measure.plain import patience, plain_in_place, twin_beside
from specdec_operator.measure.service import Say, Service
from specdec_operator.measure.sides import Side, Turn, interleaved, one_side
from specdec_operator.measure.twin import twin_of

Taken = list[tuple[Repeat, tuple[str, ...]]]


async def run(job: Job, kubeconfig: str | None, say: Say) -> Measurement:
    """Connects and measures. Raises Unmeasurable where that cannot be done."""
    async with connected(kubeconfig) as connection:
        return await measure(connection, job, say)


async def measure(connection: Connection, job: Job, say: Say) -> Measurement:
    """Measures both sides and puts everything back. Raises Unmeasurable where that cannot be done."""
    service = Service(connection, job.namespace or connection.namespace, job.name, speculating=True)
    sis = await service.sis()
    twin_of(sis)  # refuses a service that asks for no speculation, before anything is done
    await service.until_ready(say, seconds=patience(sis), room=patience(sis))
    taken, found = await (_in_place if job.order.in_place else _side_by_side)(connection, job, service, say)
    return Measurement(
        order=job.order,
        context=found,
        repeats=tuple(each for each, _ in taken),
        redone=tuple(why for _, thrown in taken for why in thrown),
    )


async def _side_by_side(connection: Connection, job: Job, service: Service, say: Say) -> tuple[Taken, Context]:
    order = job.order
    async with twin_beside(connection, await service.sis(), say, room=job.room) as twin:
        found = context(await service.sis(), job.at, await service.running(), await twin.running())
        sides = {Side.SPECULATING: service, Side.PLAIN: twin}
        return await _turns(interleaved(order.concurrencies, order.repeats), sides, job, say), found


async def _in_place(connection: Connection, job: Job, service: Service, say: Say) -> tuple[Taken, Context]:
    order, sis, with_it = job.order, await service.sis(), await service.running()
    turns = one_side(Side.SPECULATING, order.concurrencies, order.repeats)
    taken = await _turns(turns, {Side.SPECULATING: service}, job, say)
    async with plain_in_place(connection, sis, say) as plain:
        found = context(sis, job.at, with_it, await plain.running())
        turns = one_side(Side.PLAIN, order.concurrencies, order.repeats)
        return [*taken, *await _turns(turns, {Side.PLAIN: plain}, job, say)], found


async def _turns(turns: Sequence[Turn], sides: Mapping[Side, Service], job: Job, say: Say) -> Taken:
    taken: Taken = []
    for turn in turns:
        found, thrown = await repeat(turn, sides[turn.side], job.prompts, job.order.max_tokens)
        taken.append((found, thrown))
        asked = f"{turn.concurrency} at once, repeat {turn.repeat} of {job.order.repeats}, {turn.side}"
        say(f"{asked}: {found.tokens_per_second:.1f} tokens/s")
    return taken
