"""The load on the service and what is measured of it: tokens per second, and acceptance.

One client asks, waits for the whole answer, and asks again. Sampling is greedy, so that speculation changes nothing but
the speed. A failed request is recorded, and its prompt is asked again after a pause. The demo reads the engine's
counters itself, so that it is a check of what the operator reports.
"""

import asyncio
import itertools
import re
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Final, NamedTuple, NoReturn

from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.dynamic import DynamicClient

from hack.demo.observed import LOST, request

CLIENTS: Final = 1
"""With two cores, a second client would measure the queue."""
MAX_TOKENS: Final = 96
_PAUSE = 0.5
_TIMEOUT: Final = 60
_READ_EVERY: Final = 1.0
_ENGINE_PORT: Final = 8080
_COUNTER = re.compile(
    r"^vllm:spec_decode_num_(draft_tokens|accepted_tokens)_total(?:\{[^}]*\})? ([0-9.eE+-]+)$", re.MULTILINE
)


class Topic(StrEnum):
    """What the prompts are about."""

    CODE = "code"
    DRIFT = "drift"


class Completion(NamedTuple):
    """One answered request, with the completion tokens of its usage."""

    began: float
    ended: float
    tokens: int


class Failure(NamedTuple):
    """One request that was not answered."""

    at: float
    why: str


class Reading(NamedTuple):
    """The speculation counters of one pod's engine at one moment."""

    at: float
    pod: str
    drafted: float
    accepted: float


class Span(NamedTuple):
    """A stretch of time."""

    begin: float
    end: float


class Speed(NamedTuple):
    """Tokens per second: the median of equal slices of a span, the slowest and the fastest of them."""

    median: float
    lowest: float
    highest: float


class Traffic:
    """The client, the topic it asks about, and every request of it. path, model: of the service."""

    def __init__(self, api: DynamicClient, path: str, model: str, prompts: Mapping[str, Sequence[str]]) -> None:
        self._api = api
        self._path = path
        self._model = model
        self._prompts = prompts
        self._stopping = False
        self.topic: Topic | None = None
        self.completions: list[Completion] = []
        self.failures: list[Failure] = []

    @asynccontextmanager
    async def about(self, topic: Topic) -> AsyncIterator[float]:
        """Ask about a topic for the length of a block; the value is the moment before the first request.

        The last request is finished at the end of the block, and cancelled where the block fails.
        """
        self._stopping, self.topic = False, topic
        async with asyncio.TaskGroup() as group:
            begun = time.monotonic()
            group.create_task(self._ask(topic))
            yield begun
            self._stopping = True
        self.topic = None

    async def _ask(self, topic: Topic) -> None:
        # From the first prompt each time: what is compared later was asked the same.
        for prompt in itertools.cycle(self._prompts[topic]):
            while not self._stopping and not await self._answered(prompt):
                await asyncio.sleep(_PAUSE)
            if self._stopping:
                return

    async def _answered(self, prompt: str) -> bool:
        body = {"model": self._model, "prompt": prompt, "max_tokens": MAX_TOKENS, "temperature": 0}
        began = time.monotonic()
        try:
            answer = await request(self._api, "post", self._path, body=body, _request_timeout=_TIMEOUT)
        except ApiException as error:
            why = f"HTTP {error.status}: {str(error.body)[:120]}"
        except LOST as error:
            why = f"{type(error).__name__}: {error}"
        else:
            tokens = int(answer["usage"]["completion_tokens"])
            self.completions.append(Completion(began=began, ended=time.monotonic(), tokens=tokens))
            return True
        self.failures.append(Failure(at=time.monotonic(), why=" ".join(why.split())))
        return False


async def read_engines(
    api: DynamicClient, path: str, pods: Callable[[], list[str]], readings: list[Reading]
) -> NoReturn:
    """Read the counters of some pods every second, for ever. path: of all pods."""
    while True:
        due = time.monotonic() + _READ_EVERY
        for pod in pods():
            page = f"{path}/http:{pod}:{_ENGINE_PORT}/proxy/metrics"
            try:
                answer = await api.request("get", page, serialize=False, _request_timeout=_TIMEOUT)
                found = read(await answer.text(), pod=pod, at=time.monotonic())
            except (ApiException, *LOST):
                continue
            if found:
                readings.append(found)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


def read(page: str, *, pod: str, at: float) -> Reading | None:
    """Find the counters on a page of metrics; None where the engine does not speculate."""
    sums: dict[str, float] = {}
    for name, value in _COUNTER.findall(page):
        sums[name] = sums.get(name, 0.0) + float(value)
    if len(sums) < 2:
        return None
    return Reading(at=at, pod=pod, drafted=sums["draft_tokens"], accepted=sums["accepted_tokens"])


def acceptance(readings: Iterable[Reading], span: Span) -> float | None:
    """Accepted / drafted tokens inside a span, summed over the pods; None where nothing was drafted."""
    inside: dict[str, list[Reading]] = {}
    for each in readings:
        if span.begin <= each.at <= span.end:
            inside.setdefault(each.pod, []).append(each)
    drafted = sum(each[-1].drafted - each[0].drafted for each in inside.values())
    accepted = sum(each[-1].accepted - each[0].accepted for each in inside.values())
    return accepted / drafted if drafted > 0 else None


def acceptances(readings: Iterable[Reading]) -> list[tuple[float, float]]:
    """Acceptance between one reading of a pod and its next: (time of the later one, acceptance), in order of time."""
    before: dict[str, Reading] = {}
    points: list[tuple[float, float]] = []
    for each in sorted(readings):
        earlier = before.get(each.pod)
        if earlier is not None and each.drafted > earlier.drafted:
            points.append((each.at, (each.accepted - earlier.accepted) / (each.drafted - earlier.drafted)))
        before[each.pod] = each
    return points


def rate(completions: Iterable[Completion], span: Span) -> float:
    """Tokens per second within a span.

    A request that reaches over an edge counts by the share of its time inside, so that slices of few requests do not
    jump by a whole answer.
    """
    tokens = 0.0
    for each in completions:
        inside = min(each.ended, span.end) - max(each.began, span.begin)
        if inside > 0:
            tokens += each.tokens * inside / (each.ended - each.began)
    return tokens / (span.end - span.begin)


def slices(span: Span, length: float) -> list[Span]:
    """Cut a span into equal slices of about `length` seconds, at least one."""
    count = max(1, round((span.end - span.begin) / length))
    step = (span.end - span.begin) / count
    return [Span(begin=span.begin + i * step, end=span.begin + (i + 1) * step) for i in range(count)]


def speed(completions: Sequence[Completion], span: Span, length: float) -> Speed:
    """The speed in a span, over slices of about `length` seconds."""
    rates = [rate(completions, part) for part in slices(span, length)]
    return Speed(median=statistics.median(rates), lowest=min(rates), highest=max(rates))
