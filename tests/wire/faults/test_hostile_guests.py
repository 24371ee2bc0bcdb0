"""Guests of users who write as much as the API server takes: others are guarded on, and little memory is used."""

import asyncio
import os
import pathlib
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import pytest

from tests.wire.api import DEPLOYMENT, ISVC, SIS, Api, Object
from tests.wire.faults.stories import QUICK
from tests.wire.faults.table import Part, fault
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.waiting import until
from tests.wire.world import World, conditions, sis

pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
FLAG = "-sc=x "
TOO_LONG = "vllm serve m " + FLAG * 150_000
LONGEST = "vllm serve m " + FLAG * 10_000
SLOWER = 2.0
"""Seconds by which a rollback in another namespace may be decided later than without the attack."""
GUESTS = int(os.environ.get("SPECDEC_HOSTILE_GUESTS", "400"))
MOST_MIB = 130
"""MiB that these guests may take."""
LARGE = 20


def deployment(name: str, *command: str) -> Object:
    """A Deployment without pods."""
    container = {"name": "c", "image": "vllm", "command": list(command)}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def inference_service(name: str, script: str) -> Object:
    """An InferenceService that the guard may change."""
    container = {"name": "kserve-container", "image": "vllm", "command": ["bash", "-c", script]}
    meta = {"name": name, "annotations": {"specdec.io/enforce": "true"}}
    spec = {"predictor": {"containers": [container]}}
    return {"apiVersion": ISVC[0], "kind": "InferenceService", "metadata": meta, "spec": spec}


def guarding(name: str, field: str = "deploymentRef") -> Object:
    """A service that guards the object of its own name."""
    spec = {field: {"name": name}, "guard": {"interval": "1s", "window": "2s"}}
    return {"apiVersion": SIS[0], "kind": "SpeculativeInferenceService", "metadata": {"name": name}, "spec": spec}


async def status_of(api: Api, namespace: str, name: str) -> Object:
    """Its status, once that has a reason."""

    async def told() -> Object | None:
        status: Object = ((await api.get(SIS, namespace, name)) or {}).get("status") or {}
        return status if status.get("reason") else None

    return dict(await until(f"a status of {name}", told))


async def attack(api: Api, namespace: str) -> dict[str, Object]:
    """Eight guests of each kind, with scripts that are refused, and with the longest ones. Returns their status."""
    for number in range(8):
        for name, script in ((f"long-{number}", TOO_LONG), (f"longest-{number}", LONGEST)):
            await api.create(DEPLOYMENT, namespace, deployment(name, "bash", "-c", f"{script}# {number}"))
            await api.create(SIS, namespace, guarding(name))
        await api.create(ISVC, namespace, inference_service(f"isvc-{number}", TOO_LONG))
        await api.create(SIS, namespace, guarding(f"isvc-{number}", "inferenceServiceRef"))
    names = [f"{kind}-{number}" for kind in ("long", "longest", "isvc") for number in range(8)]
    return {name: await status_of(api, namespace, name) for name in names}


async def rewrite(api: Api, namespace: str) -> None:
    """Changes all of these scripts again and again."""
    turn = 0
    while True:
        turn += 1
        for number in range(8):
            command = ["bash", "-c", f"{LONGEST}# {number} {turn}"]
            spec = {"template": {"spec": {"containers": [{"name": "c", "image": "vllm", "command": command}]}}}
            await api.merge(DEPLOYMENT, namespace, f"longest-{number}", {"spec": spec})
            note = {"metadata": {"annotations": {"specdec.io/retry": str(turn)}}}
            await api.merge(SIS, namespace, f"longest-{number}", note)


@asynccontextmanager
async def answering(operator: OperatorProcess) -> AsyncIterator[list[float]]:
    """Seconds that each answer of /healthz takes, asked all the time."""
    took: list[float] = []

    async def ask() -> None:
        url, timeout = f"http://127.0.0.1:{operator.health_port}/healthz", aiohttp.ClientTimeout(total=120)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                begun = time.monotonic()
                async with session.get(url) as answer:
                    assert answer.status == 200
                took.append(time.monotonic() - begun)
                await asyncio.sleep(0.1)

    asking = asyncio.create_task(ask())
    try:
        yield took
        assert not asking.done(), asking.exception()
    finally:
        asking.cancel()


async def rolled_back(world: World, operator: OperatorProcess, draft: EngineStandIn) -> float:
    """Seconds from a window's end, at which the draft becomes bad, to the decision."""
    seen = await operator.metric("specdec_evidence_timestamp_seconds")

    async def closed() -> bool:
        return await operator.metric("specdec_evidence_timestamp_seconds") != seen

    async def decided() -> bool:
        return bool(((await world.status()).get("guard") or {}).get("rollback"))

    await until("the end of a window", closed)
    draft.acceptance, begun = 0.0, time.monotonic()
    await world.until("a rollback", decided)
    return time.monotonic() - begun


async def watched(world: World) -> EngineStandIn:
    """A service whose draft is good, with short windows: a rollback that is one window late must not count as 2 s."""
    draft = EngineStandIn(tokens_per_second=400.0, acceptance=0.8)
    await world.apply(sis(guard=QUICK))
    await world.roll_out(await world.child(), draft)
    await world.phase("Watching")
    return draft


@fault(
    part=Part.OBJECTS,
    when="guests of another namespace have scripts of 900 kB, and of 60 kB that always change, while a draft is bad",
    then="GuestTooLarge; /healthz answers; the rollback is decided at most 2 s later than without them",
)
async def test_long_scripts_of_a_tenant_do_not_delay_another_tenants_rollback(
    api: Api, kubeconfig: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The same rollback twice: before the attack, and while it goes on."""
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
    async with AsyncExitStack() as stack:
        hostile, first, second = [await stack.enter_async_context(await World.fresh(api)) for _ in range(3)]
        namespaces = ",".join(each.namespace for each in (hostile, first, second))
        operator = await stack.enter_async_context(OperatorProcess(own, namespaces, tmp_path))
        took = await stack.enter_async_context(answering(operator))
        without = await rolled_back(first, operator, await watched(first))
        before = max(took)
        draft = await watched(second)
        told = await attack(api, hostile.namespace)
        rewriting = asyncio.create_task(rewrite(api, hostile.namespace))
        took.clear()
        during = await rolled_back(second, operator, draft)
        rewriting.cancel()
        late = await operator.metric("specdec_event_loop_delay_seconds_sum")
    print(
        f"rollback: {without:.1f} s without, {during:.1f} s during the attack; /healthz: at most {before:.2f} s and "
        f"{max(took):.2f} s; the loop was late by {late:.1f} s in all"
    )
    for name, status in told.items():
        assert (status["reason"] == "GuestTooLarge") is not name.startswith("longest"), status.get("message")
    assert during < without + SLOWER
    assert max(took) < SLOWER


class TestMemory:
    """An API server without controllers, which would read all of it again and again."""

    @pytest.fixture
    def kubeconfig(self, alone: pathlib.Path) -> pathlib.Path:
        """Of that API server."""
        return alone

    @pytest.fixture
    def environment(self) -> dict[str, str]:
        """More guests than one namespace has by default."""
        return {"SPECDEC_GUESTS_PER_NAMESPACE": str(GUESTS)}

    @fault(
        part=Part.OBJECTS,
        when="400 guests in one namespace, beside 20 services with a spec of 1.3 MB each",
        then="the operator takes at most 130 MiB more",
    )
    async def test_many_guests_beside_large_services_take_little_memory(
        self, world: World, operator: OperatorProcess
    ) -> None:
        """The most that the process ever took, against what it takes before any service."""
        before = memory(operator, "VmRSS")
        junk = {"nodeAffinity": {"x": ["y" * 1000] * 1280}}
        for number in range(LARGE):
            large = sis(pod={"affinity": junk}) | {"metadata": {"name": f"large-{number}"}}
            await world.api.create(SIS, world.namespace, large)
        for number in range(LARGE):
            assert (await status_of(world.api, world.namespace, f"large-{number}"))["reason"] == "SpecTooLarge"
        between, begun = memory(operator, "VmHWM"), time.monotonic()
        flag = '--speculative-config={"method":"ngram","num_speculative_tokens":4}'
        for number in range(GUESTS):
            await world.api.create(DEPLOYMENT, world.namespace, deployment(f"g{number}", "vllm", "serve", "m", flag))
            await world.api.create(SIS, world.namespace, guarding(f"g{number}"))
        told = [await status_of(world.api, world.namespace, f"g{number}") for number in range(GUESTS)]
        most, seconds = memory(operator, "VmHWM"), time.monotonic() - begun
        print(f"{before:.0f} MiB at first, at most {between:.0f} with {LARGE} large services,", end=" ")
        print(f"{most:.0f} with {GUESTS} guests ({seconds:.0f} s)")
        assert {each["reason"] for each in told}.isdisjoint({"TooManyGuests", "GuestMissing"})
        assert most - before <= MOST_MIB, (before, most)


def memory(operator: OperatorProcess, line: str) -> float:
    """MiB by this line of the process's status."""
    lines = pathlib.Path(f"/proc/{operator.pid}/status").read_text().splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith(line)) / 1024


async def test_a_namespace_has_fifty_guests_by_default(world: World, operator: OperatorProcess) -> None:
    """The oldest ones; of those of one second the first by name. A deleted one makes room for the next."""
    names = [f"g{number:02}" for number in range(52)]
    for name in names:
        await world.api.create(DEPLOYMENT, world.namespace, deployment(name, "vllm", "serve", "m"))
        await world.api.create(SIS, world.namespace, guarding(name))

    async def refused(wanted: list[str]) -> bool:
        services = await world.api.items(SIS, world.namespace)
        told = {each["metadata"]["name"]: (each.get("status") or {}).get("reason") for each in services}
        return all(told.values()) and [each for each in names if told.get(each) == "TooManyGuests"] == wanted

    await until("two refused guests", lambda: refused(names[50:]))
    status = (await world.api.get(SIS, world.namespace, names[50]) or {})["status"]
    assert conditions(status)["Stalled"]["reason"] == "TooManyGuests"
    await world.api.delete(SIS, world.namespace, names[0])
    await until("one refused guest", lambda: refused(names[51:]))
