"""What `specdec import KIND/NAME` reads from the cluster: the object, and the runtime that KServe takes for it."""

import json
import pathlib
from typing import Any

import pytest
import yaml
from tests.hostile_http import Asked, HostileServer, replying

from specdec_command.cli.connect import ClusterChoice
from specdec_command.cli.import_cluster import bodies_of, live
from specdec_command.importing.inputs import inputs_of
from specdec_operator.errors import Unavailable

NEAR = "/apis/serving.kserve.io/v1alpha1/namespaces/team-a/servingruntimes"
FAR = "/apis/serving.kserve.io/v1alpha1/clusterservingruntimes"
SERVICE = "/apis/serving.kserve.io/v1beta1/namespaces/team-a/inferenceservices/svc"
DEPLOYMENT = "/apis/apps/v1/namespaces/team-a/deployments/svc"


def service(**model: Any) -> dict[str, Any]:
    model = {"modelFormat": {"name": "vLLM"}, "storageUri": "pvc://weights", **model}
    return {"metadata": {"name": "svc", "namespace": "team-a"}, "spec": {"predictor": {"model": model}}}


def runtime(name: str, length: int) -> dict[str, Any]:
    container = {"name": "kserve-container", "args": [f"--max-model-len={length}"]}
    formats = [{"name": "vLLM", "autoSelect": True}]
    return {"metadata": {"name": name}, "spec": {"supportedModelFormats": formats, "containers": [container]}}


async def read(objects: dict[str, Any], folder: pathlib.Path, kind: str = "InferenceService") -> list[dict[str, Any]]:
    """What is read from an API server with these objects; a number is the status of a refusal."""

    def reply(asked: Asked) -> tuple[int, str]:
        found = objects.get(asked.path, 404)
        return (found, json.dumps({"message": "no"})) if isinstance(found, int) else (200, json.dumps(found))

    async with HostileServer(replying(reply, b"Content-Type: application/json")) as there:
        named = {"name": "here", "cluster": {"server": there.url}, "user": {}}
        context = {"name": "here", "context": {"cluster": "here", "user": "here"}}
        config = {"current-context": "here", "clusters": [named], "users": [named], "contexts": [context]}
        (folder / "kubeconfig").write_text(yaml.safe_dump(config))
        where = ClusterChoice(namespace="team-a", context=None, kubeconfig=str(folder / "kubeconfig"))
        return await bodies_of(kind, "svc", where)


def arguments(bodies: list[dict[str, Any]]) -> Any:
    (source,) = inputs_of(bodies).sources
    return source.body["spec"]["predictor"]["model"].get("args")


@pytest.mark.parametrize(
    ("objects", "length"),
    [
        ({SERVICE: service(runtime="fast"), f"{FAR}/fast": runtime("fast", 1)}, 1),
        ({SERVICE: service(runtime="fast"), f"{FAR}/fast": runtime("fast", 1), f"{NEAR}/fast": runtime("fast", 2)}, 2),
        ({SERVICE: {**service(), "status": {"servingRuntimeName": "fast"}}, f"{NEAR}/fast": runtime("fast", 3)}, 3),
        ({SERVICE: service(), NEAR: {"items": []}, FAR: {"items": [runtime("any", 4)]}}, 4),
    ],
)
async def test_the_runtime_that_kserve_takes_is_read(
    objects: dict[str, Any], length: int, tmp_path: pathlib.Path
) -> None:
    """The named one or the chosen one, first of the namespace and then of the cluster."""
    assert arguments(await read(objects, tmp_path)) == [f"--max-model-len={length}"]


async def test_a_runtime_that_may_not_be_read_is_reported(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service is imported without its flags, which the output lists as not read."""
    bodies = await read({SERVICE: service(runtime="fast"), f"{NEAR}/fast": 404, f"{FAR}/fast": 403}, tmp_path)
    assert arguments(bodies) is None
    assert "not read: ClusterServingRuntime fast: HTTP 403" in capsys.readouterr().err


async def test_a_deployment_is_read_without_runtimes(tmp_path: pathlib.Path) -> None:
    pod = {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.20.0", "args": ["--model=acme/chat"]}]}
    found = {"metadata": {"name": "svc"}, "spec": {"template": {"spec": pod}}}
    (body,) = await read({DEPLOYMENT: found}, tmp_path, "Deployment")
    assert inputs_of([body]).sources[0].kind == "Deployment"


async def test_a_missing_object_is_reported_with_a_way_to_list_them(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Unavailable, match=r"no Deployment svc: `kubectl get deployments -n team-a`"):
        await read({}, tmp_path, "Deployment")


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("isvc/a", ("InferenceService", "a")),
        ("inferenceservices.serving.kserve.io/a", ("InferenceService", "a")),
        ("deployment.apps/a", ("Deployment", "a")),
        ("llmisvc/a", ("LLMInferenceService", "a")),
        ("pod/a", None),
        ("folder/file.yaml", None),
    ],
)
def test_a_word_names_an_object(word: str, found: tuple[str, str] | None) -> None:
    assert live(word) == found
