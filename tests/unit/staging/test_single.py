"""One artifact comes by storageUri where this KServe has no storageUris for it, and by storageUris everywhere else."""

from typing import Any

import pytest
from tests.unit.builders import NAME, NAMESPACE, make_spec, make_state

from specdec_operator.api.spec import Owner
from specdec_operator.errors import Invalid
from specdec_operator.render.baseline_pods import render_baseline_pods
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.layout import lay_out

OLD = KServe(version=(0, 15), oci_mode="modelcar")
OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
NGRAM = {"method": "ngram", "tokens": 3}
EAGLE = {"method": "eagle3", "tokens": 3}


def predictor(model: dict[str, Any], speculation: dict[str, Any], kserve: KServe) -> dict[str, Any]:
    """What KServe is asked for; no rule refuses it."""
    made = plan(make_spec(model=model, speculation=speculation), make_state(), name=NAME, kserve=kserve)
    assert made.refused == ()
    asked: dict[str, Any] = render(made, OWNER).manifest["spec"]["predictor"]
    return asked


@pytest.mark.parametrize("uri", ["hf://org/llama:1", "s3://bucket/llama/", "oci://registry.example/llama:1"])
def test_the_target_alone_is_found_where_kserve_puts_it(uri: str) -> None:
    """Below its folder, where the artifact has more in it."""
    asked = predictor({"uri": uri, "path": "target"}, NGRAM, OLD)
    assert asked["model"]["storageUri"] == uri
    assert "storageUris" not in asked
    assert "--model=/mnt/models/target" in asked["model"]["args"]


def test_a_draft_inside_the_target_or_in_a_pvc_leaves_one_artifact() -> None:
    inside = predictor({"uri": "oci://a/pair:1", "path": "target"}, EAGLE | {"draft": {"path": "draft"}}, OLD)
    assert "/mnt/models/draft" in inside["model"]["args"][-2]
    claimed = predictor({"uri": "hf://org/llama:1"}, EAGLE | {"draft": {"uri": "pvc://models/head"}}, OLD)
    assert (claimed["model"]["storageUri"], claimed["model"]["args"][0]) == ("hf://org/llama:1", "--model=/mnt/models")
    assert "/mnt/draft/model" in claimed["model"]["args"][-2]
    draft = predictor({"uri": "pvc://models/llama"}, EAGLE | {"draft": {"uri": "hf://org/head:1"}}, OLD)
    assert (draft["model"]["storageUri"], draft["model"]["args"][0]) == ("hf://org/head:1", "--model=/mnt/target/model")


@pytest.mark.parametrize(
    "kserve",
    [KServe(), KServe(version=(0, 18)), KServe(version=(0, 20), multi_download=True), KServe(version=(0, 13))],
    ids=str,
)
def test_everywhere_else_nothing_changes(kserve: KServe) -> None:
    """A service that is up keeps its revision, and a KServe that was never read is asked for nothing new."""
    spec = {"model": {"uri": "hf://org/llama:1"}, "speculation": NGRAM}
    layout = lay_out(spec, name=NAME, kserve=kserve)
    assert layout == lay_out(spec, name=NAME) or kserve.version == (0, 13)
    assert (layout.storage_uri, len(layout.storage_uris)) == (None, 1)


def test_no_baseline_pods_are_made_without_their_model() -> None:
    """KServe's webhook brings it into KServe's own pods only."""
    asked = predictor({"uri": "hf://org/llama:1"}, NGRAM, OLD)
    with pytest.raises(Invalid, match="for its own pods only"):
        render_baseline_pods({"spec": {"template": {}}}, asked, asked, OWNER, 1)
