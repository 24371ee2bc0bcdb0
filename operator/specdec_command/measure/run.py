"""The whole measurement, in order. One round: all prompts, so many at once, between two readings of the counters."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import cycle, islice
from typing import Any, Final, TypeVar

from specdec_command.measure.answer import Answer
from specdec_command.measure.baseline import baseline_in_place, patience, separate_baseline, twin_of
from specdec_command.measure.benchmark import (
    WARM_UPS,
    BenchmarkRound,
    Job,
    Load,
    Side,
    Unanswered,
    Unmeasurable,
    interleaved,
    one_side,
)
from specdec_command.measure.compare import AnsweredPrompts, Measurement, Repeat, drafting
from specdec_command.measure.context import Context, context
from specdec_command.measure.prompts import Prompt
from specdec_command.measure.requests import SEED, arrivals
from specdec_command.measure.service import MeasuredService, Say
from specdec_operator.errors import OperatorError
from specdec_operator.kube.client import KubeClient

_TIMEOUT: Final = 60.0
_READ_EVERY: Final = 2.0
_TRIES: Final = 3
"""How often one repeat is tried before the measurement ends."""
_Asked = TypeVar("_Asked", bound=AnsweredPrompts)

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
        return await _rounds(interleaved(order.loads, order.repeats), sides, job, say), conditions


async def _in_place(client: KubeClient, job: Job, service: MeasuredService, say: Say) -> tuple[Repeats, Context]:
    order, body, speculating = job.order, await service.body(), await service.running()
    rounds = one_side(Side.SPECULATING, order.loads, order.repeats)
    repeats = await _rounds(rounds, {Side.SPECULATING: service}, job, say)
    async with baseline_in_place(client, body, say) as baseline:
        conditions = context(body, job.at, speculating, await baseline.running())
        rounds = one_side(Side.BASELINE, order.loads, order.repeats)
        return [*repeats, *await _rounds(rounds, {Side.BASELINE: baseline}, job, say)], conditions


async def _rounds(
    rounds: Sequence[BenchmarkRound], sides: Mapping[Side, MeasuredService], job: Job, say: Say
) -> Repeats:
    repeats: Repeats = []
    for each in rounds:
        repeat, thrown = await _repeat(each, sides[each.side], job)
        repeats.append((repeat, thrown))
        place = f"{_place(each.load)}, repeat {each.repeat} of {job.order.repeats}, {each.side}"
        say(f"{place}: {repeat.tokens_per_second:.1f} tokens/s")
    return repeats


def _place(load: Load) -> str:
    return f"{load.concurrency} at once" if load.rate is None else load.words


async def _repeat(turn: BenchmarkRound, service: MeasuredService, job: Job) -> tuple[Repeat, tuple[str, ...]]:
    """One repeat, and why earlier tries of it were thrown away. Raises Unmeasurable after three that were."""
    if turn.first:
        await warm_up(service, job.prompts, job.order.request)
    return await tried(
        lambda: _once(turn, service, job), f"repeat {turn.repeat} of the {turn.side} side with {_place(turn.load)}"
    )


async def warm_up(service: MeasuredService, prompts: Sequence[Prompt], options: Mapping[str, Any]) -> None:
    """Requests that count for nothing."""
    await ask_all(tuple(islice(cycle(prompts), WARM_UPS)), service, options, concurrency=1)


async def tried(once: Callable[[], Awaitable[_Asked]], place: str) -> tuple[_Asked, tuple[str, ...]]:
    """What came of it, and why earlier tries were thrown away. Raises Unmeasurable after three that were."""
    thrown: list[str] = []
    while True:
        try:
            return await once(), tuple(thrown)
        except Unanswered as error:
            thrown.append(f"{place}: {error.message}")
            if len(thrown) == _TRIES:
                raise Unmeasurable("TooManyFailures", f"{_TRIES} tries failed, the last: {thrown[-1]}") from error


async def _once(turn: BenchmarkRound, service: MeasuredService, job: Job) -> Repeat:
    async with _cache_use(service, watched=turn.side is Side.SPECULATING) as used:
        asked = await answered(service, lambda: _answers(turn, service, job))
    return Repeat(
        turn=turn,
        seconds=asked.seconds,
        answers=asked.answers,
        drafting=asked.drafting,
        cache_used=sum(used) / len(used) if used else None,
    )


async def answered(service: MeasuredService, ask: Callable[[], Awaitable[tuple[Answer, ...]]]) -> AnsweredPrompts:
    """What came of requests between two readings of the counters, of a service that stays as it is meanwhile."""
    await service.check_unchanged()
    before = await service.counters()
    begun = time.perf_counter()
    answers = await ask()
    seconds = time.perf_counter() - begun
    await service.check_unchanged()
    drafted = drafting(before, await service.counters())
    if drafted is None:
        raise Unanswered("Restarted", "an engine restarted, or the set of pods changed")
    return AnsweredPrompts(seconds=seconds, answers=answers, drafting=drafted)


@asynccontextmanager
async def _cache_use(service: MeasuredService, *, watched: bool) -> AsyncIterator[list[float]]:
    """The share of the KV cache in use every two seconds while the block runs, of the pod that uses most."""
    used: list[float] = []

    async def watch() -> None:
        while True:
            await asyncio.sleep(_READ_EVERY)
            with suppress(OperatorError, ValueError):  # a read that fails is one point less
                pods = (await service.counters()).values()
                shares = [each.kv_cache.used for each in pods if each.kv_cache and each.kv_cache.used is not None]
                used.extend([max(shares)] if shares else [])

    task = asyncio.create_task(watch()) if watched else None
    try:
        yield used
    finally:
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _answers(turn: BenchmarkRound, service: MeasuredService, job: Job) -> tuple[Answer, ...]:
    """The answers of a repeat. Both sides of one have the same times of arrival."""
    options, load = job.order.request, turn.load
    if load.rate is None:
        return await ask_all(job.prompts, service, options, concurrency=load.concurrency or 1)
    return await _ask_at(arrivals(len(job.prompts), load.rate, SEED + turn.repeat), job.prompts, service, options)


async def _ask_at(
    times: Sequence[float], prompts: Sequence[Prompt], service: MeasuredService, options: Mapping[str, Any]
) -> tuple[Answer, ...]:
    """The answers to prompts that are sent at these seconds, whether earlier ones are answered or not."""
    begun = time.perf_counter()

    async def client(prompt: Prompt, at: float) -> Answer:
        await asyncio.sleep(max(0.0, at - (time.perf_counter() - begun)))
        return await service.ask(prompt, options)

    try:
        async with asyncio.TaskGroup() as clients:
            tasks = [clients.create_task(client(*each)) for each in zip(prompts, times, strict=True)]
    except* OperatorError as group:
        raise group.exceptions[0] from None
    return tuple(each.result() for each in tasks)


async def ask_all(
    prompts: Sequence[Prompt], service: MeasuredService, options: Mapping[str, Any], *, concurrency: int
) -> tuple[Answer, ...]:
    """The answers, in the order of the prompts. Clients take the next prompt as soon as they have their answer.

    Raises the error of the first request that fails; the others are ended then.
    """
    waiting = iter(enumerate(prompts))
    answers: dict[int, Answer] = {}

    async def client() -> None:
        for index, prompt in waiting:
            answers[index] = await service.ask(prompt, options)

    try:
        async with asyncio.TaskGroup() as clients:
            for _ in range(concurrency):
                clients.create_task(client())
    except* OperatorError as group:
        raise group.exceptions[0] from None
    return tuple(answers[index] for index in range(len(prompts)))
