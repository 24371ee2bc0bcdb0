"""How soon running pods follow the dial, and that no request notices: forty changes under traffic, on a real node."""

import asyncio
import itertools
import json
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest

from specdec_operator.names import DIAL_ANNOTATION, OWNER_LABEL
from tests.node import measured
from tests.node.film import LOST, Film
from tests.node.service import Service
from tests.wire.api import POD, SIS, Refused

DRAFT: Final = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
PODS: Final = 3
SETTINGS: Final = (0, 4, 0, 2)
CHANGES: Final = 40
WITHIN: Final = 60.0
CLIENTS: Final = 2
MANY: Final = 8
OPERATOR: Final = "specdec-system"


@dataclass(slots=True)
class Answers:
    """The answers by prompt, and the requests that failed."""

    texts: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    count: int = 0
    failed: int = 0

    async def reach(self, due: float) -> bool:
        """Whether so many were answered."""
        return self.count >= due


@pytest.mark.alone
async def test_forty_changes_reach_three_pods_and_no_request_notices(service: Service, film: Film) -> None:
    """Each time all pods answer that they follow. Greedy answers to one prompt are equal, whatever was drafted."""
    rollout = {"replicas": PODS, "rollout": {"strategy": "Surge", "deadline": "10m"}}
    await service.apply(DRAFT, rollout, mode="Observe")
    await film.phase("Watching", 0, 400)
    shown, followed = defaultdict[int, list[float]](list), defaultdict[int, list[float]](list)
    async with asking(service) as answers:
        for tokens in itertools.islice(itertools.cycle(SETTINGS), CHANGES):
            begun = time.time()
            shown[tokens].append(await turned(service, film, tokens))
            followed[tokens].append(await last_of(service, film) - begun)
            await asyncio.sleep(0.5)
    different = sum(len(texts) > 1 for texts in answers.texts.values())
    figures = {
        tokens: {"followed": figure(followed[tokens]), "shown": figure(shown[tokens]), "changes": len(shown[tokens])}
        for tokens in SETTINGS
    }
    print(figures, answers.count, "answers", different, "prompts with different answers")
    measured.keep("times", pods=PODS, settings=figures, answers=answers.count, prompts=len(answers.texts))
    assert (answers.failed, different) == (0, 0)
    assert answers.count > CHANGES


@pytest.mark.alone
async def test_requests_survive_changes_a_killed_operator_and_a_rollout(service: Service, film: Film) -> None:
    """The operator is killed after a quarter of them, and all pods are replaced after a half."""
    rollout = {"replicas": PODS, "rollout": {"strategy": "Surge", "deadline": "10m"}}
    await service.apply(DRAFT, rollout, mode="Observe")
    await film.phase("Watching", 0, 400)
    began = {pod["metadata"]["name"] for pod in await service.api.items(POD, service.namespace)}
    requests, changes = measured.sized(10_000, usually=300), measured.sized(CHANGES, usually=12)
    async with asking(service, tokens=6, clients=MANY) as answers:
        for number, tokens in enumerate(itertools.islice(itertools.cycle(SETTINGS), changes)):
            if number == changes // 4:
                (operator,) = await service.api.items(POD, OPERATOR)
                await service.api.delete(POD, OPERATOR, operator["metadata"]["name"])
            if number == changes // 2:
                await service.apply(
                    DRAFT, rollout | {"pod": {"annotations": {"example.org/again": "1"}}}, mode="Observe"
                )
            await turned(service, film, tokens)
            await service.until("requests", lambda due=requests * (number + 1) / changes: answers.reach(due), 600)
        await service.until("new pods only", lambda: replaced(service, began), 600)
    different = sum(len(texts) > 1 for texts in answers.texts.values())
    print(answers.count, "answers", answers.failed, "failed", different, "prompts with different answers")
    measured.keep("requests", pods=PODS, clients=MANY, changes=changes, answers=answers.count, failed=answers.failed)
    assert (answers.failed, different) == (0, 0)
    assert answers.count >= requests


async def replaced(service: Service, before: set[str]) -> bool:
    """Whether none of the pods of before is left, and as many serve."""
    pods = [
        each for each in await service.api.items(POD, service.namespace) if OWNER_LABEL in each["metadata"]["labels"]
    ]
    return len(pods) == PODS and not before & {each["metadata"]["name"] for each in pods}


async def turned(service: Service, film: Film, tokens: int) -> float:
    """Seconds from the annotation of the service until the last pod's answer is in the status."""
    begun = time.monotonic()
    body = {"metadata": {"annotations": {DIAL_ANNOTATION: str(tokens or "off")}}}
    await service.api.merge(SIS, service.namespace, service.name, body)
    return await film.dialled(tokens, begun, WITHIN) - begun


async def last_of(service: Service, film: Film) -> float:
    """When the last pod's engine went on with its new setting, by its own page; epoch seconds on this machine."""
    pods = [each["metadata"]["name"] for each in await service.api.items(POD, service.namespace)]
    path = f"/api/v1/namespaces/{service.namespace}/pods/http:{{}}:8080/proxy/specdec/dial"
    pages = [json.loads(await film.text(path.format(pod))) for pod in pods]
    assert len(pages) == PODS
    return float(max(each["since"] for each in pages))


def figure(seconds: list[float]) -> dict[str, float]:
    """Median, 95th percentile and largest."""
    return {
        "median": round(statistics.median(seconds), 2),
        "p95": round(statistics.quantiles(seconds, n=20, method="inclusive")[-1], 2),
        "most": round(max(seconds), 2),
    }


@asynccontextmanager
async def asking(service: Service, tokens: int = 24, clients: int = CLIENTS) -> AsyncIterator[Answers]:
    """Clients that request the same prompts again and again for the length of a block; each finishes its last one."""
    answers, stopping = Answers(), asyncio.Event()

    async def client(first: int) -> None:
        for number in itertools.count(first):
            if stopping.is_set():
                return
            prompt = number % 8
            try:
                answer = await service.ask(service.prompt("code", prompt), max_tokens=tokens)
            except (Refused, *LOST):
                answers.failed += 1
                continue
            answers.count += 1
            answers.texts[prompt].add(answer["choices"][0]["text"])

    async with asyncio.TaskGroup() as group:
        for first in range(clients):
            group.create_task(client(4 * first))
        yield answers
        stopping.set()
