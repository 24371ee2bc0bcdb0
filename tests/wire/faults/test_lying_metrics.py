"""The whole operator, with one service whose pod lies and a good one beside it."""

import pathlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from tests.wire.api import Api
from tests.wire.faults.acts import (
    TOKENS,
    baseline_pods,
    busy,
    move,
    rolled_back_once,
    still_speculating,
    verdict,
    watched,
)
from tests.wire.faults.liars_standin import ACCEPTED, GENERATED, UNREAD, pod_of
from tests.wire.faults.table import Part, fault
from tests.wire.faults.verdict import decided_once
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World

UNREADABLE = ("endless", "gzip-bomb", "thousands-of-labels", "redirect-to-itself", "half-a-page", "a-byte-a-second")
INTERVAL = 1.0


@pytest.fixture
async def good(api: Api) -> AsyncIterator[World]:
    """Another namespace, with a service that nothing is wrong with."""
    async with await World.fresh(api) as made:
        yield made


@pytest.fixture
async def both(
    api: Api, kubeconfig: pathlib.Path, world: World, good: World, tmp_path: pathlib.Path
) -> AsyncIterator[None]:
    """One operator for both namespaces."""
    own = await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig")
    async with OperatorProcess(own, f"{world.namespace},{good.namespace}", tmp_path):
        yield


Lie = Callable[[str, int], str]
"""A line of a page, and how often the page was read -> the line that replaces it."""


@dataclass(kw_only=True)
class LyingEngine(EngineStandIn):
    """An engine whose page has false numbers while `lie` is set."""

    lie: Lie | None = field(default=None)

    def page(self) -> str:
        """The page, true or not."""
        whole = super().page()
        if self.lie is None:
            return whole
        return "".join(f"{self.lie(line, self.asked)}\n" for line in whole.splitlines())


def _with(family: str, value: Callable[[float, int], float]) -> Lie:
    def lie(line: str, asked: int) -> str:
        name, _, number = line.rpartition(" ")
        return f"{name} {value(float(number), asked)}" if line.startswith(family) else line

    return lie


LIES = {
    "more-accepted-than-drafted": (_with(ACCEPTED, lambda value, _: 10 * value), "Implausible", "contradict"),
    "nothing-accepted-and-falling": (
        _with(ACCEPTED, lambda _, asked: max(0.0, 500.0 - asked)),
        "Restarted",
        "restarted",
    ),
    "generation-falls-slowly": (_with(GENERATED, lambda _, asked: 1e6 - asked), "Restarted", "restarted"),
    "never-the-same-process": (
        _with("process_start_time", lambda value, asked: value + asked),
        "Restarted",
        "restarted",
    ),
}


@fault(
    part=Part.METRICS,
    when="an engine reports impossible counters, or other start times",
    then="Inconclusive (Implausible, Restarted)",
)
@pytest.mark.parametrize("name", LIES)
async def test_impossible_counters_take_no_draft_out(world: World, operator: OperatorProcess, name: str) -> None:
    """Numbers that contradict each other prove nothing, however bad they look; true ones are judged afterwards."""
    lie, reason, words = LIES[name]
    engine = LyingEngine(tokens_per_second=TOKENS)
    await watched(world, engine)
    await verdict(world, "Accepted")
    engine.lie = lie
    assert words in await verdict(world, reason)
    await world.read_again(6, engine)
    await still_speculating(world)
    engine.lie, engine.acceptance = None, 0.0
    await baseline_pods(world)
    await decided_once(world, "AcceptanceRateLow")


@fault(
    part=Part.METRICS,
    when="a pod's answer is endless, a gzip bomb, thousands of labels, a redirect, half a page, or a byte at a time",
    then="Inconclusive (ScrapeFailed); other services keep their interval",
)
async def test_a_pod_that_lies_spoils_no_other_service(world: World, good: World, both: None) -> None:
    """Its status shows what is wrong, and its draft stays; the other service is read as before."""
    neighbour, engine = busy(), busy()
    await watched(good, neighbour)
    (pod,) = await watched(world, engine)
    await verdict(world, "Accepted")
    true = world.address(pod)
    for name in UNREADABLE:
        async with pod_of(UNREAD[name]) as liar:
            await move(world, pod, liar.address)
            begun, asked = time.monotonic(), neighbour.asked
            said = await verdict(world, "ScrapeFailed")
            assert liar.address in said, (name, said)
            looks = (time.monotonic() - begun) / INTERVAL
            assert neighbour.asked - asked > looks / 3, (name, looks, neighbour.asked - asked)
            await still_speculating(world)
            await move(world, pod, true)
            await verdict(world, "Accepted")
    engine.acceptance = 0.0
    await rolled_back_once(world)
    await still_speculating(good)
