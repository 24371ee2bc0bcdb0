"""Every sample is taken by a real API server; those of private models bring their credentials where they are read."""

import pathlib
from typing import Any, Final

import pytest
import yaml

from specdec_operator.api.spec import Owner, Spec
from specdec_operator.downloads.job import job_manifest
from specdec_operator.guard.state import Phase, State
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import Plan, plan
from tests.kserve_standin import render as kserve
from tests.kserve_standin.model import Around, Config
from tests.kserve_standin.runtimes import runtime_of
from tests.unit.deploy.test_manifests_samples import FOLDER
from tests.wire.api import SIS, Api, Object
from tests.wire.test_pod_security import RUNTIMES

PATHS: Final = {
    "Secret": "/api/v1/namespaces/default/secrets",
    "ServiceAccount": "/api/v1/namespaces/default/serviceaccounts",
    "SpeculativeInferenceService": Api.path(SIS, "default"),
}
CRD: Final = FOLDER.parents[1] / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml"
CONTAINER: Final[Object] = {
    "container": {
        "name": "storage-initializer",
        "image": "i",
        "env": [{"name": "HF_ENDPOINT", "value": "https://hub"}],
    },
    "supportedUriFormats": [{"prefix": "hf://"}, {"prefix": "s3://"}],
    "supportsMultiModelDownload": True,
}


def objects(name: str) -> dict[str, Object]:
    """The objects of a sample, by kind."""
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / name).read_text())}


async def taken(api: Api, each: Object) -> Object:
    """The object as the API server would keep it. Raises Refused."""
    words = [("dryRun", "All"), ("fieldValidation", "Strict")]
    each["metadata"].pop("namespace", None)  # the demo's is not made here
    return await api.call("post", PATHS[each["kind"]], each, query_params=words)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
async def test_a_sample_is_taken(api: Api, path: pathlib.Path) -> None:
    """With strict validation, as kubectl asks for it."""
    for each in yaml.safe_load_all(path.read_text()):
        await taken(api, each)


def planned(service: Object) -> Plan:
    """What is served of a service, which no rule refuses."""
    made = plan(Spec.model_validate(service["spec"]), State(phase=Phase.WATCHING, since=0.0, speculation=""), name="s")
    assert made.refused == ()
    return made


async def initializer(api: Api, name: str, config: Config) -> dict[str, Any]:
    """Variables of KServe's download for a sample, by name, from what the API server keeps of it."""
    kept = {kind: await taken(api, each) for kind, each in objects(name).items()}
    service, secret, account = kept["SpeculativeInferenceService"], kept["Secret"], kept["ServiceAccount"]
    owner = Owner(name="s", namespace="default", uid="u-1")
    isvc = render(planned(service), owner).manifest
    assert isvc["spec"]["predictor"]["serviceAccountName"] == account["metadata"]["name"]
    container = {"metadata": {"name": "default"}, "spec": CONTAINER}
    around = Around(containers=(container,), account=account, secrets={secret["metadata"]["name"]: secret})
    made = kserve.render(isvc, runtime_of(yaml.safe_load(RUNTIMES[-1].read_text())), config, around).deployment
    assert made is not None
    pod = made["spec"]["template"]["spec"]
    (fetch,) = pod["initContainers"]
    (engine,) = pod["containers"]
    assert not {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY"} & {each["name"] for each in engine["env"]}
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in fetch["env"]}


async def test_the_token_and_the_mirror_reach_kserves_download(api: Api) -> None:
    """The token by the account's secret, the mirror by the ClusterStorageContainer; the engine has no token."""
    env = await initializer(api, "private-hub.yaml", Config())
    assert env["HF_TOKEN"] == {"secretKeyRef": {"name": "hugging-face", "key": "HF_TOKEN"}}
    assert env["HF_ENDPOINT"] == "https://hub"


async def test_the_keys_of_a_bucket_reach_kserves_download(api: Api) -> None:
    """With the endpoint that the secret's annotations name."""
    keys = {"s3_key_name": "AWS_ACCESS_KEY_ID", "s3_secret_name": "AWS_SECRET_ACCESS_KEY"}
    shipped = Config(**keys)
    env = await initializer(api, "private-bucket.yaml", shipped)
    assert env["AWS_SECRET_ACCESS_KEY"] == {"secretKeyRef": {"name": "bucket", "key": "AWS_SECRET_ACCESS_KEY"}}
    assert env["AWS_ENDPOINT_URL"] == "https://s3.example.com"


async def test_token_and_mirror_reach_a_download_that_is_made_once(api: Api) -> None:
    """They are in the Job, which the API server takes, and not in the engine."""
    service = await taken(api, objects("private-hub-once.yaml")["SpeculativeInferenceService"])
    made = planned(service)
    owner = Owner(name="s", namespace="default", uid="u-1")
    assert len(made.layout.downloads) == 2
    for each in made.layout.downloads:
        words: Object = {"claim": made.layout.claim, "staging": service["spec"]["staging"], "pod": {}, "keep": ()}
        job = job_manifest(owner, each, image="i", attempt=1, **words)
        await api.call("post", "/apis/batch/v1/namespaces/default/jobs", job, query_params=[("dryRun", "All")])
        env = {one["name"]: one for one in job["spec"]["template"]["spec"]["containers"][0]["env"]}
        assert env["HF_TOKEN"]["valueFrom"]["secretKeyRef"]["name"] == "hugging-face"
        assert env["HF_ENDPOINT"]["value"] == "https://hub.example.com"
    assert "env" not in render(made, owner).manifest["spec"]["predictor"]["model"]
