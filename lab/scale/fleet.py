"""The fleet: N services, applied, changed and looked at through the API server."""

import asyncio
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kubernetes.aio import client
from tests.wire.api import SIS, Api, Object
from tests.wire.world import is_speculative

from lab.scale.watching import inference_services

NAMESPACE = "fleet"
INTERVAL, WINDOW, FAILURE_LIMIT = 15.0, 30.0, 2
_AT_ONCE = 16
_SEED = 7


def name_of(number: int) -> str:
    """The name of a service."""
    return f"svc-{number}"


def sis_of(number: int, *, max_num_seqs: int = 64) -> Object:
    """One of them, with windows of half a minute."""
    return {
        "apiVersion": SIS[0],
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": name_of(number)},
        "spec": {
            "model": {"uri": "pvc://models/target"},
            "speculation": {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}},
            "engine": {"accelerator": "cpu", "maxNumSeqs": max_num_seqs},
            "guard": {
                "interval": f"{INTERVAL:.0f}s",
                "window": f"{WINDOW:.0f}s",
                "warmup": "5s",
                "failureLimit": FAILURE_LIMIT,
                "minDraftTokens": 200,
            },
        },
    }


@dataclass
class Fleet:
    """N services, and when each InferenceService was seen to change last. namespaces: they are spread over these.

    plain: those without speculation now; turned: when one became so, in this order.
    """

    api: Api
    size: int
    namespaces: tuple[str, ...] = (NAMESPACE,)
    changed: dict[str, float] = field(default_factory=dict)
    baseline: set[str] = field(default_factory=set)
    turned: list[float] = field(default_factory=list)

    async def apply(self, numbers: Sequence[int], *, max_num_seqs: int = 64) -> dict[str, float]:
        """Applies them, some at once; returns when each was sent."""
        places, sent = asyncio.Semaphore(_AT_ONCE), dict[str, float]()

        async def one(number: int) -> None:
            async with places:
                sent[name_of(number)] = time.monotonic()
                body = sis_of(number, max_num_seqs=max_num_seqs)
                await self.api.apply(SIS, self.namespaces[number % len(self.namespaces)], body)

        await asyncio.gather(*(one(number) for number in numbers))
        return sent

    def some(self, count: int) -> list[int]:
        """So many of them, always the same."""
        return random.Random(_SEED).sample(range(self.size), min(count, self.size))  # noqa: S311 - guards nothing

    async def statuses(self) -> list[Object]:
        """The status of each."""
        listed = [await self.api.items(SIS, namespace) for namespace in self.namespaces]
        return [each.get("status", {}) for part in listed for each in part]

    async def phases(self) -> Counter[str]:
        """How many are in each phase."""
        return Counter(str(each.get("phase")) for each in await self.statuses())

    async def largest_status(self) -> int:
        """Bytes of the largest status, as JSON."""
        return max(len(json.dumps(each)) for each in await self.statuses())

    async def until_changed(self, since: dict[str, float], seconds: float) -> list[float]:
        """Waits until each InferenceService changed after its sis did; returns the seconds that each took."""
        deadline = time.monotonic() + seconds
        while late := [name for name, at in since.items() if self.changed.get(name, 0.0) < at]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(late)} of {len(since)} InferenceServices did not follow in {seconds:.0f} s")
            await asyncio.sleep(0.05)
        return [self.changed[name] - at for name, at in since.items()]

    @asynccontextmanager
    async def watched(self, connection: client.ApiClient) -> AsyncIterator[None]:
        """Notes each new generation of an InferenceService, for the length of the block."""
        task = asyncio.create_task(self._watch(connection))
        try:
            yield
        finally:
            task.cancel()

    async def _watch(self, connection: client.ApiClient) -> None:
        seen: dict[str, int] = {}
        async for body in inference_services(connection):
            name, generation = body["metadata"]["name"], body["metadata"]["generation"]
            if seen.get(name) != generation:
                seen[name], self.changed[name] = generation, time.monotonic()
            if is_speculative(body):
                self.baseline.discard(name)
            elif name not in self.baseline:
                self.baseline.add(name)
                self.turned.append(time.monotonic())


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies."""
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]


def most_within(times: Sequence[float], seconds: float) -> int:
    """The most of these times that lie within so many seconds of one another."""
    return max((sum(begin <= each < begin + seconds for each in times) for begin in times), default=0)
