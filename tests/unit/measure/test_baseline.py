"""The baseline copy (twin) of a service, and when a service counts as ready for requests."""

from typing import Any

import pytest
from tests.unit.measure.standin import service, status

from specdec_command.measure.baseline import check_left_behind, twin_of
from specdec_command.measure.benchmark import Unmeasurable
from specdec_command.measure.service import TwinState, served_model, view
from specdec_operator.api.spec import Spec


def test_a_twin_is_the_same_service_without_speculation_and_guard() -> None:
    """Everything else stays: replicas, engine, resources; and clients send the same model name."""
    given = service(replicas=3, engine={"maxModelLen": 1024}, guard={"window": "5s"})
    twin = twin_of(given)
    assert twin["metadata"] == {
        "name": "llama-plain",
        "namespace": "team-a",
        "annotations": {"specdec.io/measured": "llama"},
    }
    assert twin["spec"] == {
        "model": {"uri": "hf://meta/llama", "name": "llama"},
        "rollout": {"deadline": "10m"},
        "replicas": 3,
        "engine": {"maxModelLen": 1024},
        "guard": {"mode": "Off"},
    }
    assert Spec.model_validate(twin["spec"]).speculation is None
    assert "speculation" in given["spec"]


def test_a_twin_of_an_autoscaled_service_has_as_many_pods_as_are_ready() -> None:
    """Else each of the two had a number of its own, by its own load."""
    given = service(autoscaling={"maxReplicas": 5}) | {"status": {"readyReplicas": 3}}
    assert twin_of(given)["spec"]["replicas"] == 3
    assert "autoscaling" not in twin_of(given)["spec"]


def test_a_twin_keeps_a_model_name_of_its_own() -> None:
    """The requests are the same for both sides."""
    given = service(model={"uri": "hf://meta/llama", "name": "chat"})
    assert served_model(given) == served_model(twin_of(given)) == "chat"


@pytest.mark.parametrize("annotations", [{}, {"specdec.io/measured": "another"}])
def test_only_a_twin_of_this_service_may_be_removed(annotations: dict[str, str]) -> None:
    found = service("llama-plain")
    found["metadata"]["annotations"] = annotations
    with pytest.raises(Unmeasurable, match="it is not changed"):
        check_left_behind(found, "llama")


@pytest.mark.parametrize(
    ("now", "speculating", "state"),
    [
        (status("Watching", speculating=True), True, TwinState.READY),
        (status("Serving", speculating=True), True, TwinState.READY),
        (status("WarmingUp", speculating=True), True, TwinState.WAITING),
        (status("RollingOut", speculating=True), True, TwinState.WAITING),
        (status("MeasuringBaseline", speculating=False), True, TwinState.WAITING),
        (status("Responding", speculating=False), True, TwinState.FAILED),
        (status("RolledBack", speculating=False), True, TwinState.FAILED),
        (status("Stalled", speculating=True), True, TwinState.FAILED),
        (status("Serving", speculating=False), False, TwinState.READY),
        (status("RolledBack", speculating=False), False, TwinState.READY),
        (status("RolledBack", speculating=True), False, TwinState.FAILED),
        (status("Watching", speculating=True), False, TwinState.WAITING),
        (status("Responding", speculating=False), False, TwinState.WAITING),
        (status("Stalled", speculating=False), False, TwinState.FAILED),
        (status("RollingOut", speculating=False, reason="Unschedulable"), False, TwinState.NO_ROOM),
        (status("RollingOut", speculating=False, reason="ImagePull"), False, TwinState.WAITING),
        ({}, False, TwinState.WAITING),
    ],
)
def test_a_service_is_asked_when_it_serves_what_is_measured(
    now: dict[str, Any], speculating: bool, state: TwinState
) -> None:
    """Speculating and settled, or plain and settled; what the operator gave up is not waited for."""
    assert view(service() | {"status": now}, speculating=speculating).state is state


def test_a_status_of_an_older_spec_is_not_believed() -> None:
    """The operator has yet to see what was applied a moment ago."""
    changed = service()
    changed["metadata"]["generation"] = 2
    assert view(changed, speculating=True).state is TwinState.WAITING
