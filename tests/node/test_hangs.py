"""Engines that hang on a real node: SIGSTOP stops the engine's core, and its server answers /health with 200."""

import asyncio
import contextlib
import os
import pathlib
import signal
import time
from collections.abc import AsyncIterator

from specdec_operator import names
from tests.node import processes
from tests.node.film import Film
from tests.node.service import Service
from tests.wire.api import POD, Object

DRAFT = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
FOUND = 60.0
"""Seconds within which a hang is found and its pod evicted."""


async def test_one_of_two_engines_hangs_and_is_replaced_while_the_other_serves(service: Service, film: Film) -> None:
    """Found by the engine's own gauges, by an operator that watches; nothing is held against the draft."""
    await service.apply(DRAFT, {"replicas": 2, "rollout": {"strategy": "Surge", "deadline": "10m"}})
    await film.phase("Watching", 0, 300)
    hangs, sibling = await pods(service)
    async with hanging(service, hangs):
        begun = time.monotonic()
        await service.until("the pod is evicted", lambda: leaves(service, hangs), FOUND)
        evicted = time.monotonic() - begun
        answer = await ask(service, sibling, 12)
        assert answer["usage"]["completion_tokens"] == 12
    assert "no token was generated" in await service.event("RestartingPod")
    await service.until("two engines serve", lambda: serve(service, without=hangs), 240)
    print(f"evicted after {evicted:.1f} s, replaced after {time.monotonic() - begun:.1f} s")
    status = await service.status()
    assert [each["reason"] for each in status["guard"]["podFailures"]] == ["Stalled"]
    assert status["guard"]["rollbacks"] == 0


async def test_the_kubelet_ends_an_engine_that_hangs_if_no_guard_watches(service: Service, film: Film) -> None:
    """By the liveness probe: four minutes of silence, and three probes without a token."""
    await service.apply(DRAFT, mode="Off")
    await film.phase("Serving", 0, 300)
    (pod,) = await pods(service)
    async with hanging(service, pod):
        begun = time.monotonic()
        await service.until("the engine is ended", lambda: restarted(service), 540)
        print(f"ended after {time.monotonic() - begun:.1f} s")
    await service.until("it serves again", lambda: serve(service), 240)


@contextlib.asynccontextmanager
async def hanging(service: Service, pod: Object) -> AsyncIterator[None]:
    """Stops the core of a pod's engine in the middle of a long answer, whose client waits on."""
    asking = asyncio.create_task(ask(service, pod, 900))
    await asyncio.sleep(1)
    core = cores(pod)
    assert core, "the pod has no process of an engine core"
    for each in core:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def cores(pod: Object) -> list[int]:
    """The processes of the engine's core."""
    return [each for each in processes.of(pod) if b"EngineCore" in pathlib.Path(f"/proc/{each}/cmdline").read_bytes()]


async def pods(service: Service) -> list[Object]:
    """The service's pods."""
    found = await service.api.items(POD, service.namespace)
    return [each for each in found if names.OWNER_LABEL in each["metadata"].get("labels", {})]


async def ask(service: Service, pod: Object, tokens: int) -> Object:
    """A completion by one pod, through the API server's proxy."""
    path = f"/api/v1/namespaces/{service.namespace}/pods/{pod['metadata']['name']}:8080/proxy/v1/completions"
    body = {"model": service.name, "prompt": service.prompt("code", 0), "max_tokens": tokens, "ignore_eos": True}
    return await service.api.call("post", path, body)


async def leaves(service: Service, pod: Object) -> bool:
    """Whether a pod is gone or about to go."""
    known = {each["metadata"]["uid"]: each for each in await pods(service)}
    found = known.get(pod["metadata"]["uid"])
    return found is None or "deletionTimestamp" in found["metadata"]


async def serve(service: Service, without: Object | None = None) -> bool:
    """Whether all pods are ready, without one that hung."""
    gone = without["metadata"]["uid"] if without else None
    found = [each for each in await pods(service) if "deletionTimestamp" not in each["metadata"]]
    conditions = [condition for each in found for condition in each["status"].get("conditions", ())]
    ready = [each["status"] == "True" for each in conditions if each["type"] == "Ready"]
    return bool(found) and all(ready) and gone not in {each["metadata"]["uid"] for each in found}


async def restarted(service: Service) -> bool:
    """Whether the kubelet has started the engine again."""
    (pod,) = await pods(service)
    return any(each["restartCount"] for each in pod["status"].get("containerStatuses", ()))
