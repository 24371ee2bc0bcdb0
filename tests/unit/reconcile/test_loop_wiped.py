"""A status that a user empties: the operator writes the state in memory again, and decides nothing again."""

from tests.unit.stage import Stage, is_speculative, rolled_back, watching


async def _emptied(stage: Stage) -> None:
    await stage.run(2.0)
    before = stage.cluster.status
    stage.cluster.status = {}
    await stage.run(60.0)
    assert stage.cluster.status["guard"]["state"] == before["guard"]["state"]
    assert stage.cluster.status["history"] == before["history"]


async def test_an_emptied_status_is_written_again_while_the_pods_are_watched() -> None:
    """The phase goes on, with its history."""
    stage, _ = await watching()
    await _emptied(stage)
    assert stage.phases == ["RollingOut", "WarmingUp", "Watching"]


async def test_an_emptied_status_brings_no_rolled_back_draft_back() -> None:
    """One rollback, before and after, and across the next restart too."""
    stage = await rolled_back()
    await _emptied(stage)
    stage.restart()
    await stage.run(60.0)
    assert (stage.cluster.status["phase"], stage.cluster.status["guard"]["rollbacks"]) == ("RolledBack", 1)
    assert not is_speculative(stage.cluster.child)
