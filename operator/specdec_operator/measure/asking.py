"""One turn: all prompts, so many at once, between two readings of the engines' counters."""

import asyncio
import time
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Final

from specdec_operator.measure.answer import Answer
from specdec_operator.measure.compare import Repeat
from specdec_operator.measure.drafting import drafting
from specdec_operator.measure.errors import Unanswered, Unmeasurable
from specdec_operator.measure.order import WARM_UPS
from specdec_operator.measure.prompts import Prompt
from specdec_operator.measure.service import Service
from specdec_operator.measure.sides import Turn

_TRIES: Final = 3
"""How often one repeat is tried before the measurement ends."""


async def asked(prompts: Sequence[Prompt], service: Service, concurrency: int, max_tokens: int) -> tuple[Answer, ...]:
    """The answers, in the order of the prompts. Clients take the next prompt as soon as they have their answer.

    Raises Unanswered or Unmeasurable for the first request that fails; the others are ended then.
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
    except* Unmeasurable as group:
        raise group.exceptions[0] from None
    return tuple(answers[index] for index in range(len(prompts)))


async def repeat(
    turn: Turn, service: Service, prompts: Sequence[Prompt], max_tokens: int
) -> tuple[Repeat, tuple[str, ...]]:
    """One repeat, and why earlier tries of it were thrown away. Raises Unmeasurable after three that were."""
    thrown: list[str] = []
    if turn.first:
        await asked(tuple(islice(cycle(prompts), WARM_UPS)), service, 1, max_tokens)
    while True:
        try:
            return await _once(turn, service, prompts, max_tokens), tuple(thrown)
        except Unanswered as error:
            thrown.append(
                f"repeat {turn.repeat} of the {turn.side} side with {turn.concurrency} at once: {error.message}"
            )
            if len(thrown) == _TRIES:
                raise Unmeasurable("TooManyFailures", f"{_TRIES} tries failed, the last: {thrown[-1]}") from error


async def _once(turn: Turn, service: Service, prompts: Sequence[Prompt], max_tokens: int) -> Repeat:
    await service.unchanged()
    before = await service.counters()
    begun = time.perf_counter()
    answers = await asked(prompts, service, turn.concurrency, max_tokens)
    seconds = time.perf_counter() - begun
    await service.unchanged()
    drafted = drafting(before, await service.counters())
    if drafted is None:
        raise Unanswered("Restarted", "an engine restarted, or a pod came or went")
    return Repeat(turn=turn, seconds=seconds, answers=answers, drafting=drafted)
