"""The reconcile loop and the PodDisruptionBudget: made, kept, corrected, removed. Another
owner's budget is never changed.
"""

from typing import Any

from tests.unit.builders import NAME, NAMESPACE, Body
from tests.unit.stage import Stage, busy, watching

from specdec_operator.errors import Unavailable

BUDGET = f"{NAME}-specdec"
PATH = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{BUDGET}"
HOUR = 3600.0
UNGUARDED = {"replicas": 2, "guard": {"mode": "Off"}}
"""Whose hours have no windows."""


def written(stage: Stage) -> list[str]:
    """What was done to the budget, in turn."""
    return [verb for verb, name in stage.cluster.calls if name == BUDGET]


def there(stage: Stage, **changes: Any) -> Body:
    """The API server has the budget as it was applied last."""
    found = [each for each in stage.cluster.made if each["kind"] == "PodDisruptionBudget"]
    stage.cluster.there[PATH] = found[-1] | changes
    return found[-1]


def told(stage: Stage) -> list[str]:
    """The messages of the Events about it."""
    return [each.message for each in stage.events if each.reason == "NoDisruptionBudget"]


async def serving() -> Stage:
    """A stage whose service has two pods and serves."""
    stage = Stage(**UNGUARDED)
    await stage.turn()
    stage.roll_out(busy(), busy())
    await stage.until("Serving")
    return stage


async def test_it_is_made_once_and_left_alone() -> None:
    """A new operator finds it as it should be, and writes nothing."""
    stage = await serving()
    assert written(stage) == ["apply"]
    there(stage)
    await stage.run(2 * HOUR)
    stage.restart()
    await stage.run(60.0)
    assert written(stage) == ["apply"]


async def test_who_changes_or_deletes_it_has_it_back_within_an_hour() -> None:
    """It is not watched."""
    stage = await serving()
    made = there(stage)
    there(stage, spec=made["spec"] | {"maxUnavailable": 0})
    await stage.run(HOUR + 400.0)
    assert written(stage) == ["apply", "apply"]
    there(stage)
    await stage.run(HOUR + 400.0)
    del stage.cluster.there[PATH]
    await stage.run(HOUR + 400.0)
    assert written(stage) == ["apply", "apply", "apply"]


async def test_a_service_that_is_to_have_none_any_more_loses_it() -> None:
    """At once, or within minutes where the operator was away meanwhile; what is gone is not looked at again."""
    stage = await serving()
    there(stage)
    stage.restart()
    stage.sis |= {"rollout": {"disruptionBudget": "None"}, "generation": 2}
    await stage.turn()
    assert written(stage) == ["apply"], "a thousand services are not asked about at a start"
    await stage.run(1200.0)
    assert written(stage) == ["apply", "remove"]
    await stage.run(2 * HOUR)
    assert written(stage) == ["apply", "remove"]


async def test_a_budget_of_another_owner_stays() -> None:
    """The operator does not overwrite and does not remove it, whatever its spec is."""
    stage, _ = await watching()
    foreign = {"metadata": {"name": BUDGET, "namespace": NAMESPACE}, "spec": {"minAvailable": 1}}
    stage.cluster.there[PATH] = foreign
    stage.restart()
    await stage.run(60.0)
    stage.sis |= {"replicas": 2, "generation": 2}
    await stage.run(60.0)
    assert written(stage) == []
    assert told(stage) == [
        f"another PodDisruptionBudget {BUDGET} already exists: delete it, or set rollout.disruptionBudget: None"
    ]


async def test_a_service_serves_without_it() -> None:
    """A missing permission is reported once, the operator tries again every five minutes, and nothing else fails."""
    stage = Stage(replicas=2)
    stage.cluster.failing["PodDisruptionBudget"] = Unavailable("Forbidden", "may not")
    assert not (await stage.turn()).failed
    assert stage.cluster.child
    await stage.run(350.0)
    assert told(stage) == ["may not"]
    stage.cluster.failing.clear()
    await stage.run(240.0)
    assert written(stage) == []
    await stage.run(20.0)
    assert written(stage) == ["apply"]
