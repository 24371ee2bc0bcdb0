"""Which pods of a guest have a dial, and what is answered for those without."""

import pathlib
import re
from typing import Any

import pytest
import yaml
from tests.unit.builders import DRAFT, NAME, make_spec, make_state

from specdec_operator.api.guest import GuestKind, GuestRef
from specdec_operator.guest.dial import dial_revision, why_no_dial
from specdec_operator.guest.enforcement import Enforcement
from specdec_operator.names import REVISION_LABEL
from specdec_operator.render.instrument import dial_volume
from specdec_operator.render.plan import plan
from specdec_operator.staging.kserve import KServe
from specdec_runtime.dial import files

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "guests.md"
LABELS = {"pod-template-hash": "7f9c4d", REVISION_LABEL: "r1"}
SETTING = {"path": "setting", "fieldRef": {"fieldPath": "metadata.annotations['specdec.io/dial']"}}
REVISION = {"path": "revision", "fieldRef": {"fieldPath": "metadata.labels['pod-template-hash']"}}


def pod(*volumes: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"labels": LABELS}, "spec": {"volumes": list(volumes)}}


def downward(*items: dict[str, Any]) -> dict[str, Any]:
    return {"name": "any", "downwardAPI": {"items": list(items)}}


def test_what_the_page_shows_owners_to_add_is_a_dial() -> None:
    """Also where the runtime looks for it."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (predictor,) = (yaml.safe_load(each)["spec"]["predictor"] for each in blocks if "specdec-dial" in each)
    assert dial_revision(pod(*predictor["volumes"])) == "7f9c4d"
    (mount,) = predictor["model"]["volumeMounts"]
    assert (mount["name"], mount["mountPath"]) == (predictor["volumes"][0]["name"], str(files.folder()))


def test_a_rendered_pod_is_read_the_same() -> None:
    """Both ask for it in the same way."""
    volumes = dial_volume(plan(make_spec(speculation=DRAFT), make_state(), name=NAME, kserve=KServe()))
    assert dial_revision(pod(*volumes)) == "r1"


@pytest.mark.parametrize(
    "volumes",
    [
        (),
        ({"name": "cache", "emptyDir": {}},),
        (downward(REVISION),),
        (downward(SETTING),),
        (downward(SETTING), downward(REVISION)),
        (downward(SETTING, {"path": "revision", "fieldRef": {"fieldPath": "metadata.labels['other']"}}),),
        (downward(SETTING, {"path": "revision", "resourceFieldRef": {"resource": "limits.cpu"}}),),
    ],
    ids=str,
)
def test_a_pod_without_both_files_has_no_dial(volumes: tuple[dict[str, Any], ...]) -> None:
    """Without the revision its engine would refuse each setting."""
    assert dial_revision(pod(*volumes)) == ""


@pytest.mark.parametrize(
    ("kind", "allowed", "words"),
    [
        (GuestKind.DEPLOYMENT, Enforcement(), "only those of an InferenceService"),
        (GuestKind.INFERENCE_SERVICE, Enforcement(), "set guard.mode to Enforce"),
        (GuestKind.INFERENCE_SERVICE, Enforcement(reason="NotAllowed", message="to allow them: …"), "to allow them"),
        (GuestKind.INFERENCE_SERVICE, Enforcement(may=True, reason="Allowed"), "no downward-API volume"),
    ],
)
def test_the_message_has_what_is_missing(kind: GuestKind, allowed: Enforcement, words: str) -> None:
    """And the annotation that is not followed."""
    said = why_no_dial(GuestRef(kind=kind, name="theirs", field="f"), allowed)
    assert said.startswith("specdec.io/dial: ")
    assert words in said
