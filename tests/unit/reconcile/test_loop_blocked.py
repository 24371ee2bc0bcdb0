"""The loop while KServe is away or the API server refuses: what heals by itself, and what speculation answers for."""

from tests.unit.bodies import ended
from tests.unit.stage import Stage, busy, is_speculative, watching

from specdec_operator.errors import Invalid

REFUSED = Invalid("InferenceService llama", 400, "the API server rejected it: a webhook said no")


async def blocked() -> Stage:
    """A sis for which KServe has made nothing until the deadline."""
    stage = Stage(rollout={"deadline": "1m"})
    await stage.until("Stalled")
    assert stage.conditions()["Stalled"]["reason"] == "DeploymentMissing"
    assert is_speculative(stage.cluster.child)
    return stage


async def test_pods_that_come_up_after_all_are_watched() -> None:
    """KServe was away; nothing was decided meanwhile."""
    stage = await blocked()
    stage.roll_out(busy())
    await stage.until("Watching", 400)
    assert stage.cluster.status["guard"]["rollbacks"] == 0


async def test_pods_that_are_slow_after_all_have_their_full_deadline() -> None:
    """The time that KServe was away is not the draft's."""
    stage = await blocked()
    stage.roll_out()
    await stage.run(50)
    assert "rollback" not in stage.cluster.status["guard"]
    assert stage.phases[-1] == "RollingOut"
    await stage.until("Responding", 30)


async def test_a_draft_that_fails_after_all_is_taken_out() -> None:
    """A stall without pods does not disarm the guard."""
    stage = await blocked()
    stage.roll_out(engine=ended(78, message="no"))
    await stage.until("Responding", 400)
    assert stage.cluster.status["guard"]["rollback"]["reason"] == "RolloutFailed"


async def test_a_refusal_of_the_world_is_tried_again() -> None:
    """A webhook may change its mind without the sis; until it does, nothing flaps."""
    stage = Stage()
    stage.cluster.failing["apply"] = REFUSED
    await stage.run(1000)
    calls = len(stage.cluster.calls)
    assert stage.phases[-1] == "Stalled"
    assert calls <= 2
    assert [event.reason for event in stage.events].count("InvalidSpec") == 1
    stage.cluster.failing.clear()
    await stage.run(400)
    assert stage.phases[-1] == "RollingOut"
    assert is_speculative(stage.cluster.child)


async def test_a_refusal_that_the_user_took_back_leaves_no_trace() -> None:
    """A later decision is written before it is acted on, as always."""
    stage, engine = await watching()
    stage.cluster.failing["apply"] = REFUSED
    stage.sis = {"replicas": 2, "generation": 2}
    await stage.until("Stalled")
    stage.cluster.failing.clear()
    stage.sis = {"generation": 3}
    await stage.until("Watching")
    engine.acceptance = 0.0
    await stage.until("Responding")
    assert stage.cluster.calls[-2:] == [("status", "Responding"), ("apply", "plain")]
