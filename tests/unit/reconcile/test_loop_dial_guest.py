"""The loop and the dial of a guest: used as in other services if its owner permits it, and else not at all."""

import json
from typing import Any

import pytest
from tests.unit.builders import Body
from tests.unit.reconcile.test_loop_guest import ALLOWED, BASELINE, PODS, SPECULATES, GuestStage
from tests.unit.stage import busy
from tests.wire.pods import EngineStandIn

from specdec_operator.names import DIAL_ANNOTATION

K = 4
HASH = "7f9c4d"
SETTLE = 120
_ITEMS = (("setting", f"annotations['{DIAL_ANNOTATION}']"), ("revision", "labels['pod-template-hash']"))
VOLUME = {
    "downwardAPI": {"items": [{"path": path, "fieldRef": {"fieldPath": f"metadata.{of}"}} for path, of in _ITEMS]}
}


class DialledGuest(GuestStage):
    """A stage whose owner mounts the dial in its pods, unless `mounted` is False. The pods follow at once.

    read_dials: how often the page of one was read.
    """

    def __init__(self, kind: str = "inferenceServiceRef", *, mounted: bool = True, **sis: Any) -> None:
        self.mounted, self.read_dials = mounted, 0
        super().__init__(kind, **sis)
        self.cluster.annotate = self._obeyed  # type: ignore[method-assign]

    def serve(self, *engines: EngineStandIn, **more: Any) -> None:
        """As GuestStage, with the volume and the label of the Deployment's controller."""
        super().serve(*engines, **more)
        for each in self.pods.values():
            each["metadata"]["labels"]["pod-template-hash"] = HASH
            each["spec"]["volumes"] = [VOLUME] if self.mounted else []

    @property
    def pods(self) -> dict[str, Body]:
        """The pods of the API server, by name."""
        return {each["metadata"]["name"]: each for each in self.cluster.there.get(PODS, {}).get("items", ())}

    @property
    def settings(self) -> list[int | None]:
        """The tokens of each setting so far; None: it was removed."""
        return [json.loads(text)["tokens"] if text else None for _, text in self.cluster.settings]

    async def _obeyed(self, manifest: Body, _: str, text: str | None) -> None:
        name = manifest["metadata"]["name"]
        for engine in self.engines.values():
            engine.spend(self.now - self._spent)
        self._spent = self.now
        self.cluster.settings.append((name, text))
        self.pods[name]["metadata"]["annotations"] = {DIAL_ANNOTATION: text} if text else {}
        self.engines[name].drafting = json.loads(text)["tokens"] if text else None

    async def dial(self, namespace: str, address: str, *, port: int = 8080) -> bytes | None:
        """What the first engine drafts, for each."""
        self.read_dials += 1
        first = next(iter(self.engines.values()))
        page = {"offered": True, "tokens": K if first.drafting is None else first.drafting, "started": K, "why": ""}
        return json.dumps(page).encode()


async def guarded(stage: DialledGuest, annotations: Body) -> EngineStandIn:
    """Its guest is watched; annotations: of the InferenceService. Returns the only engine."""
    engine = busy()
    stage.serve(engine, args=SPECULATES)
    stage.cluster.child["metadata"]["annotations"] = dict(annotations)
    await stage.until("Watching")
    await stage.run(30)
    return engine


async def enforced(**guard: Any) -> tuple[DialledGuest, EngineStandIn]:
    """A guest with a dial whose guard may act."""
    stage = DialledGuest(guard={"mode": "Enforce", "dial": {"settle": f"{SETTLE}s"}} | guard)
    return stage, await guarded(stage, ALLOWED)


async def test_an_allowed_guest_is_dialled_and_nothing_of_its_spec_changes() -> None:
    """Then the flags are removed as ever, and the pods that go draft nothing until they are gone."""
    stage, engine = await enforced()
    engine.acceptance = 0.0
    await stage.until("Dialled")
    assert (stage.settings, engine.drafting, stage.args) == ([0], 0, SPECULATES)
    assert json.loads(stage.cluster.settings[0][1] or "")["revision"] == HASH
    await stage.run(3)
    status = stage.cluster.status
    assert (status["dial"]["tokens"], status["dial"]["inForce"], status["dial"]["pods"]) == (0, 1, 1)
    assert stage.cluster.asked_to_patch == 0
    await stage.until("Responding", seconds=2 * SETTLE)
    assert "the dial was at nothing for 12" in status_message(stage)
    assert (stage.args, engine.drafting) == (BASELINE, 0)
    stage.serve(busy(speculative=False), args=BASELINE)
    await stage.until("RolledBack")
    assert "dial" not in stage.cluster.status


def status_message(stage: DialledGuest) -> str:
    """Why it was rolled back."""
    return str(stage.cluster.status["guard"]["rollback"]["message"])


async def test_traffic_that_changes_back_brings_the_draft_back() -> None:
    """Its flags were never touched."""
    stage, engine = await enforced()
    engine.acceptance = 0.0
    await stage.until("Dialled")
    engine.acceptance = 0.8
    await stage.until("Watching", seconds=SETTLE)
    assert (stage.settings[-1], engine.drafting) == (None, None)
    assert (stage.cluster.asked_to_patch, stage.args) == (0, SPECULATES)


async def test_a_user_sets_it_by_hand_and_a_new_pod_gets_it_within_seconds() -> None:
    """No watch reports the pod: the reading of the counters finds it."""
    stage, _ = await enforced()
    stage.sis["annotations"] = {DIAL_ANNOTATION: "off"}
    await stage.run(3)
    assert stage.settings == [0]
    (name, pod), new = next(iter(stage.pods.items())), busy()
    there = json.loads(json.dumps(pod)) | {"metadata": {**pod["metadata"], "name": "later", "annotations": {}}}
    stage.cluster.there[PODS]["items"].append(there)
    stage.engines["later"] = new
    await stage.run(6)
    assert [each for each, _ in stage.cluster.settings] == [name, "later"]
    assert stage.cluster.status["dial"]["inForce"] == 2


@pytest.mark.parametrize(
    ("stage", "annotations", "words"),
    [
        (lambda: DialledGuest(guard={"mode": "Enforce"}), {}, "kubectl annotate isvc theirs specdec.io/enforce=true"),
        (lambda: DialledGuest(guard={"mode": "Observe"}), ALLOWED, "guard.mode is not Enforce"),
        (lambda: DialledGuest(guard={"mode": "Enforce"}, mounted=False), ALLOWED, "no downward-API volume"),
        (lambda: DialledGuest(guard={"mode": "Enforce", "dial": {"mode": "Off"}}), ALLOWED, "guard.dial.mode is Off"),
    ],
    ids=["no permission", "Observe", "no volume", "mode Off"],
)
async def test_else_nothing_is_written_or_read_and_the_status_shows_what_is_missing(
    stage: Any, annotations: Body, words: str
) -> None:
    """Also if the draft fails."""
    guest = stage()
    engine = await guarded(guest, annotations)
    guest.sis["annotations"] = {DIAL_ANNOTATION: "off"}
    await guest.run(5)
    dial = guest.cluster.status["dial"]
    assert dial["reason"] == "Refused"
    assert words in dial["message"]
    engine.acceptance = 0.0
    await guest.run(60)
    assert "Dialled" not in guest.phases
    assert (guest.settings, guest.read_dials) == ([], 0)


async def test_observe_removes_the_settings_and_without_the_owners_permission_nothing_is_written() -> None:
    """Pods that draft nothing would be judged as if their flags had failed."""
    stage, engine = await enforced()
    stage.sis["annotations"] = {DIAL_ANNOTATION: "off"}
    await stage.run(3)
    del stage.cluster.child["metadata"]["annotations"]["specdec.io/enforce"]
    stage.wake()
    await stage.run(3)
    assert stage.settings == [0]
    stage.cluster.child["metadata"]["annotations"] = dict(ALLOWED)
    stage.sis |= {"guard": {"mode": "Observe"}, "generation": 2}
    await stage.run(3)
    assert (stage.settings, engine.drafting) == ([0, None], None)
