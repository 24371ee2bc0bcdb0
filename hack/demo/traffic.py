"""Clients of the service: each asks, waits for the whole answer, and asks again. No failure is hidden.

A failed request is counted, and its prompt is asked again after a pause. Greedy, so that speculation changes nothing
but the speed.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from hack.demo.connection import LOST, Connection
from hack.demo.samples import Sample
from hack.demo.speed import Completion, Failure

MAX_TOKENS = 96
_PAUSE = 0.5


class Topic(StrEnum):
    """What the prompts are about."""

    CODE = "code"
    DRIFT = "drift"


class Traffic:
    """A number of clients, the topic they ask about, and what came of every request."""

    def __init__(
        self, connection: Connection, sample: Sample, prompts: Mapping[str, Sequence[str]], *, clients: int
    ) -> None:
        self._connection = connection
        self._path = (
            f"/api/v1/namespaces/{sample.namespace}/services/http:{sample.name}-predictor:80/proxy/v1/completions"
        )
        self._model = sample.spec.model.name or sample.name
        self._prompts = prompts
        self._wanted = clients
        self._clients: list[asyncio.Task[None]] = []
        self._stopping = False
        self.topic: Topic | None = None
        self.completions: list[Completion] = []
        self.failures: list[Failure] = []

    @property
    def clients(self) -> int:
        """Clients at work."""
        return len(self._clients)

    def start(self, topic: Topic) -> float:
        """Send the clients out; returns the moment of the first request."""
        self._stopping, self.topic = False, topic
        # From the first prompt each time: what is compared later was asked the same questions.
        prompts = itertools.cycle(self._prompts[topic])
        began = time.monotonic()
        self._clients = [asyncio.create_task(self._ask_on(prompts)) for _ in range(self._wanted)]
        return began

    async def stop(self) -> None:
        """Let every client finish its request."""
        self._stopping = True
        working, self._clients = self._clients, []
        await asyncio.gather(*working)
        self.topic = None

    async def abandon(self) -> None:
        """End the clients where they are."""
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        self._clients = []

    async def _ask_on(self, prompts: Iterator[str]) -> None:
        while not self._stopping:
            prompt = next(prompts)
            while not await self._answered(prompt) and not self._stopping:
                await asyncio.sleep(_PAUSE)

    async def _answered(self, prompt: str) -> bool:
        body = {"model": self._model, "prompt": prompt, "max_tokens": MAX_TOKENS, "temperature": 0}
        began = time.monotonic()
        try:
            async with self._connection.session.post(self._path, json=body) as answer:
                if answer.status != 200:
                    self._failed(f"HTTP {answer.status}: {(await answer.text())[:120]}")
                    return False
                tokens = int((await answer.json())["usage"]["completion_tokens"])
        except LOST as error:
            self._failed(f"{type(error).__name__}: {error}")
            return False
        self.completions.append(Completion(began=began, ended=time.monotonic(), tokens=tokens))
        return True

    def _failed(self, why: str) -> None:
        self.failures.append(Failure(at=time.monotonic(), why=" ".join(why.split())))
