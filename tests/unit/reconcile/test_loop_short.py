"""Turns that only read: what they leave out, and what ends them."""

import pytest
from tests.unit.report.test_service_metrics import series
from tests.unit.stage import KEY, START, Stage, watching
from tests.wire.pods import EngineStandIn

from specdec_operator.reconcile import loop

WINDOW = 10.0


async def quiet() -> tuple[Stage, EngineStandIn]:
    """A watched service in the middle of a window, of which nothing is new."""
    stage, engine = await watching()
    await stage.run(0.3 * WINDOW)
    stage.cluster.calls.clear()
    return stage, engine


async def test_a_window_is_the_same_whether_or_not_anything_woke_the_loop() -> None:
    """The readings that are judged are those of all turns together."""
    judged = []
    for woken in (False, True):
        stage, engine = await watching()
        engine.acceptance = 0.1
        for _ in range(200):
            if woken:
                stage.wake()
            stage.now += max((await stage.turn()).requeue_after, 0.01)
            if stage.phases[-1] == "Responding":
                break
        judged.append((stage.cluster.status["guard"]["rollback"], len(stage.asked), stage.now - START))
    assert judged[0] == judged[1]


async def test_a_short_turn_reads_and_plans_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning and rendering what has not changed is most of what a whole turn takes."""
    stage, _ = await quiet()
    monkeypatch.setattr(loop, "decide", None)
    before = len(stage.asked)
    await stage.run(0.4 * WINDOW)
    assert len(stage.asked) >= before + 2
    assert stage.cluster.calls == []
    with pytest.raises(TypeError):
        await stage.run(0.6 * WINDOW)  # the window closes in a whole turn


async def test_a_pod_that_stops_answering_is_shown_at_once() -> None:
    """Not only when the window closes."""
    stage, engine = await quiet()
    engine.hangs = True
    await stage.run(0.3 * WINDOW)
    assert series(KEY)["specdec_pods_without_metrics"] == 1
    stage.loop.forget(KEY)
