"""Every sample is taken by a real API server; so is a download of a private model, which has its credentials."""

import pathlib
from typing import Final

import pytest
import yaml

from specdec_operator.api.spec import Owner, Spec
from specdec_operator.downloads.job import job_manifest
from specdec_operator.guard.state import Phase, State
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import Plan, plan
from tests.unit.deploy.test_manifests_samples import FOLDER
from tests.wire.api import SIS, Api, Object

PATHS: Final = {
    "Secret": "/api/v1/namespaces/default/secrets",
    "ServiceAccount": "/api/v1/namespaces/default/serviceaccounts",
    "SpeculativeInferenceService": Api.path(SIS, "default"),
}
CRD: Final = FOLDER.parents[1] / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml"


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
    model = render(made, owner).manifest["spec"]["predictor"]["model"]
    assert [each["name"] for each in model["env"]] == ["SPECDEC_ENGINE"]
