"""Namespaces that enforce Pod Security's level `restricted`: the API server's own admission takes our pods.

The pods are rendered by the operator and the stand-in of KServe's controller from the runtimes as they are shipped.
"""

import copy
import json
import pathlib
import uuid
from typing import Any

import pytest
import yaml

from specdec_operator.api.spec import Owner, Spec
from specdec_operator.downloads.job import job_manifest
from specdec_operator.guard.state import Phase, State
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from specdec_operator.staging.layout import Download
from tests.kserve_standin import render as kserve
from tests.kserve_standin.model import Around, Config
from tests.kserve_standin.runtimes import runtime_of
from tests.wire.api import POD, SIS, Api, Object, Refused
from tests.wire.faults.table import Part, fault

ROOT = pathlib.Path(__file__).parents[2]
RUNTIMES = sorted(path for path in (ROOT / "manifests" / "runtimes").glob("*.yaml") if "kustom" not in path.name)
CLAIM, HUB, IMAGE = "pvc://models/llama", "hf://org/llama:main", "oci://registry.example/llama:1"
LEVEL = "pod-security.kubernetes.io/enforce"
OWNER = Owner(name="llama", namespace="team-a", uid="u-1")
REFUSED = r'violates PodSecurity "restricted:latest".*'


def runtime(path: pathlib.Path) -> Object:
    """A shipped ClusterServingRuntime."""
    found: Object = yaml.safe_load(path.read_text())
    return found


def said(shipped: Object) -> Object:
    """The securityContext of its container."""
    (container,) = shipped["spec"]["containers"]
    found: Object = container["securityContext"]
    return found


def engine_pod(shipped: Object, uri: str, storage: Object | None = None, more: Object | None = None) -> Object:
    """The pod that KServe makes of a service on this runtime. storage: the container of its ClusterStorageContainer.

    more: further parts of the service's spec.
    """
    engine = {"accelerator": shipped["metadata"]["name"].split("-")[1]}
    spec = Spec.model_validate({"model": {"uri": uri}, "engine": engine} | (more or {}))
    isvc = render(plan(spec, State(phase=Phase.WATCHING, since=0.0, speculation=""), name=OWNER.name), OWNER).manifest
    uris = [{"prefix": prefix} for prefix in ("hf://", "oci://")]
    container = {"name": "storage-initializer", "image": "i", **(storage or {})}
    body = {"container": container, "supportedUriFormats": uris, "supportsMultiModelDownload": True}
    around = Around(containers=({"metadata": {"name": "default"}, "spec": body},))
    made = kserve.render(isvc, runtime_of(shipped), Config(modelcar_user=1010), around)
    template: Object = made.deployment["spec"]["template"]
    return {"metadata": {"name": OWNER.name, "labels": template["metadata"]["labels"]}, "spec": template["spec"]}


def download_pod() -> Object:
    """The pod of a download Job."""
    download = Download(name="target", uri=HUB, key="0123456789abcdef")
    words: dict[str, Any] = {"claim": "llama-models", "staging": {}, "pod": {}, "keep": (), "attempt": 1}
    template: Object = job_manifest(OWNER, download, image="i", **words)["spec"]["template"]
    return {"metadata": template["metadata"] | {"name": "llama-target"}, "spec": template["spec"]}


def bare(pod: Object) -> Object:
    """The pod without all that it says about its security."""
    pod = copy.deepcopy(pod)
    for part in (pod["spec"], *pod["spec"]["containers"]):
        part.pop("securityContext", None)
    return pod


@pytest.fixture
async def restricted(api: Api) -> str:
    """A namespace that enforces the level."""
    name = f"restricted-{uuid.uuid4().hex[:8]}"
    await api.call("post", "/api/v1/namespaces", {"metadata": {"name": name, "labels": {LEVEL: "restricted"}}})
    return name


async def admitted(api: Api, namespace: str, pod: Object) -> None:
    """Asks the API server for the pod, which then is not made. Raises Refused."""
    await api.call("post", api.path(POD, namespace), pod, query_params=[("dryRun", "All")])


@pytest.mark.parametrize("path", RUNTIMES, ids=lambda path: path.stem)
async def test_the_pods_of_every_shipped_runtime_are_let_in(api: Api, restricted: str, path: pathlib.Path) -> None:
    """And would not be without what their container says."""
    pod = engine_pod(runtime(path), CLAIM)
    await admitted(api, restricted, pod)
    with pytest.raises(Refused, match=REFUSED):
        await admitted(api, restricted, bare(pod))


def said_by_the_user() -> Object:
    """A service whose user says all that can be said of pods, and volumes of every kind."""
    spec: Object = yaml.safe_load((ROOT / "manifests" / "samples" / "production-pod.yaml").read_text())["spec"]
    kinds: Object = {
        "emptyDir": {},
        "projected": {"sources": [{"configMap": {"name": "bundle"}}]},
        "persistentVolumeClaim": {"claimName": "states"},
        "csi": {"driver": "secrets-store.csi.k8s.io", "readOnly": True},
    }
    spec["pod"]["volumes"] += [{"name": kind.lower(), kind: source} for kind, source in kinds.items()]
    return {"pod": spec["pod"], "engine": spec["engine"]}


async def test_what_a_user_says_is_let_in_even_where_the_runtime_says_nothing(api: Api, restricted: str) -> None:
    """And without what is said the same pod is refused."""
    silent = runtime(RUNTIMES[0])
    del silent["spec"]["containers"][0]["securityContext"]
    pod = engine_pod(silent, CLAIM, more=said_by_the_user())
    assert {each["name"] for each in pod["spec"]["volumes"]} >= {"chat-templates", "cache", "csi", "projected"}
    await admitted(api, restricted, pod)
    with pytest.raises(Refused, match=REFUSED):
        await admitted(api, restricted, bare(pod))


MORE = {
    "spec.pod.volumes[0]": {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
    "spec.pod.securityContext.runAsUser": {"securityContext": {"runAsUser": 0}},
    "spec.pod.securityContext.runAsNonRoot": {"securityContext": {"runAsNonRoot": False}},
    "sysctls": {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}},
    "hostNetwork": {"hostNetwork": True},
}
IN_ENGINE = {
    "spec.engine.securityContext.runAsUser": {"runAsUser": 0},
    "spec.engine.securityContext.allowPrivilegeEscalation": {"allowPrivilegeEscalation": True},
    "spec.engine.securityContext.capabilities.drop": {"capabilities": {"drop": ["NET_RAW"]}},
    "add": {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
    "privileged": {"privileged": True},
    "procMount": {"procMount": "Unmasked"},
}


@pytest.mark.parametrize("validation", ["Strict", "Ignore"])
@pytest.mark.parametrize("field", [*MORE, *IN_ENGINE])
async def test_a_tenant_cannot_ask_for_more_than_the_level_allows(api: Api, field: str, validation: str) -> None:
    """The API server refuses the field, or drops it where its client wants it so; nothing of it is ever rendered."""
    parts: Object = {"pod": MORE[field]} if field in MORE else {"engine": {"securityContext": IN_ENGINE[field]}}
    spec = {"model": {"uri": CLAIM}, **parts}
    body = {"apiVersion": SIS[0], "kind": "SpeculativeInferenceService", "metadata": {"name": "asked"}, "spec": spec}
    words = [("dryRun", "All"), ("fieldValidation", validation)]
    try:
        kept = await api.call("post", api.path(SIS, "default"), body, query_params=words)
    except Refused as refused:
        assert field in str(refused)  # noqa: PT017 - whether it is refused depends on the field
        return
    assert validation == "Ignore"
    assert f'"{field}"' not in json.dumps(kept["spec"])


@fault(
    part=Part.CLUSTER,
    when="a namespace enforces Pod Security `restricted`",
    then="the pods of this project's runtimes and of downloads are admitted",
)
async def test_the_pod_of_a_download_is_let_in(api: Api, restricted: str) -> None:
    """And would not be without what it says."""
    await admitted(api, restricted, download_pod())
    with pytest.raises(Refused, match=REFUSED):
        await admitted(api, restricted, bare(download_pod()))


async def test_kserves_own_download_is_let_in_where_its_storage_container_says_the_same(
    api: Api, restricted: str
) -> None:
    """KServe gives its init container none of the engine's; the administrator's ClusterStorageContainer does."""
    shipped = runtime(RUNTIMES[0])
    with pytest.raises(Refused, match=REFUSED + "storage-initializer"):
        await admitted(api, restricted, engine_pod(shipped, HUB))
    await admitted(api, restricted, engine_pod(shipped, HUB, {"securityContext": said(shipped)}))


async def test_modelcars_are_not_let_in(api: Api, restricted: str) -> None:
    """Nobody can tell KServe what their containers are to say: such a namespace needs another way for the model."""
    with pytest.raises(Refused, match=REFUSED + "modelcar"):
        await admitted(api, restricted, engine_pod(runtime(RUNTIMES[0]), IMAGE))
