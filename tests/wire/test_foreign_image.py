"""Images and runtimes of other publishers, with a real operator and API server: what is rendered and reported."""

from typing import Final

import pytest

from specdec_operator.staging.layout import RUNTIME_PATH
from tests.wire.api import Object
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, REVISION, World, sis

OPERATOR: Final = "registry.example/specdec-operator:1"
STOCK: Final = {"accelerator": "nvidia", "image": "docker.io/vllm/vllm-openai:v0.22.0", "version": "0.22.0"}
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


async def _told(world: World, kind: str) -> Object | None:
    conditions = (await world.status()).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), None)


async def test_another_image_gets_what_it_lacks_from_the_operators(world: World, operator: OperatorProcess) -> None:
    """The API server keeps the init container, the rollback has it too, and the status shows it."""
    await world.apply(sis(engine=STOCK))
    predictor = (await world.child())["spec"]["predictor"]
    (init,) = predictor["initContainers"]
    assert init["image"] == OPERATOR
    assert predictor["model"]["startupProbe"]["exec"]["command"][:2] == ["python3", RUNTIME_PATH]
    await world.condition("Instrumented", "True")
    note = {"metadata": {"annotations": {"specdec.io/rollback": "by a test"}}}
    await world.api.merge(("serving.specdec.io/v1alpha1", "speculativeinferenceservices"), world.namespace, NAME, note)
    plain = (await world.child(speculative=False))["spec"]["predictor"]
    assert plain["initContainers"] == predictor["initContainers"]


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
    await world.condition("Instrumented", "False")
    said = await _told(world, "Instrumented")
    assert said is not None
    assert said["reason"] == "ForeignRuntime"
    assert "without preflight" in said["message"]
    assert "spec.engine.instrument" in str(await _told(world, "Warned"))

    await world.api.create(SERVING_RUNTIME, world.namespace, PLATFORM)

    async def probed() -> Object | None:
        found = await world.child()
        return found if "exec" in found["spec"]["predictor"]["model"]["startupProbe"] else None

    seen = await world.until("the probes of specdec_runtime", probed)
    assert "httpGet" not in seen["spec"]["predictor"]["model"]["startupProbe"]
    assert seen["spec"]["predictor"]["labels"][REVISION] != child["spec"]["predictor"]["labels"][REVISION]

    async def gone() -> bool:
        return await _told(world, "Instrumented") is None

    await world.until("nothing more to be said", gone)
