"""The whole tuning, in order. One round: some prompts, so many at once, with one setting of the dial."""

import asyncio
import secrets
import time
from collections.abc import Iterable
from functools import partial
from typing import Final

from specdec_command.measure.baseline import patience
from specdec_command.measure.benchmark import Unanswered, Unmeasurable
from specdec_command.measure.compare import AnsweredPrompts
from specdec_command.measure.context import Object, service_context
from specdec_command.measure.run import answered, ask_all, tried, warm_up
from specdec_command.measure.service import MeasuredService, Say
from specdec_command.tune.dial import TUNING, annotation, check_tunable, ended, requested_tokens
from specdec_command.tune.order import TuneJob, TuneRound, prompts_of, request_of, rounds, tokens_to_try
from specdec_command.tune.tuning import TuneContext, TuneRepeat, Tuning
from specdec_operator.display.describe import NO_OPERATOR
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.kube.client import ApiError, KubeClient
from specdec_operator.names import DIAL_ANNOTATION

_TIMEOUT: Final = 60.0
_PAUSE: Final = 0.2
_LONGEST: Final = 60.0
"""Seconds until the pods follow: they do within a second, or not at all."""
_REFUSED: Final = 3.0
"""Seconds after which a refusal in the status is of this setting, and not of an earlier one."""
_LASTS: Final = 1800.0
"""Seconds that a setting lasts: a command that is killed cannot take it back."""
_RESETS: Final = 5
_AFTER_AN_ERROR: Final = 2.0


async def run(job: TuneJob, kubeconfig: str | None, say: Say) -> Tuning:
    """Tries every number of tokens at every load, and resets the dial. Raises OperatorError where that cannot be
    done.
    """
    async with await KubeClient.as_user(kubeconfig, timeout=_TIMEOUT) as client:
        service = MeasuredService(client, job.namespace or client.namespace, job.name, speculating=True)
        body = await service.body()
        check_tunable(Untrusted(body), time.time())
        await service.until_ready(say, seconds=patience(body), room=patience(body))
        body = await service.body()
        check_tunable(Untrusted(body), time.time())
        requested = requested_tokens(Untrusted(body))
        tokens = tokens_to_try(requested, job.order.tokens)
        turns = rounds(job.order.concurrencies, tokens, job.order.repeats)
        say(f"{job.name}: {len(turns)} rounds, with {', '.join(map(str, tokens))} draft tokens in turn")
        context = TuneContext(**service_context(body, job.at), requested=requested, running=await service.running())
        dial = _RunningDial(client, service, pods=_names(await service.pods()))
        repeats: list[tuple[TuneRepeat, tuple[str, ...]]] = []
        try:
            await warm_up(service, job.prompts, job.order.request)
            for turn in turns:
                found = await tried(partial(_once, turn, dial, service, job), turn.words)
                repeats.append(found)
                say(f"{turn.number} of {len(turns)}: {turn.words}: {found[0].tokens_per_second:.1f} tokens/s")
        finally:
            say(await dial.reset())
    redone = tuple(why for _, thrown in repeats for why in thrown)
    return Tuning(
        order=job.order, context=context, service=body, repeats=tuple(each for each, _ in repeats), redone=redone
    )


def _names(pods: Iterable[Object]) -> frozenset[str]:
    return frozenset(each["metadata"]["name"] for each in pods)


async def _once(turn: TuneRound, dial: "_RunningDial", service: MeasuredService, job: TuneJob) -> TuneRepeat:
    """One round. Raises Unanswered where the API server or an engine could not be read: another try may do."""
    try:
        asked = await _asked(turn, dial, service, job)
    except (ApiError, ValueError) as error:
        if isinstance(error, ApiError) and error.status in range(400, 500):
            raise
        await asyncio.sleep(_AFTER_AN_ERROR)
        raise Unanswered("Unreadable", str(error)) from error
    return TuneRepeat(turn=turn, seconds=asked.seconds, answers=asked.answers, drafting=asked.drafting)


async def _asked(turn: TuneRound, dial: "_RunningDial", service: MeasuredService, job: TuneJob) -> AnsweredPrompts:
    await dial.turn(turn.tokens)
    prompts, concurrency = prompts_of(turn, job.prompts), turn.load.concurrency or 1
    options = request_of(turn, job.order, dial.run)
    asked = await answered(service, lambda: ask_all(prompts, service, options, concurrency=concurrency))
    await dial.check(turn.tokens, asked.seconds)
    return asked


class _RunningDial:
    """The dial of the service, as long as no other user sets it. pods: those that answer from the first round on."""

    def __init__(self, client: KubeClient, service: MeasuredService, *, pods: frozenset[str]) -> None:
        self._client = client
        self._service = service
        self._pods = pods
        self._set = False
        self.run = secrets.token_hex(4)

    async def turn(self, tokens: int) -> None:
        """Sets it, and waits until all pods follow. Raises Unmeasurable where they do not."""
        self._check_ours(await self._body())
        await self._write(annotation(str(tokens), _LASTS, f"{TUNING} {self.run}", time.time()))
        self._set = True
        begun = time.monotonic()
        while True:
            body = await self._body()
            self._check_ours(body)
            end, waited = ended(body, str(tokens)), time.monotonic() - begun
            if end is not None and end[0]:
                return
            if waited > (_LONGEST if end is None else _REFUSED):
                why = body.of("status", "dial", "message").text or NO_OPERATOR
                raise Unmeasurable("NotFollowed", f"{self._service.name}: not all pods draft {tokens} tokens: {why}")
            await asyncio.sleep(_PAUSE)

    async def check(self, tokens: int, seconds: float) -> None:
        """Raises Unanswered where a pod did not follow to the end of a round, Unmeasurable where no round can."""
        name, body = self._service.name, await self._body()
        self._check_ours(body)
        if seconds > _LASTS:
            message = f"a round took {seconds / 60:.0f} min, longer than a setting of the dial; lower --max-tokens"
            raise Unmeasurable("RoundTooLong", message)
        if _names(await self._service.pods()) != self._pods:
            message = f"the pods of {name} changed, so its rounds cannot be compared; pause its autoscaler"
            raise Unmeasurable("PodsChanged", message)
        end = ended(body, str(tokens))
        if end is None or not end[0]:
            raise Unanswered("NotFollowed", "a pod did not follow the dial any more")

    async def reset(self) -> str:
        """Takes the setting off, unless another user has set it since; returns what came of it."""
        name, failed = self._service.name, ""
        for _ in range(_RESETS):
            try:
                if not self._is_ours(await self._body()):
                    why = "another user has set it" if self._set else "this run has not set it"
                    return f"{name}: the dial stays as it is: {why}"
                await self._write(None)
            except ApiError as error:
                failed = error.message
                await asyncio.sleep(_AFTER_AN_ERROR)
            else:
                return f"{name}: the dial is reset, so each pod goes back to its flags"
        return f"{name}: the dial could not be reset ({failed}): specdec dial {name} reset, or wait half an hour"

    def _is_ours(self, service: Untrusted) -> bool:
        """Whether the setting is one of this run. A write that failed may have been done all the same."""
        return service.of("metadata", "annotations", DIAL_ANNOTATION).text.endswith(f"{TUNING} {self.run}")

    def _check_ours(self, service: Untrusted) -> None:
        if self._set and not self._is_ours(service):
            found = service.of("metadata", "annotations", DIAL_ANNOTATION).text or "none"
            message = f"another user has set the dial of {self._service.name} (annotation: {found}), so this run ends"
            raise Unmeasurable("Turned", message)

    async def _body(self) -> Untrusted:
        return Untrusted(await self._service.body())

    async def _write(self, text: str | None) -> None:
        await self._client.merge(self._service.path, {"metadata": {"annotations": {DIAL_ANNOTATION: text}}})
