"""Everything that the project itself runs in a cluster is restricted, and writes to nothing of its image."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hack.helm import chart

from tests.chart_values import CASES


def pods(objects: list[dict[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The pods of Deployments and Pods by name."""
    for each in objects:
        name = f"{each['kind']}/{each['metadata']['name']}"
        if each["kind"] == "Deployment":
            yield name, each["spec"]["template"]["spec"]
        elif each["kind"] == "Pod":
            yield name, each["spec"]


@pytest.mark.parametrize("case", CASES)
def test_no_container_of_the_chart_is_root_or_writes_to_its_image(case: str) -> None:
    """The operator, and the pod of `helm test`."""
    found = dict(pods(chart.objects(CASES[case])))
    assert {name.partition("/")[0] for name in found} == {"Deployment", "Pod"}
    for name, pod in found.items():
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys(), name
        assert not any("hostPath" in volume for volume in pod.get("volumes", ())), name
        own = pod["securityContext"]
        assert (own["runAsNonRoot"], own["seccompProfile"]) == (True, {"type": "RuntimeDefault"}), name
        for container in [*pod["containers"], *pod.get("initContainers", ())]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            }, name
