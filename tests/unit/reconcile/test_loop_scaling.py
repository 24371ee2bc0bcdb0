"""A service with a foreign autoscaler: pods come and go, and a service without pods proves nothing."""

from typing import Any

from tests.unit.bodies import make_deployment, make_pod
from tests.unit.stage import Stage, busy, watching

SCALED: dict[str, Any] = {"autoscaling": {"maxReplicas": 5}}
TO_ZERO: dict[str, Any] = {"autoscaling": {"autoscalerClass": "external"}}
HOURS = 7200.0
LATE = 2400.0
"""Past the deadline of a rollout, 30 minutes."""
SLOWLY: dict[str, Any] = {"guard": {"interval": "30s", "window": "5m"}}
"""So that hours have few reads."""


def scale(stage: Stage, number: int, ready: int) -> None:
    """Plays the autoscaler and the Deployment's controller: so many pods are asked for, and so many of them are up."""
    there = [name for name in stage.seen if name not in ("child", "deployment")]
    for name in there[number:]:
        stage._forget(name)
    for at in range(len(there), number):
        name = f"more-{at}"
        stage.engines[name] = busy()
        stage.note(name, make_pod(name, revision=stage.revision, ready=at < ready))
    mounted = [each["mountPath"] for each in stage.predictor["model"]["volumeMounts"]]
    told = make_deployment(
        stage.revision, replicas=number, updated=number, total=number, available=ready, mounted=mounted
    )
    stage.note("deployment", told)


async def test_pods_that_an_autoscaler_adds_hours_later_do_not_make_a_rollout_late() -> None:
    """The deadline is that of a rollout: pods beyond the first may find no room for as long as the load lasts."""
    stage, _ = await watching(busy(), **SCALED, **SLOWLY)
    await stage.run(HOURS)
    scale(stage, 3, ready=1)
    await stage.run(HOURS)
    assert stage.cluster.status["phase"] == "Watching"
    assert stage.cluster.status["replicas"] == 3
    assert {each["reason"] for each in stage.conditions().values()} & {"DeadlineExceeded"} == set()


async def test_the_pods_of_an_autoscaler_are_judged_as_they_come_and_go() -> None:
    """Each window is of the pods that were there in it."""
    stage, _ = await watching(busy(), **SCALED)
    scale(stage, 3, ready=3)
    await stage.run(60)
    assert stage.cluster.status["acceptance"]["pods"] == 3
    assert stage.cluster.status["scaling"]["replicasNeeded"] == 3
    scale(stage, 1, ready=1)
    await stage.run(120)
    assert (stage.cluster.status["phase"], stage.cluster.status["guard"]["verdict"]) == ("Watching", "Pass")
    assert stage.cluster.status["acceptance"]["pods"] == 1


async def test_a_service_that_is_scaled_to_zero_has_no_verdict_and_no_deadline() -> None:
    """No pod, no data: Inconclusive. What was decided stays, and it is watched again once pods are there."""
    stage, _ = await watching(busy(), **TO_ZERO, **SLOWLY)
    scale(stage, 0, ready=0)
    await stage.run(HOURS)
    status = stage.cluster.status
    assert (status["phase"], status["guard"]["verdict"]) == ("Watching", "Inconclusive")
    assert (status["guard"]["reason"], status["guard"]["rollbacks"]) == ("NoTraffic", 0)
    assert stage.conditions()["Ready"]["reason"] == "ScaledToZero"
    scale(stage, 1, ready=1)
    await stage.run(600)
    assert (stage.cluster.status["phase"], stage.cluster.status["guard"]["verdict"]) == ("Watching", "Pass")


async def test_a_rollout_that_sleeps_has_its_time_again_when_pods_come() -> None:
    """Scaled to zero before its pods were up; hours later the first pod has the whole deadline."""
    stage = Stage(**TO_ZERO)
    await stage.until("RollingOut")
    stage.note("child", stage.cluster.child)
    scale(stage, 0, ready=0)
    await stage.run(LATE)
    assert stage.cluster.status["phase"] == "RollingOut"
    scale(stage, 1, ready=0)
    await stage.run(60)
    assert stage.cluster.status["phase"] == "RollingOut"
    scale(stage, 1, ready=0)
    stage.roll_out(busy())
    await stage.until("Watching")
    assert stage.cluster.status["guard"]["rollbacks"] == 0


async def test_baseline_pods_are_removed_while_the_service_is_scaled_to_zero() -> None:
    """guard.control Always: otherwise a service that is scaled to zero would have pods."""
    always = {"control": {"mode": "Always"}, "speedup": {"min": 1.0}, "baseline": "None"}
    stage, _ = await watching(busy(), guard=always, **TO_ZERO)
    live = stage.seen["deployment"]
    flags = stage.args
    engine = live["spec"]["template"]["spec"]["containers"][0] | {
        "args": ["--port=8080", *flags],
        "volumeMounts": stage.predictor["model"]["volumeMounts"],
    }
    stage.cluster.made.append(
        {
            "kind": "Deployment",
            "metadata": {"name": "llama-predictor", "uid": "d"},
            "spec": live["spec"] | {"template": live["spec"]["template"] | {"spec": {"containers": [engine]}}},
        }
    )
    await stage.run(40)
    assert baseline_pods(stage)[-1:] == [1]
    scale(stage, 0, ready=0)
    await stage.run(40)
    assert baseline_pods(stage)[-1:] == [0]
    scale(stage, 1, ready=1)
    await stage.run(40)
    assert baseline_pods(stage)[-1:] == [1]


def baseline_pods(stage: Stage) -> list[int]:
    """The requested numbers of baseline pods, in order."""
    made = [each for each in stage.cluster.made if each["metadata"]["name"].endswith("-plain")]
    return [each["spec"]["replicas"] for each in made]
