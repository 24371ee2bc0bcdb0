"""The clock of the operator's machine is set, by a day, forward and back, while something is waited for."""

import pathlib
import time
from collections.abc import AsyncIterator
from typing import Final

import pytest

from specdec_operator.api.times import from_time
from tests.wire.api import Api
from tests.wire.faults import acts, steps
from tests.wire.faults.clock import Clock
from tests.wire.faults.proxy import Proxy
from tests.wire.faults.table import Part, fault
from tests.wire.faults.verdict import decided_once
from tests.wire.install import operator_kubeconfig
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import World, sis

HOUR: Final = 3600
DAY: Final = 24 * HOUR
SETS: Final = (DAY, -DAY)
"""Beyond every wait of these tests, as an hour is."""


@pytest.fixture
def clock(tmp_path: pathlib.Path) -> Clock:
    """The operator's; it is right at first."""
    return Clock(tmp_path)


@pytest.fixture
async def operator(
    api: Api, kubeconfig: pathlib.Path, world: World, tmp_path: pathlib.Path, clock: Clock, proxy: Proxy
) -> AsyncIterator[OperatorProcess]:
    """An operator that goes by this clock; through the proxy, for the API server's certificate is a minute old."""
    own = proxy.through(await operator_kubeconfig(api, kubeconfig, tmp_path / "kubeconfig"), tmp_path / "through")
    async with OperatorProcess(own, world.namespace, tmp_path, environment=clock.environment) as process:
        yield process


@pytest.mark.parametrize("by", SETS)
async def test_the_clock_of_these_tests_is_set(world: World, operator: OperatorProcess, clock: Clock, by: int) -> None:
    """Else they would prove nothing: an operator that begins by a wrong clock writes the wrong time."""
    await operator.stop()
    clock.set(by)
    await operator.start()
    await world.apply(sis())
    written = (await world.phase("RollingOut"))["guard"]["since"]
    assert abs(from_time(written) - time.time() - by) < HOUR / 2


@fault(
    part=Part.CLOCK,
    when="the clock is set forward or back by a day while a draft is watched",
    then="windows keep their length",
)
@pytest.mark.parametrize("by", SETS)
async def test_windows_close_as_before(world: World, operator: OperatorProcess, clock: Clock, by: int) -> None:
    """A jump breaks no window, and freezes none for its length."""
    engine, pid = await steps.watched(world), operator.pid
    clock.set(by)
    begun = time.monotonic()
    await world.read_again(6, engine)
    assert time.monotonic() - begun > 4.0, "one reading a second"
    await steps.not_blamed(world)
    engine.acceptance = 0.0
    await acts.rolled_back_once(world)
    await steps.lives(operator, pid)


@fault(
    part=Part.CLOCK,
    when="the same during the warm-up of new pods",
    then="the warm-up keeps its length",
)
@pytest.mark.parametrize("by", SETS)
async def test_a_warm_up_lasts_its_time(world: World, operator: OperatorProcess, clock: Clock, by: int) -> None:
    """Eight seconds by the real clock, within the whole seconds that are kept."""
    await world.apply(sis(guard={"warmup": "8s"}))
    child, begun = await world.child(speculative=True), time.monotonic()
    await world.roll_out(child, EngineStandIn(tokens_per_second=acts.TOKENS))
    await world.phase("WarmingUp")
    clock.set(by)
    status = await world.phase("Watching")
    assert time.monotonic() - begun > 7.0
    assert [each["state"] for each in status["history"]] == ["Watching", "WarmingUp", "RollingOut"]


@fault(
    part=Part.CLOCK,
    when="the same during a rollout that never becomes ready",
    then="it keeps its deadline; then once",
)
@pytest.mark.parametrize("by", SETS)
async def test_a_rollout_has_its_whole_time(world: World, operator: OperatorProcess, clock: Clock, by: int) -> None:
    """Twelve seconds by the real clock, and a look every five."""
    begun = time.monotonic()
    await world.apply(sis(rollout={"deadline": "12s"}))
    child = await world.child(speculative=True)
    await world.roll_out(child, EngineStandIn(), ready=False)
    clock.set(by)
    baseline = await world.child(speculative=False)
    assert time.monotonic() - begun > 11.0
    await world.roll_out(baseline, EngineStandIn(speculative=False))
    await decided_once(world, "RolloutFailed")


@fault(
    part=Part.CLOCK,
    when="the same during `spec.guard.retry.after`",
    then="one retry, after that time",
)
@pytest.mark.parametrize("by", SETS)
async def test_a_retry_waits_its_time(world: World, operator: OperatorProcess, clock: Clock, by: int) -> None:
    """Thirty seconds by the real clock, counted from before the decision: a loaded machine shows that later."""
    engine = await steps.watched(world, guard={"retry": {"after": "30s", "limit": 1}})
    begun = time.monotonic()
    engine.acceptance = 0.0
    child = await world.child(speculative=False)
    await world.roll_out(child, EngineStandIn(tokens_per_second=acts.TOKENS, speculative=False))
    await world.phase("RolledBack")
    clock.set(by)
    await world.child(speculative=True)
    assert time.monotonic() - begun > 30.0
    status = await world.phase("RollingOut")
    assert [each["state"] for each in status["history"]][:3] == ["RollingOut", "RolledBack", "Responding"]
    assert (status["guard"]["retries"], status["guard"]["rollbacks"]) == (1, 1)


@fault(
    part=Part.CLOCK,
    when="the clock is set back while the operator is stopped and pods warm up",
    then="the warm-up begins again",
)
async def test_a_clock_that_went_back_while_the_operator_was_away_freezes_nothing(
    world: World, operator: OperatorProcess, clock: Clock
) -> None:
    """What is kept in the status is then later than now."""
    await world.apply(sis(guard={"warmup": "6s"}))
    engine = EngineStandIn(tokens_per_second=acts.TOKENS)
    await world.roll_out(await world.child(speculative=True), engine)
    await world.phase("WarmingUp")
    await operator.stop()
    clock.set(-DAY)
    await operator.start()
    await world.phase("Watching")
    await steps.not_blamed(world)
    await acts.verdict(world, "Accepted")
    engine.acceptance = 0.0
    await acts.rolled_back_once(world)
