"""Namespaces that enforce Pod Security's level `restricted` admit the pods that KServe makes of our services."""

import asyncio
import copy

import pytest
import yaml

from specdec_operator.api.spec import Owner, Spec
from specdec_operator.guard.state import Phase, State
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from specdec_operator.staging.kserve import KServe
from tests.kserve.made import CONTAINERS, ROOT, Made, Place, named, shipped
from tests.wire.api import POD, Object, Refused

CLAIM, HUB, IMAGE = "pvc://models/llama", "hf://org/llama:main", "oci://registry.example/llama:1"
LEVEL = "pod-security.kubernetes.io/enforce"
OPERATOR = "registry.example/specdec-operator:1"
OWNER = Owner(name="llama", namespace="team-a", uid="u-1")
REFUSED = r'violates PodSecurity "restricted:latest".*'


async def made_of(
    place: Place,
    runtime: Object,
    uri: str,
    more: Object | None = None,
    *,
    container: str = "",
    kserve: KServe | None = None,
) -> Made:
    """What KServe makes of a service on a runtime. more: further parts of its spec. container: for its downloads."""
    name, parts = runtime["metadata"]["name"], more or {}
    engine = parts.get("engine", {}) | {"accelerator": name.split("-")[1]}
    if "image" not in engine:
        engine["runtime"] = name
    spec = Spec.model_validate({"model": {"uri": uri}} | parts | {"engine": engine})
    state = State(phase=Phase.WATCHING, since=0.0, speculation="")
    isvc = render(plan(spec, state, name=OWNER.name, kserve=kserve or KServe()), OWNER).manifest
    if container:
        isvc["spec"]["predictor"]["storageContainerName"] = container
        isvc["metadata"]["name"] += "-2"
    return await place.make(isvc)


def bare(pod: Object) -> Object:
    """The pod without the security settings of its spec and its containers."""
    pod = copy.deepcopy(pod)
    for part in (pod, *pod["containers"], *pod.get("initContainers", ())):
        part.pop("securityContext", None)
    return pod


async def until_enforced(place: Place) -> None:
    """Waits until the API server's own watch has shown it the label: on a busy machine that takes a moment."""
    bad = {"metadata": {"name": "bad"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    for _ in range(600):
        try:
            await place.api.call("post", place.api.path(POD, place.namespace), bad, query_params=[("dryRun", "All")])
        except Refused as error:
            if "violates PodSecurity" in str(error):
                return
        await asyncio.sleep(0.1)
    raise AssertionError("the level is not enforced")


async def admitted(place: Place, spec: Object) -> None:
    """Ask the API server for a pod like one that is there, where the level is enforced. Raises Refused."""
    path = f"/api/v1/namespaces/{place.namespace}"
    label = {"metadata": {"labels": {LEVEL: "restricted"}}}
    await place.api.call("patch", path, label, content_type="application/merge-patch+json")
    await until_enforced(place)
    body = {"metadata": {"name": "asked"}, "spec": spec}
    await place.api.call("post", place.api.path(POD, place.namespace), body, query_params=[("dryRun", "All")])


@pytest.mark.parametrize("accelerator", ["cpu", "nvidia", "ascend"])
async def test_the_pods_of_every_shipped_runtime_are_admitted(place: Place, accelerator: str) -> None:
    """Without the security settings of their container they are refused."""
    pod = (await made_of(place, shipped(accelerator), CLAIM)).pod
    await admitted(place, pod)
    with pytest.raises(Refused, match=REFUSED):
        await admitted(place, bare(pod))


def said_by_the_user() -> Object:
    """A service whose user sets every field of the pod, with volumes of every kind."""
    spec: Object = yaml.safe_load((ROOT / "manifests" / "samples" / "production-pod.yaml").read_text())["spec"]
    kinds: Object = {
        "emptyDir": {},
        "projected": {"sources": [{"configMap": {"name": "bundle"}}]},
        "persistentVolumeClaim": {"claimName": "states"},
        "csi": {"driver": "secrets-store.csi.k8s.io", "readOnly": True},
    }
    spec["pod"]["volumes"] += [{"name": kind.lower(), kind: source} for kind, source in kinds.items()]
    return {"pod": spec["pod"], "engine": spec["engine"]}


async def test_settings_of_a_user_are_admitted_with_a_runtime_that_has_none(place: Place) -> None:
    """Without these settings the same pod is refused."""
    silent = named(shipped("nvidia"), f"silent-nvidia-{place.namespace}")
    del silent["spec"]["containers"][0]["securityContext"]
    await place.give(silent)
    pod = (await made_of(place, silent, CLAIM, said_by_the_user())).pod
    assert {each["name"] for each in pod["volumes"]} >= {"chat-templates", "cache", "csi", "projected"}
    await admitted(place, pod)
    with pytest.raises(Refused, match=REFUSED):
        await admitted(place, bare(pod))


async def test_kserves_own_download_is_admitted_with_a_storage_container_that_has_the_settings(place: Place) -> None:
    """KServe gives its init container none of the engine's; the administrator's ClusterStorageContainer does."""
    runtime = shipped("cpu")
    pod = (await made_of(place, runtime, HUB)).pod
    with pytest.raises(Refused, match=REFUSED + "storage-initializer"):
        await admitted(place, pod)
    own = place.namespace
    found = await place.api.call("get", f"{CONTAINERS}/default")
    context = {"securityContext": runtime["spec"]["containers"][0]["securityContext"]}
    spec = found["spec"] | {"container": found["spec"]["container"] | context}
    spec["supportedUriFormats"] = [{"prefix": f"hf://{own}/"}]
    body = {"apiVersion": found["apiVersion"], "kind": found["kind"], "metadata": {"name": own}, "spec": spec}
    await place.give(body)
    pod = (await made_of(place, runtime, f"hf://{own}/llama:main", container=own)).pod
    await admitted(place, pod)
    await place.api.call("delete", f"{CONTAINERS}/{own}")


async def test_modelcars_are_refused(place: Place) -> None:
    """KServe has no setting for the security of their containers: such a namespace needs another way for the model."""
    pod = (await made_of(place, shipped("cpu"), IMAGE)).pod
    with pytest.raises(Refused, match=REFUSED + "modelcar"):
        await admitted(place, pod)


async def test_pods_of_another_image_are_admitted_with_a_quota_for_all_resources(place: Place) -> None:
    """The init container sets what the level and the quota require. Each of them refuses the pod without that."""
    hard = {f"{which}.{what}": "100" for which in ("requests", "limits") for what in ("cpu", "memory")}
    hard |= {each: f"{amount}Gi" for each, amount in hard.items() if each.endswith("memory")}
    amounts = {"cpu": "1", "memory": "1Gi"}
    image = {"image": "docker.io/vllm/vllm-openai:v0.22.0", "version": "0.22.0"}
    parts = {"resources": {"requests": amounts, "limits": amounts}, "engine": image}
    pod = (await made_of(place, shipped("nvidia"), CLAIM, parts, kserve=KServe(operator_image=OPERATOR))).pod
    assert [each["name"] for each in pod["initContainers"]] == ["specdec-runtime"]
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"}, "spec": {"hard": hard}}
    await place.give(quota)
    used = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}  # as its controller counts
    await place.api.merge(("v1", "resourcequotas"), place.namespace, "team", used, "status")
    await admitted(place, pod)
    for part, words in (("securityContext", "violates PodSecurity"), ("resources", "must specify")):
        less = copy.deepcopy(pod)
        del less["initContainers"][0][part]
        with pytest.raises(Refused, match=words):
            await admitted(place, less)
