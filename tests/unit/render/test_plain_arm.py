"""The plain arm's Deployment, made from what KServe makes of each layout of artifacts.

The stand-in of KServe's controller makes the Deployments; it is held to recordings of the real one.
"""

from typing import Any

import pytest
import yaml
from tests.kserve_standin import render as standin
from tests.kserve_standin.model import Config
from tests.kserve_standin.runtimes import runtime_of
from tests.unit.builders import NAME, NAMESPACE, Body, make_rollback, make_spec, make_state
from tests.unit.staging.test_pods import PAIRS, ROOT, mounted, sis

from specdec_operator.api.spec import Owner
from specdec_operator.errors import Invalid
from specdec_operator.names import ARM_LABEL, OWNER_LABEL, REVISION_LABEL
from specdec_operator.render.inference_service import render
from specdec_operator.render.plain_arm import render_arm
from specdec_operator.render.plan import plan

OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
LAYOUTS = [pair for pair in PAIRS if pair[1] != "none"]


def isvc(spec: Body, *, plain: bool) -> Body:
    """The InferenceService of a spec, with speculation or without."""
    state = make_state(rollback=make_rollback()) if plain else make_state()
    return render(plan(make_spec(**spec), state, name=NAME), OWNER).manifest


def deployment(manifest: Body) -> Body:
    """What KServe makes of it."""
    runtime = runtime_of(yaml.safe_load((ROOT / "manifests" / "runtimes" / "cpu.yaml").read_text()))
    made: Body = standin.render(manifest, runtime, Config()).deployment
    return made


def arm(spec: Body, live: Body | None = None, replicas: int = 1) -> Body:
    """The plain arm of a spec."""
    speculating, plain = (isvc(spec, plain=each) for each in (False, True))
    predictors = (each["spec"]["predictor"] for each in (speculating, plain))
    return render_arm(live or deployment(speculating), *predictors, OWNER, replicas)


def engine(made: Body) -> Body:
    """The engine's container."""
    pod = made["spec"]["template"]["spec"]
    found: Body = next(each for each in pod["containers"] if each["name"] == "kserve-container")
    return found


def other_parts(made: Body) -> Any:
    """The engine's container without what KServe makes of the draft's artifact besides."""
    return {key: part for key, part in engine(made).items() if key not in ("args", "volumeMounts", "env")}


def places(made: Body) -> set[str]:
    """Where the engine's container has something mounted."""
    return {f"{path}/" for path in mounted(made["spec"]["template"]["spec"])}


@pytest.mark.parametrize(("target", "draft"), LAYOUTS)
def test_its_pods_run_what_the_plain_service_would(target: str, draft: str) -> None:
    """The flags to the letter, and the target where it was. What stages the draft is left: it does no harm."""
    spec = sis(target, draft)
    made, plain = arm(spec), deployment(isvc(spec, plain=True))
    assert engine(made)["args"] == engine(plain)["args"]
    assert other_parts(made) == other_parts(plain)
    there = tuple(places(made))
    assert all(each.startswith(there) for each in places(plain)), "two downloads share the folder above them"


def test_its_pods_are_among_the_endpoints_and_are_not_kserves() -> None:
    """They carry what the Service selects, and nothing that KServe finds its own by."""
    spec = sis("pvc", "other pvc")
    made = arm(spec, replicas=2)
    labels = made["spec"]["template"]["metadata"]["labels"]
    service = standin.render(
        isvc(spec, plain=False),
        runtime_of(yaml.safe_load((ROOT / "manifests" / "runtimes" / "cpu.yaml").read_text())),
        Config(),
    ).service
    assert service["spec"]["selector"].items() <= labels.items()
    assert not labels.keys() & {"serving.kserve.io/inferenceservice", "component"}
    assert made["spec"]["selector"]["matchLabels"] == {OWNER_LABEL: NAME, ARM_LABEL: "plain"}
    assert made["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert (made["metadata"]["name"], made["spec"]["replicas"]) == (f"{NAME}-predictor-plain", 2)
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"


def test_its_revision_changes_with_what_restarts_its_pods() -> None:
    """And with nothing else."""
    spec = sis("pvc", "other pvc")
    revisions = [
        each["spec"]["template"]["metadata"]["labels"][REVISION_LABEL]
        for each in (
            arm(spec),
            arm(spec, replicas=3),
            arm(spec | {"engine": {"accelerator": "cpu", "args": ["--seed=7"]}}),
        )
    ]
    assert revisions[0] == revisions[1] != revisions[2]


def test_what_kserve_was_given_is_not_changed() -> None:
    """The live Deployment is read, and stays what it is."""
    live = deployment(isvc(sis("pvc", "other pvc"), plain=False))
    before = yaml.safe_dump(live)
    arm(sis("pvc", "other pvc"), live)
    assert yaml.safe_dump(live) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"args": ["--port=8080"]}, "KServe did not pass on the"),
        ({"name": "another"}, "has no container"),
    ],
)
def test_a_deployment_that_is_another_is_not_copied(change: Body, words: str) -> None:
    """A webhook rewrites the flags: nothing is guessed."""
    live = deployment(isvc(sis("pvc", "other pvc"), plain=False))
    engine(live).update(change)
    with pytest.raises(Invalid, match=words):
        arm(sis("pvc", "other pvc"), live)
