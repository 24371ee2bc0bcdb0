"""What is asked of KServe about the number of pods."""

from typing import Any

import pytest
from tests.unit.builders import NAME, Body, make_rollback, make_spec, make_state
from tests.unit.render.test_inference_service import OWNER, rendered

from specdec_operator.guard.state import Phase
from specdec_operator.names import KSERVE_GROUP
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan

HPA: Body = {"maxReplicas": 5, "minReplicas": 2, "scaleMetric": "cpu", "scaleTarget": 60}
WAITING: Body = {
    "type": "External",
    "external": {
        "metric": {"backend": "prometheus", "serverAddress": "http://prometheus:9090", "query": "sum(waiting)"},
        "target": {"type": "Value", "value": "4"},
    },
}
KEDA: Body = {"autoscalerClass": "keda", "minReplicas": 0, "maxReplicas": 4, "metrics": [WAITING]}
EXTERNAL: Body = {"autoscalerClass": "external"}
SCALING = ("minReplicas", "maxReplicas", "scaleMetric", "scaleTarget", "scaleMetricType", "autoScaling")


def asked(**spec: Any) -> tuple[str, Body]:
    """The class, and the predictor's part about the number of pods."""
    made = rendered(**spec).manifest
    predictor = made["spec"]["predictor"]
    said = {name: predictor[name] for name in SCALING if name in predictor}
    return made["metadata"]["annotations"][f"{KSERVE_GROUP}/autoscalerClass"], said


def test_an_autoscaler_is_passed_on_in_kserves_words() -> None:
    """HPA and KEDA; with an external scaler the operator writes no number that the scaler would have to respect."""
    assert asked(autoscaling=HPA) == ("hpa", HPA)
    least = {"minReplicas": 0, "maxReplicas": 4, "autoScaling": {"metrics": [WAITING]}}
    assert asked(autoscaling=KEDA) == ("keda", least)
    assert asked(autoscaling=EXTERNAL) == ("external", {})


def test_the_least_number_of_pods_is_one_where_none_is_named() -> None:
    """KServe's default, written out."""
    assert asked(autoscaling={"maxReplicas": 5}) == ("hpa", {"minReplicas": 1, "maxReplicas": 5})


@pytest.mark.parametrize("autoscaling", [HPA, KEDA, EXTERNAL])
def test_a_class_replaces_the_pods_and_its_numbers_do_not(autoscaling: Body) -> None:
    """KServe copies the annotation to the pods."""
    first = rendered(autoscaling=autoscaling).revision
    assert first != rendered().revision
    if "maxReplicas" in autoscaling:
        assert rendered(autoscaling=autoscaling | {"maxReplicas": 9}).revision == first


@pytest.mark.parametrize("autoscaling", [HPA, KEDA, EXTERNAL])
def test_a_rollback_asks_for_the_same_scaler_and_numbers(autoscaling: Body) -> None:
    """KServe leaves the number of pods to the scaler only while the class stays: else three pods became one."""
    spec = make_spec(autoscaling=autoscaling)
    before = render(plan(spec, make_state(), name=NAME), OWNER).manifest
    after = render(plan(spec, make_state(Phase.ROLLED_BACK, rollback=make_rollback()), name=NAME), OWNER).manifest
    assert before["metadata"] == after["metadata"]
    parts = [{name: each["spec"]["predictor"].get(name) for name in SCALING} for each in (before, after)]
    assert parts[0] == parts[1]
    assert before["spec"]["predictor"]["deploymentStrategy"] == after["spec"]["predictor"]["deploymentStrategy"]


def test_no_pod_of_an_autoscaler_gives_way_to_a_baseline_pod() -> None:
    """The autoscaler would make another pod in its place."""
    made = plan(make_spec(autoscaling=HPA), make_state(), name=NAME)
    assert render(made, OWNER, fewer=1) == render(made, OWNER)
    fixed = plan(make_spec(replicas=3), make_state(), name=NAME)
    assert render(fixed, OWNER, fewer=1).manifest["spec"]["predictor"]["minReplicas"] == 2


def test_the_way_in_which_pods_make_room_does_not_change_with_their_number() -> None:
    """One at a time, be they one or many: what is rendered must not change as an autoscaler counts."""
    spec = make_spec(autoscaling=HPA)
    made = plan(spec, make_state(), name=NAME)
    revision = render(made, OWNER).revision
    strategy = render(made, OWNER, replacing=revision).manifest["spec"]["predictor"]["deploymentStrategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
