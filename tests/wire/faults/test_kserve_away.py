"""KServe does not answer: nothing is made, nothing is blamed, and what was due happens once when it is back.

The hour is played by a rollout deadline of seconds: the operator knows no other measure of how long KServe is away.
"""

from tests.wire.faults.acts import busy, plain_pods, rolled_back_once, still_speculating, watched
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.world import World, sis


def _said(status: dict[str, object], kind: str) -> str:
    conditions = status["conditions"]
    assert isinstance(conditions, list)
    return next((str(each["message"]) for each in conditions if each["type"] == kind), "")


@fault(
    part=Part.KSERVE,
    when="KServe is missing from the beginning, for longer than `rollout.deadline`",
    then="the service is Stalled with the message that KServe made no Deployment; speculation is not blamed; when "
    "KServe is back, the service is rolled out and watched",
)
async def test_a_kserve_that_is_away_is_not_the_drafts_fault(world: World, operator: OperatorProcess) -> None:
    """No pods, no evidence: the way out is named, and taken without help."""
    await world.apply(sis(rollout={"deadline": "4s"}))
    await world.condition("Reconciling", "True")
    status = await world.phase("Stalled")
    assert "KServe has not created the Deployment" in _said(status, "Stalled")
    assert status["guard"]["rollbacks"] == 0
    await world.turned(operator)
    assert (await world.status())["phase"] == "Stalled"
    engine = busy()
    await world.roll_out(await world.child(speculative=True), engine)
    await world.phase("Watching")
    await still_speculating(world)
    engine.acceptance = 0.0
    await rolled_back_once(world)


@fault(
    part=Part.KSERVE,
    when="KServe is missing while a rollback is due, for longer than `rollout.deadline`",
    then="the decision stays, and the status shows that the rollback waits; it happens once, when KServe is back",
)
async def test_a_rollback_waits_for_kserve(world: World, operator: OperatorProcess) -> None:
    """The old pods serve on, the InferenceService asks for plain ones, and nobody makes them yet."""
    engine = busy()
    await watched(world, engine, rollout={"deadline": "4s"})
    engine.acceptance = 0.0
    await world.phase("Responding")
    await world.child(speculative=False)
    status = await world.phase("Stalled")
    assert "the deadline is" in _said(status, "Stalled")
    assert (status["guard"]["rollback"]["reason"], status["guard"]["rollbacks"]) == ("AcceptanceRateLow", 1)
    await plain_pods(world)
    status = await world.status()
    assert (status["guard"]["rollbacks"], status["guard"]["rollback"]["reason"]) == (1, "AcceptanceRateLow")
