"""`specdec import isvc/NAME` against a real API server, which takes what comes out."""

import pathlib

import pytest
import yaml

from tests.wire.api import ISVC, SIS, Object
from tests.wire.command import Command
from tests.wire.guests import SERVING_RUNTIME
from tests.wire.world import World

TWENTY = pathlib.Path(__file__).parents[1] / "unit" / "importing" / "services.yaml"


@pytest.fixture
def specdec(kubeconfig: pathlib.Path, world: World) -> Command:
    """`specdec` in the namespace of the test."""
    return Command(kubeconfig, world.namespace)


async def test_an_inference_service_of_the_cluster_is_imported(world: World, specdec: Command) -> None:
    """With the flags of its runtime and only the fields that its writers set: the fields that the API server adds are
    not settings.
    """
    container = {"name": "kserve-container", "args": ["--max-model-len=4096"]}
    runtime: Object = {
        "apiVersion": SERVING_RUNTIME[0],
        "kind": "ServingRuntime",
        "metadata": {"name": "fast"},
        "spec": {"supportedModelFormats": [{"name": "huggingface"}], "containers": [container]},
    }
    await world.api.apply(SERVING_RUNTIME, world.namespace, runtime, "somebody")
    model = {"modelFormat": {"name": "huggingface"}, "storageUri": "pvc://llama/8b", "runtime": "fast"}
    body: Object = {
        "apiVersion": ISVC[0],
        "kind": "InferenceService",
        "metadata": {"name": "llama", "labels": {"team": "chat"}},
        "spec": {"predictor": {"model": model}},
    }
    await world.api.apply(ISVC, world.namespace, body, "somebody")
    said = await specdec("import", "isvc/llama")
    assert (said.code, said.err) == (0, "")
    made = yaml.safe_load(said.out)
    assert made["metadata"] == {"name": "llama", "namespace": world.namespace}
    assert made["spec"]["inferenceService"] == {"labels": {"team": "chat"}}
    live = await world.api.apply(SIS, world.namespace, made, "somebody")
    assert live["spec"]["engine"]["maxModelLen"] == 4096


async def test_a_missing_inference_service_is_reported(world: World, specdec: Command) -> None:
    """With the way to see what is."""
    said = await specdec("import", "isvc/nothing")
    assert (said.code, said.out) == (1, "")
    assert f"namespace {world.namespace} has no InferenceService nothing" in said.err


async def test_the_api_server_takes_all_that_is_imported_of_twenty(
    world: World, specdec: Command, tmp_path: pathlib.Path
) -> None:
    """As it was printed, in one namespace."""
    services = list(yaml.safe_load_all(TWENTY.read_text()))
    for each in services:
        each["metadata"].pop("namespace", None)
    file = tmp_path / "services.yaml"
    file.write_text(yaml.safe_dump_all(services))
    said = await specdec("import", str(file))
    made = list(yaml.safe_load_all(said.out))
    assert (said.code, len(made)) == (1, len(services) - 1)
    for each in made:
        await world.api.apply(SIS, world.namespace, each, "somebody")
