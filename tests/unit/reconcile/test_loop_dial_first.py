"""The loop, when acceptance falls in pods with a dial: they draft nothing at once, and what follows is decided later.

The stage's kubelet and engine are stand-ins that follow each setting in the same moment.
"""

import json
from typing import Any

from tests.unit.bodies import make_pod
from tests.unit.builders import DRAFT, Body
from tests.unit.stage import Stage, baseline, busy

from specdec_operator.errors import Unavailable
from specdec_operator.names import DIAL_ANNOTATION, REVISION_LABEL

K = 4
WINDOW = 10
SETTLE = 120
GUARD = {"dial": {"settle": f"{SETTLE}s"}, "failureLimit": 3}


class Dialled(Stage):
    """A stage whose pods have a dial. follows: whether they do what they are asked; lag: seconds after the write.

    missed: how many readings of their page from now on get no answer. deaf: how many settings never reach the engine.
    """

    def __init__(self, **sis: Any) -> None:
        super().__init__(**sis)
        self.follows, self.lag, self.missed, self.deaf = True, 0.0, 0, 0
        self._coming: list[tuple[float, str, int | None]] = []
        self._annotate = self.cluster.annotate
        self.cluster.annotate = self._obeyed  # type: ignore[method-assign]

    async def _obeyed(self, manifest: Body, name: str, text: str | None) -> None:
        """Writes it, and plays the watch, the kubelet and the engine."""
        await self._annotate(manifest, name, text)
        pod = manifest["metadata"]["name"]
        body = make_pod(pod, revision=self.seen[pod]["metadata"]["labels"][REVISION_LABEL])
        body["metadata"]["annotations"] = {DIAL_ANNOTATION: text} if text else {}
        self.note(pod, body)
        if self.deaf:
            self.deaf -= 1
        elif self.follows:
            self._coming.append((self.now + self.lag, pod, json.loads(text)["tokens"] if text else None))
        self._turn()

    def _turn(self) -> None:
        """The engines do what is due by now."""
        for at, pod, tokens in [each for each in self._coming if each[0] <= self.now]:
            for engine in self.engines.values():
                engine.spend(max(0.0, at - self._spent))
            self._spent = max(self._spent, at)
            self.engines[pod].drafting = tokens
        self._coming = [each for each in self._coming if each[0] > self.now]

    async def read(self, guard: Any, pods: Any, **more: Any) -> Any:
        """The counters, by what was drafted until now."""
        self._turn()
        return await super().read(guard, pods, **more)

    async def dial(self, namespace: str, address: str, *, port: int = 8080) -> bytes | None:
        """What the first engine drafts, for each."""
        self._turn()
        if self.missed:
            self.missed -= 1
            return None
        first = next(iter(self.engines.values()))
        page = {"offered": True, "tokens": K if first.drafting is None else first.drafting, "started": K, "why": ""}
        return json.dumps(page).encode()


async def failing(**guard: Any) -> tuple[Dialled, Any]:
    """A watched service with a dial, whose draft is refused from now on."""
    stage, engine = Dialled(speculation=DRAFT, guard=GUARD | guard), busy()
    await stage.turn()
    stage.roll_out(engine)
    await stage.until("Watching")
    await stage.run(3 * WINDOW)
    engine.acceptance = 0.0
    return stage, engine


def tokens(stage: Stage) -> list[int | None]:
    """The settings so far, in turn."""
    return [json.loads(text)["tokens"] if text else None for _, text in stage.cluster.settings]


async def test_a_failing_draft_is_dialled_to_nothing_and_no_pod_is_replaced() -> None:
    """The decision is in the status, with its numbers, before the pods get it; then what they answer."""
    stage, engine = await failing()
    before = stage.revision
    await stage.until("Dialled")
    assert (tokens(stage), engine.drafting) == ([0], 0)
    await stage.run(2)
    status = stage.cluster.status
    assert (status["dial"]["tokens"], status["dial"]["inForce"], status["dial"]["pods"]) == (0, 1, 1)
    assert status["reason"] == status["guard"]["dial"]["reason"] == status["dial"]["reason"] == "AcceptanceRateLow"
    assert stage.conditions()["SpeculationActive"]["status"] == "False"
    assert stage.conditions()["GuardPassing"]["status"] == "False"
    assert (stage.conditions()["RolledBack"]["status"], stage.conditions()["RolledBack"]["reason"]) == (
        "False",
        "Dialled",
    )
    assert [each.reason for each in stage.events if each.reason.startswith("Dial")] == ["Dialled"]
    assert (stage.revision, status["guard"]["rollbacks"]) == (before, 0)


async def test_traffic_that_changes_back_brings_the_draft_back_without_a_rollout() -> None:
    """By what the probes accept, in two windows at least."""
    stage, engine = await failing()
    before = stage.revision
    await stage.until("Dialled")
    engine.acceptance = 0.8
    took = await stage.until("Watching", seconds=SETTLE)
    assert took >= 2 * SETTLE / 4 - WINDOW, "two probes were needed"
    assert tokens(stage)[:4] == [0, K, 0, K]
    assert (tokens(stage)[-1], engine.drafting) == (None, None)
    await stage.run(5 * WINDOW)
    assert stage.cluster.status["guard"]["reason"] == "Accepted"
    assert (stage.revision, stage.cluster.status["guard"]["retries"]) == (before, 1)
    assert "dial" not in stage.cluster.status


async def test_a_failure_that_stands_is_followed_by_the_rollback() -> None:
    """The pods that are replaced draft nothing until they are gone."""
    stage, engine = await failing()
    before = stage.revision
    await stage.until("Dialled")
    took = await stage.until("Responding", seconds=2 * SETTLE)
    assert SETTLE <= took <= SETTLE + 2 * WINDOW
    assert stage.revision != before
    assert engine.drafting == 0
    message = stage.cluster.status["guard"]["rollback"]["message"]
    assert "the dial was at nothing for 12" in message
    assert "its probes accepted 0.00 of" in message
    assert stage.cluster.status["dial"]["inForce"] == 1
    stage.roll_out(baseline())
    await stage.until("RolledBack")
    assert "dial" not in stage.cluster.status


async def test_the_share_of_the_time_in_which_the_pods_probe_is_bounded() -> None:
    """Two per cent, and a reconcile is due when a probe begins and when it ends."""
    stage, engine = await failing()
    await stage.until("Dialled")
    drafted, generated = engine.drafts, engine.generated
    await stage.run(100)
    share = (engine.drafts - drafted) / (engine.generated - generated)
    assert 0 < share < 0.03


async def test_an_operator_that_restarts_keeps_the_dial_and_decides_as_before() -> None:
    """The decision and its probes are in the status; what is in force is read again."""
    stage, _ = await failing()
    await stage.until("Dialled")
    await stage.run(SETTLE / 2 - 10)
    written = len(stage.cluster.settings)
    stage.restart()
    await stage.run(5)
    assert stage.cluster.status["phase"] == "Dialled"
    assert len(stage.cluster.settings) == written
    await stage.until("Responding", seconds=SETTLE)


async def test_pods_that_do_not_follow_are_replaced() -> None:
    """After twenty seconds. The decision has the reason."""
    stage, _ = await failing()
    stage.follows = False
    await stage.until("Dialled")
    took = await stage.until("Responding")
    assert 20 <= took <= 36
    assert "the dial did not help: pod pod-1" in stage.cluster.status["guard"]["rollback"]["message"]


async def test_without_the_permission_the_rollback_comes_at_once() -> None:
    """An older cluster has none. It is not tried again for an hour."""
    stage, _ = await failing()
    stage.cluster.failing["annotate"] = Unavailable("Forbidden", "HTTP 403: pods is forbidden")
    await stage.until("Dialled")
    took = await stage.until("Responding")
    assert took <= 1
    assert "rbac.dial" in stage.cluster.status["guard"]["rollback"]["message"]


async def test_a_rollback_by_a_user_dials_the_pods_that_it_replaces() -> None:
    """They draft nothing from the next step on, although the baseline's pods need their time."""
    stage, engine = await failing()
    engine.acceptance = 0.8
    stage.sis |= {"annotations": {"specdec.io/rollback": "1"}}
    await stage.until("Responding")
    assert (tokens(stage), engine.drafting) == ([0], 0)


async def test_a_users_own_setting_goes_before_the_guards() -> None:
    """And the guard's returns when it is removed."""
    stage, engine = await failing()
    await stage.until("Dialled")
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "2"}}
    await stage.run(2)
    assert (engine.drafting, stage.cluster.status["dial"]["reason"]) == (2, "Requested")
    stage.sis |= {"annotations": {}}
    await stage.run(2)
    assert (engine.drafting, stage.cluster.status["dial"]["reason"]) == (0, "AcceptanceRateLow")


async def test_a_retry_by_a_user_ends_the_dial_at_once() -> None:
    """As it ends a rollback, and without a rollout: the same pods are requested."""
    stage, engine = await failing()
    before = stage.revision
    await stage.until("Dialled")
    engine.acceptance = 0.8
    stage.sis |= {"annotations": {"specdec.io/retry": "1"}}
    await stage.until("Watching")
    assert (engine.drafting, stage.revision) == (None, before)
    assert stage.cluster.status["guard"]["handledRetry"] == "1"


async def test_a_pod_that_comes_later_has_its_own_time_to_follow() -> None:
    """As with an autoscaler, or after a drain: it was not asked before it was ready."""
    stage, _ = await failing(dial={"settle": "10m"})
    await stage.until("Dialled")
    await stage.run(100)
    stage.note("pod-9", make_pod("pod-9", revision=stage.revision, ready=False))
    stage.engines["pod-9"] = busy(0.0)
    await stage.run(5)
    body = make_pod("pod-9", revision=stage.revision)
    body["metadata"]["annotations"] = {DIAL_ANNOTATION: stage.cluster.settings[-1][1]}
    stage.note("pod-9", body)
    await stage.run(30)
    assert stage.cluster.status["phase"] == "Dialled"
    assert stage.cluster.status["dial"]["inForce"] == 2


async def test_one_reading_without_an_answer_ends_no_dial() -> None:
    """It is read again at once, and has twenty seconds."""
    stage, _ = await failing(dial={"settle": "10m"})
    await stage.until("Dialled")
    await stage.run(60)
    stage.missed = 2
    await stage.run(60)
    assert stage.cluster.status["phase"] == "Dialled"


async def test_an_api_server_that_is_away_ends_no_dial() -> None:
    """The setting is written later, and the pods have followed all the time."""
    stage, engine = await failing(dial={"settle": "10m"})
    await stage.until("Dialled")
    await stage.run(140)
    stage.cluster.failing["annotate"] = Unavailable("ApiServerRefused", "HTTP 503: etcd leader changed", status=503)
    await stage.run(8)
    del stage.cluster.failing["annotate"]
    await stage.run(40)
    assert (stage.cluster.status["phase"], engine.drafting) == ("Dialled", 0)
    assert "rbac.dial" not in json.dumps(stage.cluster.status)


async def test_what_was_drafted_before_the_dial_was_followed_is_not_a_probe() -> None:
    """With a window as long as settle, the seconds until the kubelet has it would outweigh the probes."""
    stage, engine = await failing(window=f"{SETTLE}s", failureLimit=1)
    stage.lag = 1.0
    await stage.until("Dialled", seconds=3 * SETTLE)
    engine.acceptance = 0.8
    await stage.until("Watching", seconds=4 * SETTLE)


async def test_a_restarted_operator_finds_the_pods_that_a_rollback_replaces() -> None:
    """It renews their setting: they draft nothing until they are gone."""
    stage, engine = await failing()
    await stage.until("Responding", seconds=3 * SETTLE)
    stage.restart()
    await stage.run(2 * 3600)
    assert len([each for each in tokens(stage)[-4:] if each == 0]) == 4
    assert (engine.drafting, stage.cluster.status["dial"]["inForce"]) == (0, 1)


async def test_an_operator_that_died_before_it_set_the_dial_sets_it_later() -> None:
    """The decision for a rollback is in the status, the pods draft on, and nothing is known of their dial."""
    stage, engine = await failing(retry={"limit": 0})
    stage.cluster.failing["annotate"] = Unavailable("ApiServerRefused", "HTTP 503", status=503)
    await stage.until("Responding")
    stage.restart()
    del stage.cluster.failing["annotate"]
    await stage.run(20)
    assert engine.drafting == 0


async def test_a_users_setting_is_not_judged_as_a_probe() -> None:
    """However long it stays."""
    stage, _ = await failing()
    await stage.until("Dialled")
    stage.sis |= {"annotations": {DIAL_ANNOTATION: "4"}}
    await stage.run(3 * SETTLE)
    assert stage.cluster.status["phase"] == "Dialled"
    assert stage.cluster.status["guard"]["dial"].get("probes", []) == []


async def test_a_hold_keeps_the_dial_and_observe_ends_it() -> None:
    """Under a hold nothing is changed: no probe either."""
    stage, _ = await failing()
    await stage.until("Dialled")
    stage.sis |= {"annotations": {"specdec.io/hold": "1"}}
    await stage.run(3 * SETTLE)
    assert (stage.cluster.status["phase"], tokens(stage)) == ("Dialled", [0])
    stage.sis = {**stage.sis, "annotations": {}, "guard": {**GUARD, "mode": "Observe"}, "generation": 2}
    await stage.until("Watching")
    assert tokens(stage)[-1] is None


async def test_a_probe_writes_no_status() -> None:
    """The answers of a moment in which some pods have ended it and others not are not read."""
    stage, _ = await failing(dial={"settle": "10m"})
    stage.lag = 1.0
    await stage.until("Dialled")
    await stage.run(140)
    written = len([verb for verb, _ in stage.cluster.calls if verb == "status"])
    await stage.run(20)
    assert len([verb for verb, _ in stage.cluster.calls if verb == "status"]) - written <= 2, "one for each window"
    assert stage.conditions()["SpeculationActive"]["status"] == "False"


async def test_a_setting_that_the_kubelet_has_not_shown_is_written_again() -> None:
    """Seen on a node: of two changes within a second, it shows the second one a minute later."""
    stage, engine = await failing()
    stage.deaf = 1
    await stage.until("Dialled")
    await stage.run(10)
    assert (tokens(stage), engine.drafting) == ([0, 0], 0)
