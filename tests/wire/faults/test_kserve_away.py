"""KServe does not answer: nothing is made, nothing is blamed, and what was due happens once when it is back.

The hour is played by a rollout deadline of seconds: the operator knows no other measure of how long KServe is away. An
API server of its own has the real KServe started, ended and started again.
"""

import asyncio
import pathlib
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import pytest
from hack.cluster import kubectl

from tests.wire.controllers import RUNTIMES, controller_of, kserve, kubernetes_controllers, without_kserve
from tests.wire.faults.acts import baseline_pods, busy, rolled_back_once, still_speculating, watched
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, conditions, is_speculative, sis


class KServe:
    """The one of this API server."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        self._kubeconfig, self._running = kubeconfig, ExitStack()

    async def start(self) -> None:
        """Installs it, and waits until it answers."""
        await asyncio.to_thread(self._running.enter_context, kserve(self._kubeconfig))
        await asyncio.to_thread(kubectl.apply_files, self._kubeconfig, RUNTIMES)

    async def end(self, *, webhooks: bool = True) -> None:
        """Ends its process. While its webhooks stay registered, the API server takes no change of its objects."""
        if not webhooks:
            await asyncio.to_thread(controller_of(self._kubeconfig).remove_webhooks)
        await asyncio.to_thread(self._running.close)


@pytest.fixture
def kubeconfig(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Of an API server with the controllers of Kubernetes."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    with without_kserve(folder) as path, kubernetes_controllers(path):
        yield path


@pytest.fixture
async def installed(kubeconfig: pathlib.Path) -> AsyncIterator[KServe]:
    """KServe, not started."""
    made = KServe(kubeconfig)
    yield made
    await made.end()


@fault(
    part=Part.KSERVE,
    when="KServe is missing for longer than `rollout.deadline`",
    then="Stalled; rolled out when KServe is back",
)
async def test_a_kserve_that_is_away_is_not_the_drafts_fault(
    world: World, operator: OperatorProcess, installed: KServe
) -> None:
    """No pods, no evidence: the way out is named, and taken without help."""
    await world.apply(sis(rollout={"deadline": "4s"}))
    await world.condition("Reconciling", "True")
    status = await world.phase("Stalled")
    assert "KServe has not created the Deployment" in conditions(status)["Stalled"]["message"]
    assert status["guard"]["rollbacks"] == 0
    await world.turned(operator)
    assert (await world.status())["phase"] == "Stalled"
    await installed.start()
    engine = busy()
    await world.roll_out(await world.child(speculative=True), engine)
    await world.phase("Watching")
    await still_speculating(world)
    engine.acceptance = 0.0
    await rolled_back_once(world)


@fault(
    part=Part.KSERVE,
    when="the same while a rollback is due",
    then="the status shows it; once, when KServe is back",
)
@pytest.mark.parametrize(("webhooks", "words"), [(True, "failed calling webhook"), (False, "the deadline is")])
async def test_a_rollback_waits_for_kserve(
    world: World, operator: OperatorProcess, installed: KServe, webhooks: bool, words: str
) -> None:
    """The old pods serve on. The InferenceService requests baseline pods, and no controller makes them. If KServe's
    webhooks are still registered, the API server does not even accept that write.
    """
    await installed.start()
    engine = busy()
    await watched(world, engine, rollout={"deadline": "4s"})
    await installed.end(webhooks=webhooks)
    engine.acceptance = 0.0
    await world.phase("Responding")
    status = await world.phase("Stalled")
    assert words in conditions(status)["Stalled"]["message"]
    assert is_speculative(await world.child()) is webhooks
    assert (status["guard"]["rollback"]["reason"], status["guard"]["rollbacks"]) == ("AcceptanceRateLow", 0)
    assert conditions(status)["RolledBack"]["status"] == "False"
    await installed.start()
    await baseline_pods(world)
    status = await world.status()
    assert (status["guard"]["rollbacks"], status["guard"]["rollback"]["reason"]) == (1, "AcceptanceRateLow")
