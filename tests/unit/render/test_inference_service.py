"""What is rendered for a sis: golden InferenceServices, and when their pods' revision changes."""

from typing import Any

import pytest
from tests.unit.builders import (
    DRAFT,
    NAME,
    NAMESPACE,
    Body,
    make_good,
    make_reduction,
    make_rollback,
    make_spec,
    make_state,
)
from tests.unit.render.accelerated import ASCEND, NVIDIA, sample

from specdec_operator.api.spec import Owner
from specdec_operator.guard.state import Phase, State
from specdec_operator.render.inference_service import Rendered, render
from specdec_operator.render.plan import plan
from tests import golden

OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
NGRAM: Body = {"method": "ngram", "tokens": 3, "ngram": {"lookupMin": 2, "lookupMax": 6}}
EVERYTHING: Body = {
    "model": {"uri": "pvc://models/llama", "path": "target", "name": "llama-8b"},
    "speculation": {"method": "draft_model", "tokens": 2, "draft": {"uri": "pvc://drafts", "path": "llama/draft"}},
    "engine": {
        "accelerator": "nvidia",
        "runtime": "team-runtime",
        "instrument": "Image",
        "maxModelLen": 4096,
        "maxNumSeqs": 64,
        "gpuMemoryUtilization": 0.85,
        "enforceEager": True,
        "args": ["--seed=7"],
        "env": [{"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"}],
    },
    "resources": {"limits": {"nvidia.com/gpu": "1"}},
    "replicas": 2,
    "pod": {
        "nodeSelector": {"gpu": "h200"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "serviceAccountName": "reader",
        "imagePullSecrets": [{"name": "registry"}],
        "labels": {"team": "a"},
        "annotations": {"note": "x"},
    },
    "rollout": {"strategy": "Replace", "deadline": "10m"},
}
DOWNLOADED: Body = {
    "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct:0e9e39f2"},
    "speculation": {"method": "eagle3", "tokens": 3, "draft": {"uri": "oci://registry.example/llama-eagle3:1"}},
}
ONCE: Body = {
    "model": {"uri": "s3://models/llama", "path": "target"},
    "speculation": {"method": "eagle3", "tokens": 3, "draft": {"uri": "hf://yuhuili/EAGLE3-LLaMA3.1-Instruct-8B:main"}},
    "staging": {"mode": "PersistentVolumeClaim", "claim": {"storage": "40Gi"}, "exclude": ["*.bin"]},
}
IMAGES: Body = {
    "model": {"uri": "oci+native://registry.example/pair:1", "path": "target"},
    "speculation": {"method": "eagle3", "tokens": 3, "draft": {"path": "draft"}},
}
SURGE: Body = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
ROLLED_BACK = make_state(Phase.ROLLED_BACK, rollback=make_rollback())


def rendered(state: State | None = None, **spec: Any) -> Rendered:
    return render(plan(make_spec(**spec), state or make_state(), name=NAME), OWNER)


CASES: dict[str, Rendered] = {
    "draft-model-one-claim": rendered(),
    "draft-model-two-claims-everything-set": rendered(**EVERYTHING),
    "ngram": rendered(speculation=NGRAM),
    "lora-adapters": rendered(**sample("lora-adapters")),
    "production-pod": rendered(**sample("production-pod")),
    "autoscaling-hpa": rendered(**sample("autoscaling-hpa")),
    "autoscaling-keda": rendered(**sample("autoscaling-keda")),
    "autoscaling-hpa-rolled-back": rendered(ROLLED_BACK, **sample("autoscaling-hpa")),
    "rolled-back": rendered(ROLLED_BACK),
    "plain": rendered(speculation=None),
    "stock-vllm": rendered(**sample("stock-vllm")),
    "stock-vllm-rolled-back": rendered(ROLLED_BACK, **sample("stock-vllm")),
    "foreign-runtime": rendered(engine={"accelerator": "nvidia", "runtime": "platform-vllm", "port": 8000}),
    "hub-target-modelcar-draft": rendered(**DOWNLOADED),
    "downloaded-once": rendered(**ONCE),
    "image-volume-with-both": rendered(**IMAGES),
    "ascend-rolled-back": rendered(ROLLED_BACK, **ASCEND["ascend-mtp-block-verify"]),
    **{name: rendered(**spec) for name, spec in (ASCEND | NVIDIA).items()},
}


@pytest.mark.parametrize("name", CASES)
def test_the_rendered_inference_service_is_the_golden_one(name: str) -> None:
    """`SPECDEC_GOLDEN=write` rewrites the files; review the difference."""
    assert CASES[name].manifest == golden.expected(name, CASES[name].manifest)


@pytest.mark.parametrize("name", ASCEND | NVIDIA)
def test_what_is_shown_for_an_accelerator_is_refused_by_no_rule(name: str) -> None:
    """A golden file of what no engine starts with would be an example of a mistake."""
    assert plan(make_spec(**(ASCEND | NVIDIA)[name]), make_state(), name=NAME).refused == ()


def test_every_golden_file_belongs_to_a_case() -> None:
    """A file that nothing is compared with would rot."""
    assert golden.names() == sorted(CASES)


def test_equal_specs_render_equally() -> None:
    """Twice the same, whatever the order of keys: an apply of it changes nothing."""
    turned = {key: EVERYTHING[key] for key in reversed(EVERYTHING)}
    assert rendered(**EVERYTHING) == rendered(**turned)


CHANGES: dict[str, tuple[State | None, Body]] = {
    "target": (None, {"model": {"uri": "pvc://models/other"}}),
    "target from the hub": (None, {"model": {"uri": "hf://a/b:1"}}),
    "another revision": (None, {"model": {"uri": "hf://a/b:2"}}),
    "downloaded once": (None, {"model": {"uri": "hf://a/b:1"}, "staging": ONCE["staging"]}),
    "other files": (None, {"model": {"uri": "hf://a/b:1"}, "staging": ONCE["staging"] | {"exclude": ["*.md"]}}),
    "target folder": (None, {"model": {"uri": "pvc://models/target", "path": "v2"}}),
    "served name": (None, {"model": {"uri": "pvc://models/target", "name": "x"}}),
    "method": (None, {"speculation": NGRAM}),
    "K": (None, {"speculation": DRAFT | {"tokens": 2}}),
    "draft": (None, {"speculation": DRAFT | {"draft": {"uri": "pvc://models/other"}}}),
    "no speculation": (None, {"speculation": None}),
    "rolled back": (ROLLED_BACK, {}),
    "fewer tokens": (make_state(reduced=make_reduction(3)), {}),
    "the last good one": (make_state(rollback=make_rollback(good=make_good())), {}),
    "accelerator": (None, {"engine": {"accelerator": "nvidia"}}),
    "runtime": (None, {"engine": {"accelerator": "cpu", "runtime": "mine"}}),
    "longest sequence": (None, {"engine": {"accelerator": "cpu", "maxModelLen": 512}}),
    "batch": (None, {"engine": {"accelerator": "cpu", "maxNumSeqs": 8}}),
    "memory": (None, {"engine": {"accelerator": "cpu", "gpuMemoryUtilization": 0.5}}),
    "eager": (None, {"engine": {"accelerator": "cpu", "enforceEager": True}}),
    "flags": (None, {"engine": {"accelerator": "cpu", "args": ["--seed=1"]}}),
    "env": (None, {"engine": {"accelerator": "cpu", "env": [{"name": "A", "value": "b"}]}}),
    "resources": (None, {"resources": {"limits": {"cpu": "2"}}}),
    "node selector": (None, {"pod": {"nodeSelector": {"a": "b"}}}),
    "tolerations": (None, {"pod": {"tolerations": [{"operator": "Exists"}]}}),
    "affinity": (None, {"pod": {"affinity": {"nodeAffinity": {}}}}),
    "service account": (None, {"pod": {"serviceAccountName": "a"}}),
    "pull secrets": (None, {"pod": {"imagePullSecrets": [{"name": "a"}]}}),
    "priority": (None, {"pod": {"priorityClassName": "high"}}),
    "pod labels": (None, {"pod": {"labels": {"a": "b"}}}),
    "pod annotations": (None, {"pod": {"annotations": {"a": "b"}}}),
    "autoscaler": (None, {"autoscaling": {"maxReplicas": 2}}),
    "somebody else's scaler": (None, {"autoscaling": {"autoscalerClass": "external"}}),
    "startTimeout": (None, {"engine": {"startTimeout": "5m"}}),
}


def test_every_change_has_a_revision_of_its_own() -> None:
    """The guard distinguishes pods by it. No two are equal; a service that is rolled back has the baseline's."""
    revisions = {what: rendered(state, **spec).revision for what, (state, spec) in CHANGES.items()}
    revisions["nothing"] = rendered().revision
    assert revisions.pop("rolled back") == revisions["no speculation"]
    assert len(set(revisions.values())) == len(revisions)


@pytest.mark.parametrize(
    "spec",
    [
        {"guard": {"failureLimit": 1, "mode": "Observe"}},
        {"generation": 7},
        {"engine": {"accelerator": "cpu", "args": []}},
        {"pod": {}},
        {"replicas": 3},
        {"rollout": {"strategy": "Replace"}},
        {"rollout": {"deadline": "2h", "maxSurge": "50%", "whenNoRoom": "Replace", "noRoomAfter": "5m"}},
    ],
)
def test_what_does_not_reach_the_pods_keeps_the_revision(spec: Body) -> None:
    """A stricter guard, a second pod or more patience restarts nothing."""
    assert rendered(**spec).revision == rendered().revision


def test_labels_and_annotations_of_the_user_are_on_the_inference_service_with_ours() -> None:
    """They make another revision, because KServe copies them to the pods; empty parts make none."""
    said = {"labels": {"networking.kserve.io/visibility": "cluster-local"}, "annotations": {"example.com/auth": "true"}}
    made, plain = rendered(inferenceService=said), rendered()
    meta, ours = made.manifest["metadata"], plain.manifest["metadata"]
    assert meta["labels"] == said["labels"] | ours["labels"]
    assert meta["annotations"] == said["annotations"] | ours["annotations"]
    assert made.manifest["spec"]["predictor"]["labels"].keys() == plain.manifest["spec"]["predictor"]["labels"].keys()
    changed = {part: rendered(inferenceService={part: said[part]}).revision for part in said}
    assert len({made.revision, plain.revision, *changed.values()}) == 4
    assert rendered(inferenceService={"labels": {}}).revision == plain.revision


@pytest.mark.parametrize(
    ("strategy", "replicas", "replacing", "rendered_strategy"),
    [
        ("Auto", 1, None, SURGE),
        ("Surge", 3, None, SURGE),
        ("Replace", 1, None, {"type": "Recreate"}),
        ("Replace", 3, None, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        ("Auto", 1, "this", {"type": "Recreate"}),
        ("Auto", 3, "this", {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        ("Auto", 1, "another", SURGE),
        ("Surge", 1, "this", {"type": "Recreate"}),
        ("Replace", 1, "this", {"type": "Recreate"}),
    ],
)
def test_surging_is_given_up_for_the_revision_that_finds_no_room(
    strategy: str, replicas: int, replacing: str | None, rendered_strategy: Body
) -> None:
    """The pods stay the same: only how they are replaced changes. A single pod can only be replaced by stopping it."""
    planned = plan(make_spec(rollout={"strategy": strategy}, replicas=replicas), make_state(), name=NAME)
    usual = render(planned, OWNER)
    made = render(planned, OWNER, usual.revision if replacing == "this" else replacing)
    assert made.manifest["spec"]["predictor"]["deploymentStrategy"] == rendered_strategy
    assert made.revision == usual.revision


@pytest.mark.parametrize(("engine", "seconds"), [({}, 1800), ({"startTimeout": "10m"}, 600)])
def test_the_startup_probe_lasts_as_long_as_a_start_may(engine: Body, seconds: int) -> None:
    """Else the kubelet kills an engine that is still loading."""
    probe = rendered(engine=engine).manifest["spec"]["predictor"]["model"]["startupProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] == seconds
