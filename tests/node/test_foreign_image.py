"""Images and runtimes of other publishers on real pods: they start, draft, are judged, and are rolled back."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.node import client, foreign
from tests.node.asking import Client
from tests.node.film import Film
from tests.node.service import ENGINE, Service, Traffic
from tests.node.theirs import ENV, RUNTIME, runtime
from tests.wire.api import POD, Object

_STARTS = 400.0
DRAFT = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
OTHER = DRAFT | {"draft": {"uri": "pvc://models/draft-other-vocab"}}


@pytest.fixture(scope="session")
def stock(cluster: object) -> str:
    """The image's name."""
    return foreign.image()


@pytest.fixture
async def platform(service: Service, stock: str) -> AsyncIterator[str]:
    """A platform's own runtime with that image; gone afterwards."""
    body = runtime(service.name)
    container = body["spec"]["containers"][0]
    del container["readinessProbe"]
    variables = [{"name": name, "value": value} for name, value in ENV.items()]
    container |= {"image": stock, "args": ["--port=8080"], "env": variables}
    await service.api.apply(RUNTIME, service.namespace, body, "somebody")
    yield f"{service.name}-vllm"
    await service.remove()
    await service.api.delete(RUNTIME, service.namespace, f"{service.name}-vllm")


def engine(**parts: object) -> Object:
    """The spec with another engine, in a rollout that surges."""
    return {"engine": ENGINE | parts, "rollout": {"strategy": "Surge", "deadline": "6m"}}


async def of(service: Service, container: str) -> Object:
    """The container of the pod that there is, by its name."""
    (pod,) = await service.api.items(POD, service.namespace)
    every = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]
    return next((each for each in every if each["name"] == container), {})


async def test_a_stock_image_gets_what_it_lacks_and_a_rollback_loses_no_request(
    service: Service, stock: str, film: Film
) -> None:
    """Proof, facts and drain work as in our own image: the pod that goes answers what it was asked."""
    await service.apply(DRAFT, engine(image=stock))
    await service.phase("Watching", seconds=_STARTS)
    await service.condition("Instrumented", "Injected")
    assert (await of(service, "kserve-container"))["image"] == stock
    assert await of(service, "specdec-runtime")
    status = await service.verdict("Pass", "code", 120)
    assert status["acceptance"]["rate"] > 0.5

    async def facts() -> bool:
        told = (await service.status()).get("facts") or []
        return {"target", "draft"} <= {each["role"].lower() for each in told}

    await service.until("what the pod saw of its models", facts, 120)
    asking = Client(service, film)
    await asking.start("drift")
    try:
        await service.phase("Responding", seconds=180)
        await service.phase("RolledBack", seconds=_STARTS)
        await asyncio.sleep(max(client.PAUSES.values()) + 15)
        tally = await asking.tally()
    finally:
        await asking.stop()
    print(f"rolled back on a stock image: {tally}")
    assert tally["failed"] == 0, tally["faults"]
    assert min(tally[kind] for kind in client.PAUSES) > 0
    assert await of(service, "specdec-runtime")  # the baseline pod has it, too


async def test_a_stock_image_refuses_a_pair_that_cannot_work(service: Service, stock: str) -> None:
    """Preflight runs before vLLM starts, and its message reaches the status."""
    await service.apply(OTHER, engine(image=stock))
    status = await service.phase("Responding", "RolledBack", seconds=120)
    rollback = status["guard"]["rollback"]
    assert "PreflightRefused" in rollback["message"]
    assert "vocab" in rollback["message"].lower()
    await service.phase("RolledBack", seconds=_STARTS)
    await service.condition("Ready", "Serving", _STARTS)


async def test_a_foreign_runtime_is_judged_by_its_counters_alone(service: Service, platform: str) -> None:
    """Without preflight, proof and drain: it comes up by /health, and the guard takes its draft out."""
    await service.apply(DRAFT, engine(runtime=platform))
    await service.phase("Watching", seconds=_STARTS)
    await service.condition("Instrumented", "ForeignRuntime")
    container = await of(service, "kserve-container")
    assert container["startupProbe"]["httpGet"]["path"] == "/health"
    assert container["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "15"]
    await service.verdict("Pass", "code", 120)
    async with Traffic(service, "drift"):
        await service.phase("Responding", seconds=180)
    await service.phase("RolledBack", seconds=_STARTS)
    await service.condition("Ready", "Serving", _STARTS)


async def test_a_stock_image_serves_without_anything_brought(service: Service, stock: str) -> None:
    """On our own runtime, whose command and flags need what the image has not got."""
    await service.apply(DRAFT, engine(image=stock, instrument="None"))
    await service.phase("Watching", seconds=_STARTS)
    await service.condition("Instrumented", "AsRequested")
    assert not await of(service, "specdec-runtime")
    await service.verdict("Pass", "code", 120)
