"""Namespaces that enforce Pod Security's level `restricted`: the API server's own admission takes our pods.

The pods are rendered by the operator and the stand-in of KServe's controller from the runtimes as they are shipped.
"""

import copy
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
from tests.wire.api import POD, Api, Object, Refused
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


def engine_pod(shipped: Object, uri: str, storage: Object | None = None) -> Object:
    """The pod that KServe makes of a service on this runtime. storage: the container of its ClusterStorageContainer."""
    engine = {"accelerator": shipped["metadata"]["name"].split("-")[1]}
    spec = Spec.model_validate({"model": {"uri": uri}, "engine": engine})
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


@fault(
    part=Part.CLUSTER,
    when="a namespace enforces Pod Security `restricted`",
    then="the pods of the shipped runtimes and of downloads are let in",
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
