"""A service that guards another owner's InferenceService: it watches, judges and reports, and writes nothing to it."""

import json
from typing import Any

import pytest
from tests.unit.builders import NAMESPACE, Body
from tests.unit.stage import KEY, Stage, busy
from tests.wire.pods import EngineStandIn

from specdec_operator.errors import Unavailable

CONFIG = '{"method":"ngram","num_speculative_tokens":4}'
SPECULATES = ["--model=/mnt/models", f"--speculative-config={CONFIG}"]
BASELINE = ["--model=/mnt/models"]
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
READ_ONLY = {"status"}
"""The only verb of a write that a guest is answered with: that of its own service's status."""


class GuestStage(Stage):
    """A stage whose service names an InferenceService, or a Deployment. ports: those that were asked, in turn."""

    def __init__(self, kind: str = "inferenceServiceRef", *, most_guests: int = 0, **sis: Any) -> None:
        self.ports: list[int] = []
        self.most_guests = most_guests
        super().__init__(**{"model": None, "engine": None, "speculation": None, kind: {"name": "theirs"}} | sis)

    async def read(self, *given: Any, port: int = 8080, **more: Any) -> Any:
        """Notes the port."""
        self.ports.append(port)
        return await super().read(*given, port=port, **more)

    def serve(self, *engines: EngineStandIn, args: list[str], told: bool = True, **spec: Any) -> None:
        """Acts as the owner: pods with these flags replace all others. `told`: whether a
        reconcile is due because of it.
        """
        container = {"name": "kserve-container", "image": "vllm/vllm-openai:v0.11", "args": args} | spec
        meta = {"name": "theirs", "namespace": NAMESPACE, "uid": "uid-of-theirs", "generation": 1}
        meta["annotations"] = self.cluster.child.get("metadata", {}).get("annotations", {})
        predictor = {"predictor": {"model": {"args": args} | spec}}
        self.cluster.child = {"metadata": meta, "spec": predictor, "status": {"url": "http://theirs.team-a"}}
        count = len(engines)
        status = {"observedGeneration": 1, "replicas": count, "updatedReplicas": count, "availableReplicas": count}
        made = {"name": "theirs-predictor", "generation": 1}
        asked = {"replicas": count, "selector": {"matchLabels": {"app": "x"}}}
        template = {"template": {"spec": {"containers": [container]}}}
        self.cluster.there[DEPLOYMENTS] = {"items": [{"metadata": made, "spec": asked | template, "status": status}]}
        self.engines = {f"{args[-1][:6]}-{number}": each for number, each in enumerate(engines)}
        self.cluster.there[PODS] = {"items": [_pod(name, container) for name in self.engines]}
        if told:
            self.wake()


def _pod(name: str, container: Body) -> Body:
    owner = {"kind": "ReplicaSet", "name": "theirs-predictor-abc", "controller": True}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    return {
        "metadata": {"name": name, "labels": {"component": "predictor"}, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "istio-proxy", "image": "istio"}, container]},
        "status": {"podIP": "10.0.0.7", "conditions": [ready]},
    }


async def watched(**sis: Any) -> tuple[GuestStage, EngineStandIn]:
    """A guest that is watched, and its only engine."""
    stage, engine = GuestStage(**sis), busy()
    stage.serve(engine, args=SPECULATES)
    await stage.until("Watching")
    return stage, engine


async def test_a_deployment_is_judged_in_the_same_way_at_the_port_of_its_engine() -> None:
    """A shell script sets the port; the container has another name."""
    stage = GuestStage("deploymentRef")
    script = f"export A=1; exec vllm serve /m --port 9000 --speculative-config '{CONFIG}'"
    stage.serve(busy(), args=[script], command=["bash", "-c"], name="vllm")
    stage.cluster.there[DEPLOYMENTS]["items"][0]["metadata"]["name"] = "theirs"
    stage.cluster.there[PODS]["items"][0]["metadata"]["ownerReferences"][0]["name"] = "theirs-abc"
    await stage.until("Watching")
    await stage.run(15)
    status = stage.cluster.status
    assert (status["guard"]["verdict"], {*stage.ports}) == ("Pass", {9000})
    assert status["serving"]["inferenceService"] == "deployments.apps/theirs"


async def test_pods_that_draft_without_a_flag_are_judged() -> None:
    """A file of the engine may enable speculation. The counters show it, and a restarted
    operator reads it from the status.
    """
    stage = GuestStage()
    stage.serve(busy(), args=BASELINE)
    await stage.until("Serving")
    await stage.until("Watching")
    await stage.run(15)
    status = stage.cluster.status
    assert (status["serving"]["method"], status["serving"]["tokens"]) == ("custom_class", 4)
    assert status["guard"]["verdict"] == "Pass"
    stage.restart()
    await stage.run(30)
    assert stage.phases[-1] == "Watching"
    assert stage.cluster.status["guard"]["verdict"] == "Pass"


async def test_a_cluster_that_does_not_answer_does_not_make_a_guest_missing() -> None:
    """The known facts stay."""
    stage, _ = await watched()
    read = stage.cluster.read

    async def lost(path: str, **_: str) -> Body | None:
        raise Unavailable("ApiServerUnavailable", "no answer")

    stage.cluster.read = lost  # type: ignore[method-assign]
    await stage.run(30)
    assert stage.cluster.status["phase"] == "Watching"
    stage.cluster.read = read  # type: ignore[method-assign]
    await stage.run(30)
    assert stage.cluster.status["guard"]["verdict"] == "Pass"


async def test_a_spec_of_a_guest_is_not_followed_if_the_newest_spec_names_none() -> None:
    """The newest spec is refused. The one before is of a guest that is not read any more."""
    stage, _ = await watched()
    stage.sis = {"generation": 2, "engine": {"accelerator": "nvidia", "version": "0.14.0"}}
    await stage.turn()
    assert stage.conditions()["Stalled"]["message"].endswith("(rule DRAFT-MODEL-SINCE)")
    assert {verb for verb, _ in stage.cluster.calls} == READ_ONLY


async def test_other_pods_are_noticed_by_the_next_reading() -> None:
    """No watch reports them, and the window in which they came has seconds left."""
    stage, _ = await watched()
    await stage.run(1)
    stage.serve(
        busy(), args=[BASELINE[0], '--speculative-config={"method":"ngram","num_speculative_tokens":2}'], told=False
    )
    await stage.run(4)
    assert stage.cluster.status["phase"] == "WarmingUp"


def guarding(name: str, guest: str = "theirs") -> Body:
    """A service that guards it."""
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"inferenceServiceRef": {"name": guest}}}


@pytest.mark.parametrize(
    ("labels", "other", "words"),
    [
        ({"serving.specdec.io/name": "own"}, "", "SpeculativeInferenceService own serves and guards"),
        ({}, "first", "first already guards InferenceService theirs, and llama is newer"),
    ],
)
async def test_a_guest_has_one_guard(labels: Body, other: str, words: str) -> None:
    """The message has both names."""
    stage = GuestStage()
    stage.serve(busy(), args=SPECULATES)
    stage.cluster.child["metadata"]["labels"] = labels
    for name in (KEY[1], "zulu", *([other] if other else [])):
        stage.stores.guards.note(guarding(name))
    await stage.turn()
    assert stage.conditions()["Stalled"]["reason"] == "GuestTaken"
    assert words in stage.cluster.status["message"]


async def test_a_guest_of_more_than_is_read_is_refused_and_followed_once_it_is_small() -> None:
    """A script of 900 kB is not parsed. Nothing else of the service changes."""
    stage = GuestStage()
    stage.serve(busy(), args=["bash", "-c", "vllm serve m " + "-sc=x " * 15_000])
    await stage.turn()
    assert stage.conditions()["Stalled"]["reason"] == "GuestTooLarge"
    assert "InferenceService theirs has 90019 bytes of command and args" in stage.cluster.status["message"]
    stage.serve(busy(), args=SPECULATES)
    await stage.until("Watching")


async def test_a_namespace_has_so_many_guests_and_the_others_are_not_read() -> None:
    """The oldest services are followed."""
    stage = GuestStage(most_guests=2)
    stage.serve(busy(), args=SPECULATES)
    for name in ("a", "b", KEY[1]):
        stage.stores.guards.note(guarding(name, guest=f"of-{name}"))
    await stage.turn()
    assert stage.conditions()["Stalled"]["reason"] == "TooManyGuests"
    assert "at most 2 existing services of a namespace" in stage.cluster.status["message"]
    assert not [each for each in stage.cluster.reads if each == PODS or each.endswith("/theirs")]
    stage.stores.guards.forget((NAMESPACE, "a"))
    await stage.until("Watching")


ALLOWED = {"specdec.io/enforce": "true"}
KEPT = "specdec.io/taken-out"


async def enforced(annotations: Body | None = None) -> tuple[GuestStage, EngineStandIn]:
    """A guest whose guard may act, if its owner lets it."""
    stage, engine = GuestStage(guard={"mode": "Enforce"}), busy()
    stage.serve(engine, args=SPECULATES)
    stage.cluster.child["metadata"]["annotations"] = dict(ALLOWED if annotations is None else annotations)
    await stage.until("Watching")
    return stage, engine


async def taken_out() -> GuestStage:
    """A guest without its flag, whose baseline pods serve."""
    stage, engine = await enforced()
    engine.acceptance = 0.0
    await stage.until("Responding")
    stage.serve(busy(speculative=False), args=stage.args)
    await stage.until("RolledBack")
    return stage


async def test_with_its_owners_leave_the_flag_is_taken_out_and_brought_back_on_retry() -> None:
    """One patch each; what was taken out is in the annotation, in the condition and in the Event."""
    stage = await taken_out()
    assert stage.args == BASELINE
    assert json.loads(stage.cluster.child["metadata"]["annotations"][KEPT])["value"] == SPECULATES
    assert SPECULATES[1] in stage.conditions()["Enforcing"]["message"]
    assert stage.conditions()["RolledBack"]["status"] == "True"
    assert [each.reason for each in stage.events if each.reason in ("TakenOut", "BroughtBack")] == ["TakenOut"]
    stage.restart()
    await stage.run(120)
    assert (stage.cluster.status["phase"], stage.args) == ("RolledBack", BASELINE)
    stage.sis["annotations"] = {"specdec.io/retry": "now"}
    await stage.run(1)
    assert stage.args == SPECULATES
    assert stage.cluster.child["metadata"]["annotations"] == ALLOWED
    stage.serve(busy(), args=SPECULATES)
    await stage.until("Watching")
    assert [verb for verb, _ in stage.cluster.calls if verb != "status"] == ["patch", "patch"]
    assert "BroughtBack" in [each.reason for each in stage.events]


async def test_without_permission_enforce_observes_and_shows_how_to_give_it() -> None:
    """Nothing is written."""
    stage, engine = await enforced({})
    engine.acceptance = 0.0
    await stage.run(60)
    said = stage.conditions()["Enforcing"]
    assert (said["status"], said["reason"]) == ("False", "NotAllowed")
    assert "kubectl annotate isvc theirs specdec.io/enforce=true" in said["message"]
    assert stage.cluster.status["guard"]["would"]["action"] == "RollBack"
    assert {verb for verb, _ in stage.cluster.calls} == READ_ONLY


async def test_a_flag_that_the_owner_restores_is_the_decision_of_the_owner() -> None:
    """The guard does not remove it again, however bad the draft. The status shows it until
    the owner removes the annotation.
    """
    stage = await taken_out()
    bad = busy(acceptance=0.0)
    stage.serve(bad, args=SPECULATES)
    await stage.run(120)
    assert stage.conditions()["Enforcing"]["reason"] == "PutBack"
    assert (stage.cluster.status["phase"], stage.args) == ("Watching", SPECULATES)
    assert stage.cluster.status["guard"]["would"]["action"] == "RollBack"
    del stage.cluster.child["metadata"]["annotations"][KEPT]
    await stage.run(120)
    assert stage.args == BASELINE


async def test_a_change_of_the_owner_in_that_moment_is_not_lost() -> None:
    """The patch tests the version. The next try starts from the current object."""
    stage, engine = await enforced()
    engine.acceptance = 0.0
    patch, changed = stage.cluster.patch, [*SPECULATES, "--max-model-len=100"]

    async def too_late(manifest: Body, changes: Any, *, dry_run: bool = False) -> Body:
        stage.cluster.patch = patch  # type: ignore[method-assign]
        stage.predictor["model"]["args"] = changed
        return await patch(manifest, changes, dry_run=dry_run)

    stage.cluster.patch = too_late  # type: ignore[method-assign]
    await stage.until("Responding")
    await stage.run(20)
    assert stage.args == [*BASELINE, "--max-model-len=100"]


async def test_flags_that_were_changed_since_are_not_written_over() -> None:
    """What is brought back would undo what their owner did."""
    stage = await taken_out()
    stage.serve(busy(speculative=False), args=[*BASELINE, "--max-model-len=100"])
    stage.sis["annotations"] = {"specdec.io/retry": "now"}
    await stage.run(60)
    assert stage.conditions()["Enforcing"]["reason"] == "ChangedSince"
    assert stage.args == [*BASELINE, "--max-model-len=100"]
