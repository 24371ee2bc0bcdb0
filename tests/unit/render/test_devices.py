"""How many devices a pod asks for, and by which name."""

from typing import Any

import pytest
from tests.unit.builders import make_spec

from specdec_operator.api.spec import Spec
from specdec_operator.render.inference_service import resources


def spec(accelerator: str, asked: dict[str, Any] | None = None, **engine: Any) -> Spec:
    return make_spec(resources=asked, engine={"accelerator": accelerator} | engine)


@pytest.mark.parametrize(("accelerator", "name"), [("nvidia", "nvidia.com/gpu"), ("ascend", "huawei.com/Ascend910")])
@pytest.mark.parametrize(
    ("engine", "number"),
    [
        ({}, "1"),
        ({"tensorParallelSize": 4}, "4"),
        ({"tensorParallelSize": 4, "pipelineParallelSize": 2}, "8"),
        ({"tensorParallelSize": 2, "pipelineParallelSize": 2, "dataParallelSize": 4}, "16"),
    ],
)
def test_a_pod_asks_for_as_many_devices_as_the_engine_is_spread_over(
    accelerator: str, name: str, engine: dict[str, Any], number: str
) -> None:
    """Limits equal requests: Kubernetes does not overcommit devices."""
    assert resources(spec(accelerator, **engine)) == {"requests": {name: number}, "limits": {name: number}}


def test_the_users_other_resources_stay() -> None:
    asked = {"requests": {"cpu": "8"}, "limits": {"memory": "64Gi"}}
    assert resources(spec("ascend", asked)) == {
        "requests": {"cpu": "8", "huawei.com/Ascend910": "1"},
        "limits": {"memory": "64Gi", "huawei.com/Ascend910": "1"},
    }
    assert asked == {"requests": {"cpu": "8"}, "limits": {"memory": "64Gi"}}


@pytest.mark.parametrize(
    ("accelerator", "asked"),
    [
        ("ascend", {"limits": {"huawei.com/ascend-1980": "2"}}),
        ("ascend", {"limits": {"huawei.com/Ascend910": "8"}}),
        ("nvidia", {"limits": {"nvidia.com/mig-3g.40gb": "1"}, "requests": {"cpu": "1"}}),
        ("nvidia", {"requests": {"nvidia.com/gpu": "0"}}),
        ("nvidia", {"claims": [{"name": "gpus"}]}),
        ("nvidia", {"limits": "many"}),  # KServe's to refuse
    ],
)
def test_who_names_devices_is_believed(accelerator: str, asked: dict[str, Any]) -> None:
    """Another plugin, a slice of a device, another number, a claim."""
    assert resources(spec(accelerator, asked, tensorParallelSize=2)) == asked


@pytest.mark.parametrize("asked", [None, {"limits": {"cpu": "2"}}])
def test_a_processor_and_a_runtime_of_ones_own_are_left_alone(asked: dict[str, Any] | None) -> None:
    """The former has no devices; the latter may name its own."""
    assert resources(spec("cpu", asked)) == asked
    assert resources(spec("ascend", asked, runtime="mine")) == asked
