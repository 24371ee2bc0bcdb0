"""specdec_operator.render.disruption_budget: which services have a budget, and whom it names."""

from typing import Any

import pytest
from tests.unit.builders import make_spec

from specdec_operator.api.spec import Owner
from specdec_operator.names import OWNER_LABEL, STAGING_LABEL
from specdec_operator.render.disruption_budget import render_budget

OWNER = Owner(name="llama", namespace="team-a", uid="u-1")


def test_of_several_replicas_one_may_be_evicted_at_a_time() -> None:
    """This holds for any number of replicas, and pods that do not serve block no eviction."""
    budget = render_budget(make_spec(replicas=3), OWNER)
    assert budget is not None
    assert (budget["metadata"]["name"], budget["metadata"]["namespace"]) == ("llama-specdec", "team-a")
    assert budget["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert budget == render_budget(make_spec(replicas=7), OWNER)


def test_it_names_the_engines_and_not_the_pods_of_downloads() -> None:
    """Both carry the service's label; an evicted download is made again."""
    budget = render_budget(make_spec(replicas=2), OWNER)
    assert budget is not None
    assert budget["spec"]["selector"]["matchLabels"] == {OWNER_LABEL: "llama"}
    (other,) = budget["spec"]["selector"]["matchExpressions"]
    assert other == {"key": STAGING_LABEL, "operator": "DoesNotExist"}


@pytest.mark.parametrize(
    ("spec", "there"),
    [
        ({}, False),
        ({"replicas": 1}, False),
        ({"replicas": 2, "rollout": {"disruptionBudget": "None"}}, False),
        ({"autoscaling": {"maxReplicas": 1}}, False),
        ({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}, True),
        ({"autoscaling": {"autoscalerClass": "external"}}, True),
    ],
)
def test_a_single_pod_and_who_wants_none_have_none(spec: dict[str, Any], *, there: bool) -> None:
    """A budget of one pod would only keep its node from being drained. An autoscaler's is written once."""
    assert (render_budget(make_spec(**spec), OWNER) is not None) is there
