"""The whole measurement, in order. One round: all prompts, so many at once, between two readings of the counters."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Final

from specdec_command.measure.answer import Answer
from specdec_command.measure.baseline import baseline_in_place, patience, separate_baseline, twin_of
from specdec_command.measure.benchmark import (
    WARM_UPS,
    BenchmarkRound,
    Job,
    Side,
    Unanswered,
    Unmeasurable,
    interleaved,
    one_side,
)
from specdec_command.measure.compare import Measurement, Repeat, drafting
from specdec_command.measure.context import Context, context
from specdec_command.measure.prompts import Prompt
from specdec_command.measure.service import MeasuredService, Say
from specdec_operator.errors import OperatorError
from specdec_operator.kube.client import KubeClient

_TIMEOUT: Final = 60.0
_TRIES: Final = 3
"""How often one repeat is tried before the measurement ends."""

Repeats = list[tuple[Repeat, tuple[str, ...]]]
"""Each with why earlier tries of it were thrown away."""


async def run(job: Job, kubeconfig: str | None, say: Say) -> Measurement:
    """Measures both sides and puts everything back. Raises OperatorError where that cannot be done."""
    async with await KubeClient.as_user(kubeconfig, timeout=_TIMEOUT) as client:
        service = MeasuredService(client, job.namespace or client.namespace, job.name, speculating=True)
        body = await service.body()
        twin_of(body)  # refuses a service that asks for no speculation, before anything is done
        await service.until_ready(say, seconds=patience(body), room=patience(body))
        repeats, conditions = await (_in_place if job.order.in_place else _side_by_side)(client, job, service, say)
    return Measurement(
        order=job.order,
        context=conditions,
        repeats=tuple(each for each, _ in repeats),
        redone=tuple(why for _, thrown in repeats for why in thrown),
    )


async def _side_by_side(client: KubeClient, job: Job, service: MeasuredService, say: Say) -> tuple[Repeats, Context]:
    order = job.order
    async with separate_baseline(client, await service.body(), say, room=job.room) as twin:
        conditions = context(await service.body(), job.at, await service.running(), await twin.running())
        sides = {Side.SPECULATING: service, Side.BASELINE: twin}
        return await _rounds(interleaved(order.concurrencies, order.repeats), sides, job, say), conditions


async def _in_place(client: KubeClient, job: Job, service: MeasuredService, say: Say) -> tuple[Repeats, Context]:
    order, body, speculating = job.order, await service.body(), await service.running()
    rounds = one_side(Side.SPECULATING, order.concurrencies, order.repeats)
    repeats = await _rounds(rounds, {Side.SPECULATING: service}, job, say)
    async with baseline_in_place(client, body, say) as baseline:
        conditions = context(body, job.at, speculating, await baseline.running())
        rounds = one_side(Side.BASELINE, order.concurrencies, order.repeats)
        return [*repeats, *await _rounds(rounds, {Side.BASELINE: baseline}, job, say)], conditions


async def _rounds(
    rounds: Sequence[BenchmarkRound], sides: Mapping[Side, MeasuredService], job: Job, say: Say
) -> Repeats:
    repeats: Repeats = []
    for each in rounds:
        repeat, thrown = await _repeat(each, sides[each.side], job.prompts, job.order.max_tokens)
        repeats.append((repeat, thrown))
        place = f"{each.concurrency} at once, repeat {each.repeat} of {job.order.repeats}, {each.side}"
        say(f"{place}: {repeat.tokens_per_second:.1f} tokens/s")
    return repeats


async def _repeat(
    turn: BenchmarkRound, service: MeasuredService, prompts: Sequence[Prompt], max_tokens: int
) -> tuple[Repeat, tuple[str, ...]]:
    """One repeat, and why earlier tries of it were thrown away. Raises Unmeasurable after three that were."""
    thrown: list[str] = []
    if turn.first:
        await _ask(tuple(islice(cycle(prompts), WARM_UPS)), service, 1, max_tokens)
    while True:
        try:
            return await _once(turn, service, prompts, max_tokens), tuple(thrown)
        except Unanswered as error:
            place = f"repeat {turn.repeat} of the {turn.side} side with {turn.concurrency} at once"
            thrown.append(f"{place}: {error.message}")
            if len(thrown) == _TRIES:
                raise Unmeasurable("TooManyFailures", f"{_TRIES} tries failed, the last: {thrown[-1]}") from error


async def _once(turn: BenchmarkRound, service: MeasuredService, prompts: Sequence[Prompt], max_tokens: int) -> Repeat:
    await service.check_unchanged()
    before = await service.counters()
    begun = time.perf_counter()
    answers = await _ask(prompts, service, turn.concurrency, max_tokens)
    seconds = time.perf_counter() - begun
    await service.check_unchanged()
    drafted = drafting(before, await service.counters())
    if drafted is None:
        raise Unanswered("Restarted", "an engine restarted, or the set of pods changed")
    return Repeat(turn=turn, seconds=seconds, answers=answers, drafting=drafted)


async def _ask(
    prompts: Sequence[Prompt], service: MeasuredService, concurrency: int, max_tokens: int
) -> tuple[Answer, ...]:
    """The answers, in the order of the prompts. Clients take the next prompt as soon as they have their answer.

    Raises the error of the first request that fails; the others are ended then.
    """
    waiting = iter(enumerate(prompts))
    answers: dict[int, Answer] = {}

    async def client() -> None:
        for index, prompt in waiting:
            answers[index] = await service.ask(prompt, max_tokens)

    try:
        async with asyncio.TaskGroup() as clients:
            for _ in range(concurrency):
                clients.create_task(client())
    except* OperatorError as group:
        raise group.exceptions[0] from None
    return tuple(answers[index] for index in range(len(prompts)))
