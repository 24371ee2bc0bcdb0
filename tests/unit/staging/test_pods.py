"""The pods that KServe makes of each layout: everything mounted where the engine looks, nothing dropped or nested.

The stand-in of KServe's controller makes them; it is held to recordings of the real one, and so are the layouts.
"""

import os
import pathlib
import re
from typing import Any

import pytest
import yaml
from tests.kserve_standin import render as standin
from tests.kserve_standin.model import Config
from tests.kserve_standin.runtimes import runtime_of
from tests.unit.builders import DRAFT, NAME, NAMESPACE, make_spec, make_state

from specdec_operator.api.spec import Owner
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from specdec_operator.staging.layout import DRAFT_PATH, TARGET_PATH
from specdec_operator.validation import schema

Json = dict[str, Any]
ROOT = pathlib.Path(__file__).parents[3]
RECORDED = ROOT / "tests" / "data" / "kserve" / "recorded"
ONCE: Json = {"mode": "PersistentVolumeClaim", "claim": {"storage": "20Gi"}}
SOURCES = {
    "hf": "hf://org/{}",
    "s3": "s3://bucket/{}/",
    "gs": "gs://bucket/{}",
    "https": "https://host/{}.tar.gz",
    "pvc": "pvc://models/{}",
    "other pvc": "pvc://{}s",
    "oci": "oci://registry.example/{}:1",
    "oci+native": "oci+native://registry.example/{}:1",
}
PAIRS = [(target, draft) for target in SOURCES for draft in [*SOURCES, "none", "inside"]]
REMOTE = ("hf", "s3", "gs", "https")


def sis(target: str, draft: str, staging: Json | None = None) -> Json:
    """The changes of a spec that name two sources; `inside` is a folder of the target's artifact."""
    lies = {"none": {}, "inside": {"path": "draft"}}.get(draft) or {"uri": SOURCES.get(draft, "").format("draft")}
    speculation = None if draft == "none" else DRAFT | {"draft": lies}
    model = {"uri": SOURCES[target].format("target")} | ({"path": "target"} if draft == "inside" else {})
    return {"model": model, "speculation": speculation} | ({"staging": staging} if staging else {})


def isvc(target: str, draft: str, staging: Json | None = None) -> Json:
    """The InferenceService of two sources."""
    return isvc_of(sis(target, draft, staging))


def isvc_of(spec: Json) -> Json:
    """The InferenceService of a spec."""
    planned = plan(make_spec(**spec), make_state(), name=NAME)
    return render(planned, Owner(name=NAME, namespace=NAMESPACE, uid="u-1")).manifest


def pod_of(manifest: Json) -> Json:
    """The pod that KServe makes of it, with the runtime of this project."""
    runtime = runtime_of(yaml.safe_load((ROOT / "manifests" / "runtimes" / "cpu.yaml").read_text()))
    made: Json = standin.render(manifest, runtime, Config()).deployment["spec"]["template"]["spec"]
    return made


def mounted(pod: Json) -> dict[str, Json]:
    """What the engine's container has mounted, by path: the volume's source, its folder, whether it is read-only."""
    (engine,) = (each for each in pod["containers"] if each["name"] == "kserve-container")
    sources = {each["name"]: {key: part for key, part in each.items() if key != "name"} for each in pod["volumes"]}
    for source in sources.values():
        source.get("persistentVolumeClaim", {}).pop("readOnly", None)
    return {
        each["mountPath"]: sources[each["name"]]
        | {"subPath": each.get("subPath", ""), "readOnly": each.get("readOnly", False)}
        for each in engine["volumeMounts"]
        if each["mountPath"] != "/dev/shm"  # noqa: S108 - the runtime's own
    }


def brought(pod: Json) -> set[str]:
    """Claims, images and URIs that come into a pod."""
    volumes = pod["volumes"]
    claims = {
        f"pvc://{each['persistentVolumeClaim']['claimName']}" for each in volumes if "persistentVolumeClaim" in each
    }
    native = {f"oci+native://{each['image']['reference']}" for each in volumes if "image" in each}
    cars = {f"oci://{each['image']}" for each in pod["containers"] if each["name"].startswith("modelcar")}
    (words,) = [each["args"] for each in pod.get("initContainers", ()) if each["name"] == "storage-initializer"] or [()]
    return claims | native | cars | set(words[::2])


@pytest.mark.parametrize(("target", "draft"), PAIRS)
def test_every_mix_is_mounted_whole(target: str, draft: str) -> None:
    """At the paths in the flags; no mount in another, no volume twice, all of it read-only but the Modelcars' links."""
    manifest = isvc(target, draft)
    pod = pod_of(manifest)
    found = mounted(pod)
    named = {target, draft} & set(SOURCES)
    uris = [SOURCES[target].format("target"), *([SOURCES[draft].format("draft")] if draft in SOURCES else [])]
    assert brought(pod) == {"/".join(uri.split("/")[:3]) if uri.startswith("pvc") else uri for uri in uris}
    assert not [(one, other) for one in found for other in found if other.startswith(f"{one}/")]
    for flag in manifest["spec"]["predictor"]["model"]["args"]:
        for place in (TARGET_PATH, DRAFT_PATH):
            assert place not in flag or any(place.startswith(path) for path in found)
    assert all(source["readOnly"] or "emptyDir" in source for source in found.values())
    assert ("shareProcessNamespace" in pod) == ("oci" in named)
    claims = [str(each["persistentVolumeClaim"]) for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert len(claims) == len(set(claims))


@pytest.mark.parametrize("target", [each for each in SOURCES if not each.startswith("oci")])
@pytest.mark.parametrize("draft", [each for each in SOURCES if not each.startswith("oci")])
def test_a_job_leaves_claims_only(target: str, draft: str) -> None:
    """Pods that restart download nothing, whatever KServe's version."""
    pod = pod_of(isvc(target, draft, ONCE))
    assert all(each.startswith("pvc://") for each in brought(pod))
    assert "initContainers" not in pod
    assert (f"pvc://{NAME}-models" in brought(pod)) == bool({target, draft} & set(REMOTE))
    assert set(mounted(pod)) == {TARGET_PATH, DRAFT_PATH}


def recording(name: str) -> tuple[Json, Json]:
    """What the real controller was given, and the pod that it made: with the slash that we give every s3 folder."""
    text = (RECORDED / f"{name}.yaml").read_text()
    recorded = yaml.safe_load(re.sub(r"(s3://\S+[^/\s])$", r"\1/", text, flags=re.MULTILINE))
    deployment = next(each for each in recorded["objects"] if each["kind"] == "Deployment")
    return recorded["input"]["spec"]["predictor"], deployment["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("name", "target", "draft"),
    [
        ("hf-pair", "hf", "hf"),
        ("hf-target-s3-draft", "hf", "s3"),
        ("oci-draft-hf-target", "hf", "oci"),
        ("oci-pair", "oci", "oci"),
    ],
)
def test_what_kserve_brings_is_asked_for_as_in_the_recording(name: str, target: str, draft: str) -> None:
    """The same storageUris, so the same containers and mounts, down to the last argument."""
    asked, made = recording(name)
    planned = sis(target, draft)
    planned["model"]["uri"] = asked["storageUris"][0]["uri"]  # one recording names a revision
    wanted = isvc_of(planned)
    assert wanted["spec"]["predictor"]["storageUris"] == asked["storageUris"]
    pod = pod_of(wanted)
    assert mounted(pod) == mounted(made)
    for kind in ("containers", "initContainers"):
        ours = {each["name"]: (each.get("image"), each["args"]) for each in pod.get(kind, ())}
        theirs = {each["name"]: (each.get("image"), each["args"]) for each in made.get(kind, ())}
        ours.pop("kserve-container", None)
        theirs.pop("kserve-container", None)
        assert ours == theirs


def test_two_folders_of_one_claim_are_mounted_as_in_the_recording() -> None:
    """One volume, under another name than any that KServe makes."""
    pod, (_, made) = pod_of(isvc("pvc", "pvc")), recording("pvc-same-claim-subpaths")
    assert mounted(pod) == mounted(made)
    assert {each["name"] for each in pod["volumes"]} == {"shm", "specdec-target"}


def test_image_volumes_are_those_of_kserves_native_mode() -> None:
    """And an API server without the feature gate drops them, as it did when that was recorded: without a word."""
    asked, made = recording("oci-native-pair")
    runtimes = yaml.safe_load_all((RECORDED.parent / "runtimes.yaml").read_text())
    runtime = next(runtime_of(each) for each in runtimes if each["metadata"]["name"] == "rt")
    theirs: Json = yaml.safe_load((RECORDED / "oci-native-pair.yaml").read_text())["input"]
    sent = standin.render(theirs, runtime, Config()).deployment["spec"]["template"]["spec"]
    pod = pod_of(isvc("oci+native", "oci+native"))
    assert mounted(pod) == mounted(sent)
    assert mounted(made) == {}
    assert not {each["name"] for each in pod["volumes"] if "image" in each} & {each["name"] for each in sent["volumes"]}
    assert [each["uri"].partition(":")[0] for each in asked["storageUris"]] == ["oci+native"] * 2


def test_two_claims_are_mounted_where_kserve_would() -> None:
    """KServe would leave out the folder of each, so the volumes are ours."""
    asked, made = recording("pvc-pair-two-claims")
    assert [each["uri"] for each in asked["storageUris"]] == ["pvc://claim-a", "pvc://claim-b"]
    pod = pod_of(
        isvc_of({"model": {"uri": "pvc://claim-a"}, "speculation": DRAFT | {"draft": {"uri": "pvc://claim-b"}}})
    )
    assert mounted(pod) == mounted(made)


@pytest.mark.skipif("KSERVE_CRDS" not in os.environ, reason="KSERVE_CRDS names no folder with KServe's own CRDs")
def test_kserves_own_crd_takes_every_mix() -> None:
    """Its schema knows every field that is rendered: an unknown one would be dropped without a word."""
    file = pathlib.Path(os.environ["KSERVE_CRDS"]) / "serving.kserve.io_inferenceservices.yaml"
    crd = yaml.load(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe one
    (version,) = (each for each in crd["spec"]["versions"] if each["name"] == "v1beta1")
    kserve = version["schema"]["openAPIV3Schema"]
    for target, draft in PAIRS:
        for staging in (None, ONCE):
            if staging and any(each.startswith("oci") for each in (target, draft)):
                continue
            manifest = isvc(target, draft, staging)
            assert list(schema.problems(manifest["spec"], kserve["properties"]["spec"], "spec")) == []
    broken = isvc("hf", "s3")["spec"]
    broken["predictor"]["storageUris"][0] = {"uri": "hf://org/target", "path": "/mnt/target/model"}
    assert [each.path for each in schema.problems(broken, kserve["properties"]["spec"], "spec")] == [
        "spec.predictor.storageUris[0].path"
    ]
