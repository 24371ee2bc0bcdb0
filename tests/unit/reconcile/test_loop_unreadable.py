"""A status that another client wrote: it ends no reconcile, and what could not be read is reported once."""

import copy
import json
import random
from typing import Any

import pytest
from tests.unit.stage import Stage, rolled_back, watching

FORGED = "0001-01-01T00:00:00+14:00"


def forge(stage: Stage, *path: str, to: Any) -> None:
    """Another client patches the status."""
    status = copy.deepcopy(stage.cluster.status)
    holder: Any = status
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = to
    stage.cluster.status = status
    stage.cluster.version += 1
    stage.wake()


def told(stage: Stage) -> int:
    """How many Events there are about it."""
    return [each.reason for each in stage.events].count("StateUnreadable")


@pytest.mark.parametrize("restarts", [True, False])
async def test_a_guard_whose_state_lies_about_time_goes_on(restarts: bool) -> None:
    """A draft that fails later is rolled back; the condition stays for a day, and there is one Event."""
    stage, engine = await watching()
    forge(stage, "guard", "since", to=FORGED)
    if restarts:
        stage.restart()
    await stage.run(30)
    said = stage.conditions()["StateUnreadable"]
    assert (said["status"], said["reason"], stage.cluster.status["phase"]) == ("True", "ValuesReplaced", "Watching")
    assert f"status.guard.since: '{FORGED}'" in said["message"]
    assert not stage.cluster.status["guard"]["since"].startswith("0001")
    engine.acceptance = 0.0
    await stage.until("Responding")
    assert told(stage) == 1
    assert "StateUnreadable" in stage.conditions()


async def test_the_condition_ends_after_a_day() -> None:
    """The status was written again long ago."""
    stage = await rolled_back()
    forge(stage, "guard", "retries", to=9223372036854775807)
    stage.restart()
    await stage.run(1)
    assert "StateUnreadable" in stage.conditions()
    stage.now += 86_500
    await stage.run(400)
    assert "StateUnreadable" not in stage.conditions()
    assert told(stage) == 1


@pytest.mark.parametrize("guard", [None, {"state": "Dreaming"}, {"rollback": 5}, []])
async def test_a_rollback_that_is_known_stays(guard: Any) -> None:
    """The pods serve without speculation all the time."""
    stage = await rolled_back()
    forge(stage, "guard", to=guard)
    stage.restart()
    await stage.run(60)
    assert (stage.cluster.status["phase"], stage.flags()) == ("RolledBack", {})
    assert told(stage) == 1
    assert stage.conditions()["RolledBack"]["status"] == "True"


async def test_a_refused_spec_does_not_hide_it() -> None:
    """The condition is beside Stalled."""
    stage, _ = await watching()
    forge(stage, "guard", "since", to=FORGED)
    stage.restart()
    stage.sis = {"generation": 2, "engine": {"accelerator": "nvidia", "version": "0.14.0"}}
    await stage.run(30)
    said = stage.conditions()
    assert (said["Stalled"]["status"], said["StateUnreadable"]["status"], told(stage)) == ("True", "True", 1)


JUNK = [
    FORGED,
    "1969-12-31T23:59:59Z",
    "2999-01-01T00:00:00Z",
    "Dreaming",
    "",
    None,
    [],
    {},
    -1,
    2**63 - 1,
    1e300,
    True,
]
JUNK += [[{}], {"a": 1}, ["x"], "NaN"]


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a status."""
    named = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [place for name, each in named for place in [(*path, name), *places(each, (*path, name))]]


async def test_no_forged_status_ends_the_reconciles_or_a_rollback() -> None:
    """One to three values of the whole status are replaced or removed, forty times, and the operator restarts."""
    stage, chance = await rolled_back(), random.Random(7)  # noqa: S311 - not a secret
    whole = json.dumps(stage.cluster.status)
    for _ in range(40):
        status = json.loads(whole)
        for _ in range(chance.randint(1, 3)):
            *steps, last = chance.choice(places(status))
            holder = status
            for step in steps:
                holder = holder[step]
            holder[last] = copy.deepcopy(chance.choice(JUNK))
        stage.cluster.status = status
        stage.cluster.version += 1
        stage.restart()
        await stage.run(6)
        json.dumps(stage.cluster.status, allow_nan=False)
        if isinstance(status.get("guard"), dict) and status["guard"].get("rollback"):
            assert stage.flags() == {}, status
