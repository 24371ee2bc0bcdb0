"""InferenceServices of every mix of sources, and what comes into a pod of them."""

import pathlib
from typing import Any

from specdec_operator.api.spec import Owner
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from tests.unit.builders import DRAFT, NAME, NAMESPACE, make_spec, make_state

Json = dict[str, Any]
ROOT = pathlib.Path(__file__).parents[3]
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
        if each["mountPath"] not in ("/dev/shm", "/tmp", "/etc/specdec/dial")  # noqa: S108 - the runtime's own
    }


def brought(pod: Json) -> set[str]:
    """The PVCs, images and URIs whose content a pod gets."""
    volumes = pod["volumes"]
    claims = {
        f"pvc://{each['persistentVolumeClaim']['claimName']}" for each in volumes if "persistentVolumeClaim" in each
    }
    native = {f"oci+native://{each['image']['reference']}" for each in volumes if "image" in each}
    cars = {f"oci://{each['image']}" for each in pod["containers"] if each["name"].startswith("modelcar")}
    (words,) = [each["args"] for each in pod.get("initContainers", ()) if each["name"] == "storage-initializer"] or [()]
    return claims | native | cars | set(words[::2])
