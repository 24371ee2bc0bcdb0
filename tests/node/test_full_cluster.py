"""A rollback in a cluster that admits no pod, and engines that the kernel kills. Quota, webhooks and kills are real."""

import asyncio
import contextlib
import pathlib
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hack.cluster import kubectl, netns, paths

from tests.node.film import Film
from tests.node.service import ENGINE, Service
from tests.webhook import gating, refusing
from tests.wire.api import POD, SIS
from tests.wire.faults.table import Part, fault

NGRAM = {"method": "ngram", "tokens": 3, "ngram": {"lookupMin": 2, "lookupMax": 4}}
AUTO = {"rollout": {"strategy": "Auto", "deadline": "5m"}}
_HOGS = """
import os, time
open("/proc/1/oom_score_adj", "w").write("1000")
for _ in range(100):
    if os.fork() == 0:
        held = b"x" * 2**26
        time.sleep(60)
time.sleep(60)
"""
"""Fills a container's memory with programs that are each smaller than its engine, which is to be killed."""


@pytest.fixture
async def film(service: Service, cluster: pathlib.Path) -> AsyncIterator[Film]:
    """Watches the sis."""
    async with Film(cluster, service.namespace, service.name) as watching:
        yield watching


async def roll_back(service: Service, film: Film) -> float:
    """Asks for a rollback, as `specdec rollback` does; returns when it was decided."""
    asked = time.monotonic()
    nonce = {"metadata": {"annotations": {"specdec.io/rollback": uuid.uuid4().hex}}}
    await service.api.merge(SIS, service.namespace, service.name, nonce)
    return await film.phase("Responding", asked, 30)


@fault(
    part=Part.CLUSTER,
    when="a ResourceQuota has no room for a rollback",
    then="its message within 10 s; the old pod stops first; baseline pods serve after 46 s",
)
async def test_a_rollback_under_a_full_quota_makes_its_own_room(service: Service, film: Film) -> None:
    """The quota has room for the pod that runs and for no other: that one goes first."""
    await service.apply(NGRAM, AUTO)
    await film.phase("Watching", 0, 240)
    quota = {"metadata": {"name": "one-pod"}, "spec": {"hard": {"pods": "1"}}}
    await service.api.create(("v1", "resourcequotas"), service.namespace, quota)
    decided = await roll_back(service, film)
    said = await service.condition("Reconciling", "QuotaExceeded", 20)
    told = time.monotonic()
    done = await film.phase("RolledBack", decided, 120)
    answer = await service.ask(service.prompt("code", 0))
    print(f"told {told - decided:.1f} s after the decision, plain {done - decided:.1f} s after it; {said['message']}")
    assert "exceeded quota: one-pod" in said["message"]
    assert "exceeded quota: one-pod" in await service.event("QuotaExceeded")
    assert answer["usage"]["completion_tokens"] > 0
    assert done - decided <= 120  # the ReplicaSet asks 20 s and 41 s after the decision; then the engine starts


@fault(
    part=Part.CLUSTER,
    when="a webhook refuses the pods of a rollback",
    then="its message within 10 s; the only pod serves until the webhook admits pods",
)
async def test_a_webhook_that_refuses_pods_is_named_and_the_only_pod_serves_on(service: Service, film: Film) -> None:
    """The rollback stays decided, and is carried out once the webhook lets pods in."""
    await service.apply(NGRAM, AUTO)
    await film.phase("Watching", 0, 240)
    inside = netns.entered(paths.layout().namespace, ())
    async with refusing(service.api, service.namespace, "", "pods", prefix=inside) as words:
        decided = await roll_back(service, film)
        said = await service.condition("Reconciling", "PodRefused", 20)
        print(f"told {time.monotonic() - decided:.1f} s after the decision; {said['message']}")
        assert words in said["message"]
        assert words in await service.event("PodRefused")
        await asyncio.sleep(10)
        answer = await service.ask(service.prompt("code", 0))
        assert answer["usage"]["completion_tokens"] > 0
        assert "Replacing" not in await service.events()
    await film.phase("RolledBack", decided, 240)


@fault(
    part=Part.CLUSTER,
    when="a webhook gives the pods of a rollback a scheduling gate",
    then="the scheduler's message within 10 s; the old pod stops first",
)
async def test_a_rollback_whose_pod_is_gated_gives_the_old_pod_up_first(service: Service, film: Film) -> None:
    """A queue takes the gate off when the old pod's share of the quota is free: here the test does."""
    await service.apply(NGRAM, AUTO)
    await film.phase("Watching", 0, 240)
    (old,) = await service.api.items(POD, service.namespace)
    inside = netns.entered(paths.layout().namespace, ())
    async with gating(service.api, service.namespace, prefix=inside):
        decided = await roll_back(service, film)
        said = await service.condition("Reconciling", "SchedulingGated", 20)
        told = time.monotonic()

        async def alone() -> Any:
            pods = await service.api.items(POD, service.namespace)
            gated = [each for each in pods if each["spec"].get("schedulingGates")]
            return gated[0] if gated and old["metadata"]["name"] not in {p["metadata"]["name"] for p in pods} else None

        gated = await service.until("the old pod is gone, and the new one is gated", alone, 120)
        freed = time.monotonic()
        name, nothing = gated["metadata"]["name"], {"spec": {"schedulingGates": None}}
        await service.api.merge(POD, service.namespace, name, nothing)
        done = await film.phase("RolledBack", decided, 180)
    print(
        f"told {told - decided:.1f} s, freed {freed - decided:.1f} s, plain {done - decided:.1f} s; {said['message']}"
    )
    assert "scheduling gates" in said["message"]
    assert "scheduling gates" in await service.event("SchedulingGated")
    assert (await service.ask(service.prompt("code", 0)))["usage"]["completion_tokens"] > 0


@fault(
    part=Part.CLUSTER,
    when="the kernel kills a watched engine for its memory limit, with a cache size of the user",
    then="each kill is an Event; after three, rollback for OutOfMemory",
)
async def test_an_engine_that_the_kernel_kills_loses_its_draft_after_three_kills(service: Service, film: Film) -> None:
    """The kernel kills it for its memory limit, each time because of a second program in its container. The engine
    without speculation serves afterwards.
    """
    own = {**ENGINE, "args": [*ENGINE["args"], "--kv-cache-memory-bytes=1073741824"]}  # which the guard does not lower
    await service.apply(NGRAM, AUTO | {"resources": {"limits": {"memory": "6Gi"}}, "engine": own})
    begun = await film.phase("Watching", 0, 240)
    for kills in (1, 2, 3):
        pod = await _killed(service, kills)
        print(f"kill {kills} {time.monotonic() - begun:.1f} s after the pod was watched; {pod}")
    decided = await film.phase("Responding", begun, 30)
    await film.phase("RolledBack", decided, 240)
    status = await service.status()
    assert status["guard"]["rollback"]["reason"] == "OutOfMemory"
    assert status["guard"]["rollbacks"] == 1
    assert "OutOfMemory: pod tiny-predictor-" in await service.event("PodFailed")
    assert (await service.ask(service.prompt("code", 0)))["usage"]["completion_tokens"] > 0


async def _killed(service: Service, kills: int) -> str:
    """Fills the memory of the engine's container once it is up, until its engine has ended so often; its last end."""

    async def engines() -> dict[str, Any]:
        pods = await service.api.items(POD, service.namespace)
        return {pod["metadata"]["name"]: pod["status"].get("containerStatuses", [{}])[0] for pod in pods}

    async def up() -> Any:
        ((name, told),) = (await engines()).items()
        return name if told.get("ready") and told["restartCount"] == kills - 1 else None

    async def ended() -> Any:
        told = (await engines())[name]  # after the third kill the baseline pod runs as well
        last = told.get("state", {}).get("terminated") or told.get("lastState", {}).get("terminated")
        return last if last and told["restartCount"] + ("terminated" in told["state"]) >= kills else None

    name = await service.until("the engine is up", up, 180)
    words = ("exec", name, f"--namespace={service.namespace}", "-c=kserve-container", "--", "python3", "-c", _HOGS)
    with contextlib.suppress(Exception):  # it ends with its container
        await asyncio.to_thread(kubectl.ask, kubectl.config(), *words, timeout=60)
    last = await service.until("the engine is killed", ended, 60)
    assert last["reason"] == "OOMKilled", last
    return f"{last['reason']}, exit code {last['exitCode']}"
