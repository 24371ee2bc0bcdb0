"""The whole tuning, in order. One round: some prompts, so many at once, with one setting of the dial."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from specdec_command.measure.baseline import patience
from specdec_command.measure.benchmark import Unanswered, Unmeasurable
from specdec_command.measure.run import answered, ask_all, tried, warm_up
from specdec_command.measure.service import MeasuredService, Say
from specdec_command.tune.dial import TUNING, annotation, check_tunable, ended, requested_tokens
from specdec_command.tune.order import TuneJob, TuneRound, prompts_of, rounds, tokens_to_try
from specdec_command.tune.report import context_of
from specdec_command.tune.tuning import TuneRepeat, Tuning
from specdec_operator.display.describe import NO_OPERATOR
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.kube.client import KubeClient
from specdec_operator.names import DIAL_ANNOTATION

_TIMEOUT: Final = 60.0
_PAUSE: Final = 0.2
_LONGEST: Final = 60.0
"""Seconds until the pods follow: they do within a second, or not at all."""
_LASTS: Final = 1800.0
"""Seconds that a setting lasts: a command that is killed cannot take it back."""


async def run(job: TuneJob, kubeconfig: str | None, say: Say) -> Tuning:
    """Tries every number of tokens at every load, and resets the dial. Raises OperatorError where that cannot be
    done.
    """
    async with await KubeClient.as_user(kubeconfig, timeout=_TIMEOUT) as client:
        service = MeasuredService(client, job.namespace or client.namespace, job.name, speculating=True)
        body = await service.body()
        check_tunable(Untrusted(body))
        await service.until_ready(say, seconds=patience(body), room=patience(body))
        body = await service.body()
        requested = requested_tokens(Untrusted(body))
        tokens = tokens_to_try(requested, job.order.tokens)
        turns = rounds(job.order.concurrencies, tokens, job.order.repeats)
        say(f"{job.name}: {len(turns)} rounds, with {', '.join(map(str, tokens))} draft tokens in turn")
        context = context_of(body, job.at, requested, await service.running())
        repeats: list[tuple[TuneRepeat, tuple[str, ...]]] = []
        async with _turned(client, service, say):
            await warm_up(service, job.prompts, job.order.request)
            for turn in turns:
                found = await tried(partial(_once, turn, client, service, job), turn.words)
                repeats.append(found)
                say(f"{turn.number} of {len(turns)}: {turn.words}: {found[0].tokens_per_second:.1f} tokens/s")
    redone = tuple(why for _, thrown in repeats for why in thrown)
    return Tuning(
        order=job.order, context=context, service=body, repeats=tuple(each for each, _ in repeats), redone=redone
    )


@asynccontextmanager
async def _turned(client: KubeClient, service: MeasuredService, say: Say) -> AsyncIterator[None]:
    """The dial is reset at the end, whatever happens."""
    try:
        yield
    finally:
        await client.merge(service.path, {"metadata": {"annotations": {DIAL_ANNOTATION: None}}})
        say(f"{service.name}: the dial is reset, so each pod goes back to its flags")


async def _once(turn: TuneRound, client: KubeClient, service: MeasuredService, job: TuneJob) -> TuneRepeat:
    await _turn(turn.tokens, client, service)
    prompts, concurrency = prompts_of(turn, job.prompts), turn.load.concurrency or 1
    asked = await answered(service, lambda: ask_all(prompts, service, job.order.request, concurrency=concurrency))
    if ended(Untrusted(await service.body()), str(turn.tokens)) is None:
        raise Unanswered("Turned", "the dial was turned, or a pod did not follow it any more")
    return TuneRepeat(turn=turn, seconds=asked.seconds, answers=asked.answers, drafting=asked.drafting)


async def _turn(tokens: int, client: KubeClient, service: MeasuredService) -> None:
    """Sets the dial, and waits until all pods follow. Raises Unmeasurable where they do not."""
    text = annotation(str(tokens), _LASTS, TUNING, time.time())
    await client.merge(service.path, {"metadata": {"annotations": {DIAL_ANNOTATION: text}}})
    deadline = time.monotonic() + _LONGEST
    while True:
        body = Untrusted(await service.body())
        end = ended(body, str(tokens))
        if end is not None and end[0]:
            return
        if end is not None or time.monotonic() > deadline:
            why = body.of("status", "dial", "message").text or NO_OPERATOR
            raise Unmeasurable("NotFollowed", f"{service.name}: not all pods draft {tokens} tokens: {why}")
        await asyncio.sleep(_PAUSE)
