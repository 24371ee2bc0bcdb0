"""Revisions of pods that carry none of our labels."""

from typing import Any

from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.guest.view import Guest, GuestPods, guest_pod, is_of, parsed_engine, view

REF = GuestRef(kind=GuestKind.INFERENCE_SERVICE, name="theirs", field="spec.inferenceServiceRef.name")
WHERE = GuestPods(selector="x=y", deployment="theirs-predictor")
ARGS = ["--model=/m", "--speculative-config={}"]
IMAGE = "docker.io/vllm/vllm-openai:v0.11.0"


def pod(
    name: str, *args: str, image: str = IMAGE, made_by: str = "theirs-predictor-1", **labels: str
) -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": made_by, "controller": True}
    return {
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner], "creationTimestamp": name},
        "spec": {"containers": [{"name": "kserve-container", "image": image, "args": list(args or ARGS)}]},
        "status": {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def seen(*pods: dict[str, Any], updated: int = 1, args: list[str] = ARGS) -> Guest:
    template: dict[str, Any] = {"spec": {"containers": [{"name": "kserve-container", "image": IMAGE, "args": args}]}}
    status = {"replicas": 1, "updatedReplicas": updated, "availableReplicas": 1, "observedGeneration": 1}
    spec = {"replicas": 1, "template": template}
    deployment = {"metadata": {"name": "theirs-predictor", "generation": 1}, "spec": spec, "status": status}
    made = [
        guest_pod(each, engine)
        for each in pods
        if is_of(each, WHERE.deployment) and (engine := parsed_engine(each["spec"]))
    ]
    return view(REF, WHERE, {}, deployment, parsed_engine(template["spec"]), made)


def test_pods_that_run_the_same_have_one_revision() -> None:
    """A mirror's image is the same image; another flag, tag or speculation is not."""
    alike = seen(pod("a"), pod("b", image="mirror.example/vllm/vllm-openai:v0.11.0@sha256:0"))
    assert {each.revision for each in alike.pods} == {alike.revision}
    other = seen(pod("a"), pod("b", "--model=/m"), pod("c", "--model=/n", ARGS[1]), pod("d", image="vllm-openai:v0.12"))
    assert len({each.revision for each in other.pods}) == 4


def test_what_speculates_differently_is_the_same_service() -> None:
    """What the guard learnt of the baseline holds for it."""
    assert seen(pod("a"), args=ARGS).base == seen(pod("a", "--model=/m"), args=["--model=/m"]).base
    assert seen(pod("a"), args=ARGS).base != seen(pod("a", "--model=/n"), args=["--model=/n"]).base


def test_pods_that_admission_rewrote_count_as_the_requested_pods() -> None:
    """Once the Deployment reports that all pods are new. Before that, its own template defines the requested pods."""
    rewritten = pod("a", *ARGS, "--added-by-a-webhook")
    assert seen(rewritten).revision == seen(rewritten).pods[0].revision
    assert seen(rewritten, updated=0).revision != seen(rewritten).pods[0].revision


def test_others_of_its_label_are_not_its_pods() -> None:
    """A transformer, and pods of another Deployment."""
    guest = seen(pod("a"), pod("b", component="transformer"), pod("c", made_by="theirs-canary-1"))
    assert [each.name for each in guest.pods] == ["a"]
