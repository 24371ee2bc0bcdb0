"""The loop and the dial: a user's annotation reaches the pods, and the status shows what they answer."""

import json
from typing import Any

import pytest
from tests.unit.bodies import make_pod
from tests.unit.builders import Body
from tests.unit.stage import Stage, busy, watching

from specdec_operator.errors import Unavailable
from specdec_operator.names import DIAL_ANNOTATION

K = 4


def drafts(tokens: int, **more: Any) -> Body:
    """The page of a pod."""
    return {"offered": True, "tokens": tokens, "started": K, "why": "", **more}


def settings(stage: Stage) -> list[tuple[str, Body | None]]:
    """What was written to pods so far."""
    return [(pod, text and json.loads(text)) for pod, text in stage.cluster.settings]


def deliver(stage: Stage) -> None:
    """The watch shows the annotations that were written."""
    for pod, text in dict(stage.cluster.settings).items():
        body = make_pod(pod, revision=stage.revision, mounts=stage.predictor["model"]["volumeMounts"])
        body["metadata"]["annotations"] = {DIAL_ANNOTATION: text} if text else {}
        stage.note(pod, body)


async def dialled(text: str = "off") -> Stage:
    """A watched service of one pod whose dial a user has set, and whose pod follows."""
    stage, _ = await watching()
    stage.drafting = drafts(K)
    stage.sis |= {"annotations": {DIAL_ANNOTATION: text}}
    await stage.turn()
    deliver(stage)
    stage.drafting = drafts(0)
    await stage.run(1)
    return stage


async def test_the_pods_get_their_setting_at_once_and_the_status_shows_what_they_answer() -> None:
    """First that it is asked for, then that it is in force."""
    stage, _ = await watching()
    stage.drafting = drafts(K)
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "off"}}
    await stage.turn()
    ((pod, text),) = settings(stage)
    assert text is not None
    assert (pod, text["tokens"], text["revision"]) == ("pod-1", 0, stage.revision)
    assert (stage.cluster.status["dial"]["tokens"], stage.cluster.status["dial"]["inForce"]) == (0, 0)
    assert "drafted" not in stage.cluster.status["serving"], "no pod has answered"
    deliver(stage)
    await stage.run(0.3)
    assert stage.cluster.status["dial"]["inForce"] == 0
    stage.drafting = drafts(0)
    await stage.run(1)
    assert (stage.cluster.status["dial"]["pods"], stage.cluster.status["dial"]["inForce"]) == (1, 1)
    assert [stage.cluster.status["serving"][each] for each in ("tokens", "drafted")] == [K, 0]
    assert [each.reason for each in stage.events if "Dial" in each.reason] == ["Dialled"]
    assert len(stage.cluster.settings) == 1, "a pod is written once"


async def test_a_setting_that_a_kubelet_does_not_show_is_written_again_later_and_later() -> None:
    """A second one may wait for a minute behind the first. A pod that never follows is not written for ever."""
    stage, _ = await watching()
    stage.drafting = drafts(K)
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "off"}}
    for _ in range(60):
        await stage.run(2)
        deliver(stage)
    at = [float((text or {})["time"]) for _, text in settings(stage)]
    assert at[1] - at[0] == pytest.approx(0.7, abs=0.15)
    assert len(at) < 16
    assert at[-1] - at[-2] > 20


async def test_pods_that_follow_in_turn_are_not_written_each_time() -> None:
    """The owner of the pods can have them answer anything."""
    stage, _ = await watching()
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "off"}}
    for number in range(120):
        stage.drafting = drafts(0 if number % 2 else K)
        await stage.run(0.5)
        deliver(stage)
    assert len(settings(stage)) < 10


async def test_a_window_with_the_dial_at_nothing_is_not_held_against_the_draft() -> None:
    """Nothing is drafted, as the user asked for."""
    stage = await dialled()
    for engine in stage.engines.values():
        engine.drafts = False
    await stage.run(1200)
    assert stage.cluster.status["phase"] == "Watching"
    assert stage.cluster.status["guard"]["reason"] == "Dialled"


async def test_a_setting_is_renewed_by_an_operator_that_restarts_and_removed_with_the_annotation() -> None:
    """The new process finds it in the pod, and writes nothing while it holds."""
    stage = await dialled()
    stage.restart()
    await stage.run(60)
    assert len(stage.cluster.settings) == 1
    await stage.run(1745)
    assert len(stage.cluster.settings) == 2
    deliver(stage)
    stage.sis |= {"annotations": {}}
    await stage.turn()
    assert settings(stage)[-1] == ("pod-1", None)
    assert "dial" not in stage.cluster.status
    assert stage.cluster.status["serving"]["drafted"] == K
    assert [each.reason for each in stage.events if "Dial" in each.reason] == ["Dialled", "DialReset"]


async def test_a_pod_that_comes_later_gets_its_setting_before_it_is_ready() -> None:
    """So its first window has no draft tokens of its flags."""
    stage = await dialled()
    stage.note("pod-9", make_pod("pod-9", revision=stage.revision, ready=False))
    await stage.turn()
    assert settings(stage)[-1][0] == "pod-9"


async def test_what_cannot_be_written_is_shown_and_tried_again_later() -> None:
    """With the way out. The guard and the rest of the service go on."""
    stage, _ = await watching()
    stage.cluster.failing["annotate"] = Unavailable("Forbidden", "HTTP 403: pods is forbidden")
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "off"}}
    await stage.run(5)
    assert "rbac.dial" in stage.cluster.status["dial"]["message"]
    assert [each.reason for each in stage.events if "Dial" in each.reason].count("DialRefused") == 1
    del stage.cluster.failing["annotate"]
    await stage.run(12)
    assert [pod for pod, _ in settings(stage)] == ["pod-1"]


async def test_an_annotation_that_cannot_be_followed_is_refused_once() -> None:
    """Nothing is written to pods."""
    stage, _ = await watching()
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "9"}}
    await stage.run(120)
    assert stage.cluster.status["dial"]["reason"] == "Refused"
    assert settings(stage) == []
    assert [each.reason for each in stage.events if "Dial" in each.reason] == ["DialRefused"]


async def test_a_service_without_a_dial_shows_that() -> None:
    """Its pods have no such volume."""
    stage, _ = await watching(busy(), guard={"dial": {"mode": "Off"}})
    assert "specdec-dial" not in json.dumps(stage.predictor)
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "off"}}
    await stage.run(5)
    assert "no dial" in stage.cluster.status["dial"]["message"]


async def test_pods_that_a_rollout_replaces_follow_the_user_until_they_are_gone() -> None:
    """Also while none of the new pods exists: the old one serves on, so the annotation is not refused."""
    stage, _ = await watching()
    stage.drafting = drafts(K)
    await stage.run(90)
    stage.sis |= {"resources": {"limits": {"cpu": "2"}}, "generation": 2, "annotations": {DIAL_ANNOTATION: "off"}}
    await stage.turn()
    ((pod, text),) = settings(stage)
    assert text is not None
    assert (pod, text["tokens"]) == ("pod-1", 0)
    assert [each.reason for each in stage.events if "Dial" in each.reason] == ["Dialled"]
