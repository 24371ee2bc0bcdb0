"""Which nodes a pod may land on, as label selectors, and what is kept of a node."""

from typing import Any

import pytest

from specdec_operator.observe.nodes import device_facts, selectors

KEY = "nvidia.com/gpu.product"


def affine(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    """A pod that must land where one of the terms holds."""
    listed = {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": listed}}}


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        ({}, ("",)),
        ({"nodeSelector": {"b": "2", "a": "1"}}, ("a=1,b=2",)),
        (affine([{"key": KEY, "operator": "In", "values": ["B", "A"]}]), (f"{KEY} in (A,B)",)),
        (
            affine([{"key": "a", "operator": "Exists"}], [{"key": "b", "operator": "DoesNotExist"}])
            | {"nodeSelector": {"z": ""}},
            ("z=,a", "z=,!b"),
        ),
        (affine([{"key": "a", "operator": "NotIn", "values": ["x"]}]), ("a notin (x)",)),
    ],
)
def test_what_the_pod_asks_of_a_node(pod: dict[str, Any], wanted: tuple[str, ...]) -> None:
    """All of nodeSelector, and one of the terms."""
    assert selectors(pod) == wanted


@pytest.mark.parametrize(
    "pod",
    [
        affine([{"key": "a", "operator": "Gt", "values": ["3"]}]),
        affine([{"key": "a b", "operator": "Exists"}]),
        affine([{"key": "a", "operator": "In", "values": ["x),b in (y"]}]),
        affine([{"key": "a", "operator": "In", "values": []}]),
        affine([{"key": "a", "operator": "In", "values": [None]}], ["no term"]),  # type: ignore[list-item]
        affine(*[[{"key": f"a{number}", "operator": "Exists"}] for number in range(9)]),
        {"affinity": {"nodeAffinity": [1]}},
        {"nodeSelector": {"a": "x,b"}},
    ],
)
def test_an_affinity_that_no_selector_can_express_leaves_more_nodes(pod: dict[str, Any]) -> None:
    """The user's text does not become another selector, and an odd affinity does not stop a reconcile."""
    assert selectors(pod) == ("",)


def test_only_facts_about_devices_are_kept() -> None:
    """A timestamp of each node would make each node a separate kind."""
    labels = {KEY: "NVIDIA-L4", "nvidia.com/gfd.timestamp": "1", "nvidia.com/mig-1g.5gb.memory": "4864", "zone": "a"}
    annotations = {"hami.io/node-nvidia-register": "[]", "note": "x"}
    assert device_facts({"labels": labels, "annotations": annotations}) == {
        KEY: "NVIDIA-L4",
        "nvidia.com/mig-1g.5gb.memory": "4864",
        "hami.io/node-nvidia-register": "[]",
    }
    assert device_facts({}) == {}
