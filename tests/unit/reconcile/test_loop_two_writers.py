"""Two operators without a Lease: the later decision counts for both, and neither undoes the other's work."""

from tests.unit.stage import Stage, is_speculative, rolled_back, watching


def _written_by_another(stage: Stage, status: dict[str, object]) -> None:
    stage.cluster.status = status
    stage.cluster.version += 1


async def test_a_rollback_that_another_operator_wrote_is_ours_too() -> None:
    """The InferenceService is made plain, and the rollback is not counted again."""
    other = await rolled_back()
    stage, _ = await watching()
    _written_by_another(stage, other.cluster.status)
    await stage.run(60.0)
    assert not is_speculative(stage.cluster.child)
    assert (stage.cluster.status["phase"], stage.cluster.status["guard"]["rollbacks"]) == ("RolledBack", 1)


async def test_an_older_decision_is_written_over() -> None:
    """A writer that has not yet seen the rollback writes the status from before it."""
    other, _ = await watching()
    stage = await rolled_back()
    _written_by_another(stage, other.cluster.status)
    await stage.run(60.0)
    assert not is_speculative(stage.cluster.child)
    assert (stage.cluster.status["phase"], stage.cluster.status["guard"]["rollbacks"]) == ("RolledBack", 1)


async def test_an_echo_of_our_own_writes_is_not_answered_however_late() -> None:
    """A watch that was cut reports old versions. The written status stays as it is."""
    other, _ = await watching()
    stage = await rolled_back()
    await stage.run(60.0)
    stage.cluster.status |= {"guard": other.cluster.status["guard"]}
    calls = [*stage.cluster.calls]
    await stage.run(60.0)
    assert stage.cluster.calls == calls
