"""A pair that does not fit its container's memory limit, though plain does: it ends up drafting, by itself."""

import asyncio
from typing import Any

import pytest
from hack.cluster import kubectl

from specdec_engine.quantity import parse_quantity
from tests.node import measured, wide
from tests.node.service import ENGINE, Service, Traffic
from tests.wire.api import POD
from tests.wire.faults.table import Part, fault

MIB = 1024**2
CACHE = 6
"""GiB of KV cache. Without a draft the engine takes about 7 GiB with it: a step of 0.05 of its limit is 360 MiB."""
DRAFT = 120
"""MiB of the draft's file, and twice as much in memory (`_FULL`): the pair takes 240 MiB more than plain, and 360 where
the file, which the kernel keeps, counts as well. Both are more than what plain has left, and less than two steps.
"""
_FULL = "--dtype=float32"
"""A core without instructions for bfloat16 multiplies such a draft at 2 tokens a second, and float32 far faster."""
SPARE = 64
"""MiB that plain has left below the limit, which is what it took at most, files that it read and all."""
_PEAK = (
    "import pathlib; found = [p for p in map(pathlib.Path, ('/sys/fs/cgroup/memory.peak', "
    "'/sys/fs/cgroup/memory/memory.max_usage_in_bytes')) if p.exists()]; print(found[0].read_text())"
)


def parts(limit: int | None = None) -> dict[str, Any]:
    """An engine with a cache of its own size, in a container of some MiB."""
    variables = [*ENGINE["env"], {"name": "VLLM_CPU_KVCACHE_SPACE", "value": str(CACHE)}]  # type: ignore[misc]
    return {
        "engine": {**ENGINE, "env": variables, "args": [*ENGINE["args"], _FULL]},  # type: ignore[misc]
        "rollout": {"strategy": "Replace", "deadline": "8m"},
        "resources": {"limits": {"memory": f"{limit or 14 * 1024}Mi"}},
    }


async def peak(service: Service) -> int:
    """MiB that the container of the only pod has taken at most."""
    (pod,) = await service.api.items(POD, service.namespace)
    name = pod["metadata"]["name"]
    words = ("exec", name, f"--namespace={service.namespace}", "-c=kserve-container", "--", "python3", "-c", _PEAK)
    answer = await asyncio.to_thread(kubectl.ask, kubectl.config(), *words, timeout=60)
    assert answer.code == 0, answer.err
    return int(answer.out) // MIB


async def _baseline(service: Service, limit: int | None = None) -> None:
    """Serves without speculation at this limit.

    It waits for the pod and not for the phase RollingOut: where the limit is what it was, no pod is replaced.
    """
    wanted = parts(limit)
    await service.apply(None, wanted)
    memory = parse_quantity(wanted["resources"]["limits"]["memory"])

    async def there() -> bool:
        pods = await service.api.items(POD, service.namespace)
        limits = [each["spec"]["containers"][0]["resources"]["limits"]["memory"] for each in pods]
        return [*map(parse_quantity, limits)] == [memory] and (await service.status()).get("phase") == "Serving"

    await service.until(f"plain at {memory} bytes", there, 180)


async def _drafts(service: Service) -> None:
    """Asks until it drafts. A pod that came up may be killed under the first requests, which ends them: that is a step,
    too.
    """
    for _ in range(2):
        async with Traffic(service, "code"):
            try:
                await service.condition("SpeculationActive", "Drafting", 60)
            except AssertionError:
                await service.phase("Watching", seconds=300)
            else:
                return
    async with Traffic(service, "code"):
        await service.condition("SpeculationActive", "Drafting", 120)


@pytest.fixture
def draft(model_folder: Any) -> dict[str, Any]:
    """A speculation whose draft takes memory."""
    name = wide.ensure(model_folder, DRAFT)
    return {"method": "draft_model", "tokens": 2, "draft": {"uri": f"pvc://models/{name}"}}


@fault(
    part=Part.PODS,
    when="memory is enough for the baseline but not for target and draft (real engine)",
    then="a smaller KV cache, at most twice; the pod drafts",
)
async def test_a_pair_that_does_not_fit_its_limit_ends_up_drafting_by_itself(
    service: Service, draft: dict[str, Any]
) -> None:
    """Plain is measured first, and then served at the limit that the pair does not fit."""
    await _baseline(service)
    await _baseline(service, await peak(service) + SPARE)
    limit = await peak(service) + SPARE  # the first start reads files, which count until memory runs short
    await _baseline(service, limit)
    print(f"plain took at most {limit - SPARE} MiB of {limit}, and {await peak(service)} MiB at the limit")
    await service.apply(draft, parts(limit), acceptanceRate={"min": 0.0})
    status = await service.phase("Responding", seconds=300)
    print(status["message"])
    assert status["reason"] == "OutOfMemory"
    await service.phase("Watching", seconds=600)
    await _drafts(service)
    status = await service.status()
    steps, because, pair = status["guard"]["lowered"]["steps"], status["memory"]["because"], await peak(service)
    print(f"{steps} steps: {because}; the pair takes {pair} MiB")
    mib = {"spare": SPARE, "draft": 2 * DRAFT, "plain": limit - SPARE, "limit": limit, "pair": pair}
    measured.keep("out_of_memory", mib=mib, steps=steps, cache=because.partition(":")[0])
    assert steps in (1, 2)
    assert (status["guard"]["rollbacks"], status["serving"]["speculating"]) == (0, True)
    assert because.startswith(f"KV cache of {CACHE} GiB lowered to ")
    assert f"--kv-cache-memory-bytes={6144 * MIB}" not in (await service.child())["model"]["args"]
    assert "next start: --kv-cache-memory-bytes=" in await service.event("LoweringMemory")
