"""Names for the operator's writes, and the kill of the operator at one of them."""

import asyncio
import json
import re
import signal
from collections.abc import Iterable
from typing import Final

from tests.wire.api import Object
from tests.wire.faults.deeds import Asked, Deed, Hang, Pass
from tests.wire.operator import OperatorProcess
from tests.wire.waiting import until

BEFORE: Final = False
AFTER: Final = True


def write(asked: Asked) -> str:
    """What a write is, in short: `status Watching (4 tokens)`, `InferenceService (plain)`, `guest, as a dry run`,
    `Event RollingBack`.
    """
    body = json.loads(asked.body)
    match asked.method, asked.what:
        case "PATCH", "speculativeinferenceservices/status":
            guard, tokens = body["status"]["guard"], body["status"]["serving"]["tokens"]
            return f"status {guard['state']} ({_amount(tokens)}{', a window failed' if guard['failures'] else ''})"
        case "PATCH", "inferenceservices" if isinstance(body, list):
            return "guest, as a dry run" if asked.dry_run else "guest"
        case "PATCH", "inferenceservices":
            return f"InferenceService ({_amount(tokens_of(body))})"
        case "POST", "events":
            return f"Event {body['reason']}"
    return f"{asked.method} {asked.what}"


def in_turn(writes: Iterable[Asked]) -> list[str]:
    """The writes in order, without each status that only repeats the user's decisions of the one before."""
    named = [write(each) for each in writes]
    last, kept = "", list[str]()
    for each in named:
        if each != last:
            kept.append(each)
        last = each if each.startswith("status") else last
    return kept


def events_of(writes: Iterable[str]) -> list[str]:
    """The reasons of the Events among named writes."""
    return [each.removeprefix("Event ") for each in writes if each.startswith("Event ")]


def tokens_of(child: Object) -> int:
    """How many tokens an InferenceService drafts at once; 0: it is plain."""
    args = " ".join(child["spec"]["predictor"]["model"]["args"])
    found = re.search(r'"num_speculative_tokens":(\d+)', args)
    return int(found.group(1)) if found else 0


def _amount(tokens: int) -> str:
    return f"{tokens} tokens" if tokens else "plain"


class Killer:
    """A rule that kills the operator at writes, and starts it again: at each of these once for each of `moments`.

    moments: BEFORE the API server sees it, or AFTER it has done it but before the operator is answered. skip: how many
    writes of each name pass first.
    """

    def __init__(self, operator: OperatorProcess, named: Iterable[str], *moments: bool, skip: int = 0) -> None:
        self._operator = operator
        self._left = {each: list(moments) for each in named}
        self._kills = len(self._left) * len(moments)
        self._skip = dict.fromkeys(self._left, skip)
        self._restarts: list[asyncio.Task[None]] = []

    def __call__(self, asked: Asked) -> Deed:
        name = write(asked) if asked.writes else ""
        if not self._left.get(name):
            return Pass()
        if self._skip[name]:
            self._skip[name] -= 1
            return Pass()
        return Hang(done=self._left[name].pop(0), then=self._kill)

    async def over(self) -> None:
        """Waits until the operator was killed at every moment and runs again. Raises what kept it from that."""
        try:
            await until(
                f"kills at all of {[*self._left]}", self._happened, state=lambda: f"still to come: {self._left}"
            )
        finally:
            await asyncio.gather(*self._restarts)

    async def _happened(self) -> bool:
        return len(self._restarts) == self._kills

    def _kill(self) -> None:
        self._operator.send(signal.SIGKILL)
        self._restarts.append(asyncio.create_task(self._restart()))

    async def _restart(self) -> None:
        await self._operator.stop(signal.SIGKILL)
        await self._operator.start()
