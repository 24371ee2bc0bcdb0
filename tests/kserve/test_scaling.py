"""Who counts the pods: what KServe makes of each class of autoscaler."""

import pytest

from specdec_operator.api.spec import Owner
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from tests.kserve.made import Made, Place
from tests.unit.builders import NAME, NAMESPACE, Body, make_rollback, make_spec, make_state

OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}


async def made_of(
    place: Place, autoscaling: Body | None, *, baseline: bool = False, pods: int = 1, **spec: Body
) -> Made:
    """What KServe makes of a service with this autoscaling."""
    state = make_state(rollback=make_rollback()) if baseline else make_state()
    parts = spec | ({"autoscaling": autoscaling} if autoscaling else {})
    return await place.make(render(plan(make_spec(**parts), state, name=NAME), OWNER).manifest, pods=pods)


@pytest.mark.parametrize("baseline", [False, True], ids=["speculating", "rolled back"])
async def test_the_hpa_has_the_numbers_of_the_service(place: Place, baseline: bool) -> None:
    """And 80 % of the CPU where nothing else is asked for; a rollback changes none of it."""
    found = (await made_of(place, {"minReplicas": 1, "maxReplicas": 2}, baseline=baseline)).autoscaler
    assert found is not None
    spec = found["spec"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{NAME}-predictor"}
    assert spec["scaleTargetRef"] == target
    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 2)
    assert spec["metrics"] == [{"type": "Resource", "resource": CPU}]
