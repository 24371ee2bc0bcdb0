"""A runtime of another publisher, with a real operator and API server: what is rendered and reported."""

from typing import Final

import pytest

from tests.wire.api import Object
from tests.wire.operator import OperatorProcess
from tests.wire.world import REVISION, World, conditions, sis

OPERATOR: Final = "registry.example/specdec-operator:1"
THEIRS: Final = {"accelerator": "nvidia", "runtime": "platform-vllm"}
SERVING_RUNTIME: Final = "serving.kserve.io/v1alpha1", "servingruntimes"
PLATFORM: Final[Object] = {
    "apiVersion": SERVING_RUNTIME[0],
    "kind": "ServingRuntime",
    "metadata": {"name": "platform-vllm"},
    "spec": {
        "supportedModelFormats": [{"name": "huggingface"}],
        "containers": [
            {"name": "kserve-container", "image": "i", "command": ["python3", "-m", "specdec_runtime", "serve"]}
        ],
    },
}
"""What the platform's people built on our image."""


@pytest.fixture
def environment() -> dict[str, str]:
    """The setting by which the chart gives the operator its own image."""
    return {"SPECDEC_IMAGE": OPERATOR}


async def test_another_runtime_goes_without_until_it_is_seen_to_have_it(
    world: World, operator: OperatorProcess
) -> None:
    """Its Deployment shows what it starts: one that is built on ours is then probed and drained as ours.

    KServe makes the Deployment once there is a runtime of that name.
    """
    await world.apply(sis(engine=THEIRS))
    child = await world.child()
    model = child["spec"]["predictor"]["model"]
    assert model["startupProbe"]["httpGet"]["path"] == "/health"
    assert "lifecycle" not in model
    said = await world.told("Instrumented", "ForeignRuntime", "without preflight")
    assert said["status"] == "False"
    await world.told("Warned", "spec.engine.instrument")

    await world.api.create(SERVING_RUNTIME, world.namespace, PLATFORM)

    async def probed() -> Object | None:
        found = await world.child()
        return found if "exec" in found["spec"]["predictor"]["model"]["startupProbe"] else None

    seen = await world.until("the probes of specdec_runtime", probed)
    assert "httpGet" not in seen["spec"]["predictor"]["model"]["startupProbe"]
    assert seen["spec"]["predictor"]["labels"][REVISION] != child["spec"]["predictor"]["labels"][REVISION]

    async def gone() -> bool:
        return "Instrumented" not in conditions(await world.status())

    await world.until("nothing more to be said", gone)
