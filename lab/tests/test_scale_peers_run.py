"""The plain kopf operator of the scale benchmark does what it is measured for."""

import pathlib
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest
from tests.wire.api import ISVC, SIS, Api
from tests.wire.controllers import without_kserve
from tests.wire.pods import EngineStandIn, PodServer
from tests.wire.waiting import until
from tests.wire.world import World, is_speculative

from lab.scale.engines_standin import address_of
from lab.scale.fleet import name_of, sis_of
from lab.scale.peers.kopf_peer import command
from lab.scale.peers.site import peer_kubeconfig
from lab.scale.peers.started import started
from lab.scale.stage import beside

_SERVICES = 10
_ACCEPTANCE = 0.7

Fleet = dict[str, PodServer]


@pytest.fixture
def kubeconfig(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Of an API server of its own: the benchmark's maker of Deployments and KServe would fight."""
    with without_kserve(tmp_path / "cluster") as path:
        yield path


@pytest.fixture
async def fleet(world: World, api: Api, kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> AsyncIterator[Fleet]:
    """The pods of some services by name, the operator and a maker of Deployments; the last pod refuses to answer."""
    first = random.SystemRandom().randrange(1 << 16, 1 << 23)
    own = await peer_kubeconfig(api, kubeconfig, tmp_path / "peer")
    async with AsyncExitStack() as stack:
        pods = Fleet()
        for number in range(first, first + _SERVICES):
            pod = pods[name_of(number)] = PodServer(EngineStandIn(tokens_per_second=400.0, acceptance=_ACCEPTANCE))
            pod.address = address_of(number)
            stack.push_async_callback(pod.stop)
            if number < first + _SERVICES - 1:
                await pod.start()
            await api.apply(SIS, world.namespace, sis_of(number))
        told = (f"--kubeconfig={kubeconfig}", f"--namespace={world.namespace}")
        stack.enter_context(beside("deployments_maker", tmp_path, *told))
        stack.enter_context(started(command(world.namespace), tmp_path / "kopf.log", KUBECONFIG=str(own)))
        yield pods


async def test_every_service_is_applied_and_read_again_and_again(world: World, api: Api, fleet: Fleet) -> None:
    """An InferenceService and a status for each; a pod that does not answer shows nothing about the others."""
    *well, silent = fleet

    async def told() -> bool:
        found = {each["metadata"]["name"]: each.get("status", {}) for each in await api.items(SIS, world.namespace)}
        rates = [found[name].get("acceptance", {}).get("rate", 0.0) for name in well]
        return rates == pytest.approx([_ACCEPTANCE] * len(well)) and "did not answer" in found[silent].get(
            "message", ""
        )

    async def read_twice() -> bool:
        return all(fleet[name].engine.asked >= 2 for name in well)

    await until("every status is written", told)
    await until("every pod is read twice", read_twice)
    children = await api.items(ISVC, world.namespace)
    assert {each["metadata"]["name"] for each in children} == set(fleet)
    assert all(is_speculative(each) for each in children)


async def test_a_changed_service_is_applied(world: World, api: Api, fleet: Fleet) -> None:
    """Its InferenceService follows, and the service that was not touched keeps its own."""
    (name, other, *_) = fleet

    async def argument(of: str) -> str | None:
        child = await api.get(ISVC, world.namespace, of)
        args = child["spec"]["predictor"]["model"]["args"] if child else ()
        return next((each for each in args if each.startswith("--max-num-seqs=")), None)

    async def both() -> bool:
        return await argument(name) == await argument(other) == "--max-num-seqs=64"

    async def changed() -> bool:
        return await argument(name) == "--max-num-seqs=32"

    await until("both are made", both)
    await api.apply(SIS, world.namespace, sis_of(int(name.rpartition("-")[2]), max_num_seqs=32))
    await until("the InferenceService follows", changed)
    assert await argument(other) == "--max-num-seqs=64"
