"""The Deployment of the baseline pods, made from KServe's Deployment for each layout of artifacts."""

import copy

import pytest

from specdec_operator.api.spec import Owner
from specdec_operator.errors import Invalid
from specdec_operator.names import BASELINE_LABEL, OWNER_LABEL, REVISION_LABEL
from specdec_operator.render.baseline_pods import render_baseline_pods
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from tests.kserve.layouts import sis
from tests.kserve.made import Place, all_made
from tests.unit.builders import NAME, NAMESPACE, Body, make_rollback, make_spec, make_state

OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")


def isvc(spec: Body, *, baseline: bool) -> Body:
    """The InferenceService of a spec, with speculation or without."""
    state = make_state(rollback=make_rollback()) if baseline else make_state()
    return render(plan(make_spec(**spec), state, name=NAME), OWNER).manifest


def baseline_pods(spec: Body, live: Body, replicas: int = 1) -> Body:
    """The Deployment of the baseline pods for a spec, whose own Deployment is `live`."""
    predictors = (isvc(spec, baseline=each)["spec"]["predictor"] for each in (False, True))
    return render_baseline_pods(live, *predictors, OWNER, replicas)


async def test_its_pods_are_among_the_endpoints_and_are_not_kserves(place: Place) -> None:
    """They carry what the Service selects, and nothing that KServe finds its own by."""
    spec = sis("pvc", "other pvc")
    found = await place.make(isvc(spec, baseline=False))
    before = copy.deepcopy(found.deployment)
    made = baseline_pods(spec, found.deployment, replicas=2)
    assert found.deployment == before
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert found.service is not None
    assert found.service["spec"]["selector"].items() <= labels.items()
    assert not labels.keys() & {"serving.kserve.io/inferenceservice", "component"}
    assert made["spec"]["selector"]["matchLabels"] == {OWNER_LABEL: NAME, BASELINE_LABEL: "plain"}
    assert made["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert (made["metadata"]["name"], made["spec"]["replicas"]) == (f"{NAME}-predictor-plain", 2)
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"


async def test_its_revision_changes_with_what_restarts_its_pods(place: Place) -> None:
    """And with nothing else."""
    spec = sis("pvc", "other pvc")
    other = spec | {"engine": {"accelerator": "cpu", "args": ["--seed=7"]}}
    found = await all_made(place, {"one": isvc(spec, baseline=False), "other": isvc(other, baseline=False)})
    one = found["one"].deployment
    revisions = [
        each["spec"]["template"]["metadata"]["labels"][REVISION_LABEL]
        for each in (
            baseline_pods(spec, one),
            baseline_pods(spec, one, replicas=3),
            baseline_pods(other, found["other"].deployment),
        )
    ]
    assert revisions[0] == revisions[1] != revisions[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"args": ["--port=8080"]}, "KServe did not pass on the"),
        ({"name": "another"}, "has no container"),
    ],
)
async def test_a_deployment_that_is_another_is_not_copied(place: Place, change: Body, words: str) -> None:
    """A webhook rewrites the flags: nothing is guessed."""
    spec = sis("pvc", "other pvc")
    live = (await place.make(isvc(spec, baseline=False))).deployment
    container = next(each for each in live["spec"]["template"]["spec"]["containers"] if each["name"] != "modelcar")
    container.update(change)
    with pytest.raises(Invalid, match=words):
        baseline_pods(spec, live)
