"""Somebody else's InferenceService on real pods: its runtime starts vLLM, and the operator renders nothing of it."""

import json
from collections.abc import AsyncIterator

import pytest
from hack import images

from tests.node.service import Service, Traffic
from tests.wire.api import ISVC, SIS, Object

CONFIG = json.dumps({"method": "draft_model", "num_speculative_tokens": 4, "model": "/mnt/models/draft"})
FLAG = f"--speculative-config={CONFIG}"
RUNTIME = "serving.kserve.io/v1alpha1", "servingruntimes"
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
ENV = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"} | OFFLINE
_STARTS = 300.0


def runtime(name: str) -> Object:
    """A platform's own runtime: vLLM's server as its image has it, and nothing of the operator's."""
    container = {
        "name": "kserve-container",
        "image": images.refs().runtime,
        "command": ["python3", "-m", "vllm.entrypoints.openai.api_server"],
        "args": [
            *("--model=/mnt/models/target", f"--served-model-name={name}", "--port=8080", "--max-model-len=1024"),
            *("--enforce-eager", "--distributed-executor-backend=uni"),
        ],
        "env": [{"name": each, "value": value} for each, value in ENV.items()],
        "ports": [{"containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8080}, "periodSeconds": 2, "failureThreshold": 3},
    }
    formats = [{"name": "huggingface", "version": "1", "autoSelect": False}]
    spec = {"supportedModelFormats": formats, "containers": [container]}
    return {"apiVersion": RUNTIME[0], "kind": "ServingRuntime", "metadata": {"name": f"{name}-vllm"}, "spec": spec}


def isvc(name: str) -> Object:
    """An InferenceService of that runtime, as its owner wrote it."""
    model = {
        "modelFormat": {"name": "huggingface"},
        "runtime": f"{name}-vllm",
        "args": [FLAG],
        "volumeMounts": [{"name": "models", "mountPath": "/mnt/models", "readOnly": True}],
    }
    volume = {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}}
    standard = {"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "none"}
    leave = {"specdec.io/enforce": "true"}  # from the beginning: KServe replaces pods for an annotation
    predictor = {
        "model": model,
        "volumes": [volume],
        "minReplicas": 1,
        "maxReplicas": 1,
        "deploymentStrategy": {"type": "Recreate"},
    }
    return {
        "apiVersion": ISVC[0],
        "kind": "InferenceService",
        "metadata": {"name": name, "annotations": standard | leave},
        "spec": {"predictor": predictor},
    }


def guard(service: Service, mode: str) -> Object:
    """The lines of `specdec guard`, with windows of seconds."""
    quick = {"interval": "1s", "window": "6s", "warmup": "1s", "failureLimit": 2, "minDraftTokens": 200}
    return {
        "apiVersion": SIS[0],
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": service.name},
        "spec": {"inferenceServiceRef": {"name": service.name}, "guard": quick | {"mode": mode}},
    }


async def asked(service: Service) -> list[str]:
    """The flags of the InferenceService."""
    found = await service.child()
    return list(found["model"]["args"])


@pytest.fixture
async def theirs(service: Service) -> AsyncIterator[Service]:
    """The InferenceService of somebody else; it is gone before the namespace is looked at."""
    await service.api.apply(RUNTIME, service.namespace, runtime(service.name), "somebody")
    await service.api.apply(ISVC, service.namespace, isvc(service.name), "somebody")
    try:
        yield service
    finally:
        await service.api.delete(ISVC, service.namespace, service.name)
        await service.api.delete(RUNTIME, service.namespace, f"{service.name}-vllm")


async def test_what_somebody_else_serves_is_observed_then_enforced_and_restored(theirs: Service) -> None:
    """The draft is good on code and fails on drift prompts; its flag goes once that is asked for, and comes back."""
    before = await asked(theirs)
    await theirs.api.apply(SIS, theirs.namespace, guard(theirs, "Observe"))
    await theirs.phase("Watching", seconds=_STARTS)
    status = await theirs.verdict("Pass", "code", 120)
    assert (status["serving"]["method"], status["serving"]["tokens"]) == ("draft_model", 4)
    async with Traffic(theirs, "drift"):

        async def told() -> Object | None:
            return (await theirs.status())["guard"].get("would")

        would = await theirs.until("what would have been done", told, 120)
    assert (would["action"], await asked(theirs)) == ("RollBack", before)

    await theirs.api.apply(SIS, theirs.namespace, guard(theirs, "Enforce"))
    await theirs.condition("Enforcing", "Allowed")
    async with Traffic(theirs, "drift"):
        await theirs.phase("Responding", seconds=180)
    await theirs.phase("RolledBack", seconds=_STARTS)
    assert FLAG not in await asked(theirs)
    async with Traffic(theirs, "code"):  # the plain pod answers
        await theirs.condition("Ready", "Serving")

    await theirs.api.delete(SIS, theirs.namespace, theirs.name)

    async def restored() -> bool:
        return await asked(theirs) == before

    await theirs.until("the flag as it was", restored, 60)
