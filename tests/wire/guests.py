"""Plays somebody who serves with KServe, or with a Deployment, and knows nothing of this operator."""

from typing import Any

from tests.wire.api import DEPLOYMENT, ISVC, POD, Object
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World

THEIRS = "theirs"
SPECULATES = '--speculative-config={"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}'


def guest(field: str = "inferenceServiceRef", *, name: str = NAME, guard: Object | None = None) -> Object:
    """A service that guards it, with windows of two seconds."""
    quick = {"interval": "1s", "window": "2s", "warmup": "1s", "failureLimit": 2, "minDraftTokens": 50}
    return {
        "apiVersion": "serving.specdec.io/v1alpha1",
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": name},
        "spec": {field: {"name": THEIRS}, "guard": quick | (guard or {})},
    }


async def serve(world: World, *engines: EngineStandIn, args: list[str], made_by: str = f"{THEIRS}-predictor") -> None:
    """Their pods stand, and all older ones are gone. made_by: the Deployment, which KServe made unless it is theirs."""
    if made_by != THEIRS:
        await world.api.apply(ISVC, world.namespace, _isvc(args), "somebody")
    labels = {"app": THEIRS, "serving.kserve.io/inferenceservice": THEIRS, "component": "predictor"}
    container = {"name": "kserve-container", "image": "vllm/vllm-openai:v0.11.0", "args": args}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": len(engines), "selector": {"matchLabels": {"app": THEIRS}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": made_by}, "spec": spec}
    live = await world.api.apply(DEPLOYMENT, world.namespace, body, "plays-kserve")
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), len(engines))
    status = {"status": counts | {"observedGeneration": live["metadata"]["generation"]}}
    await world.api.merge(DEPLOYMENT, world.namespace, made_by, status, "status")
    for pod in await world.api.items(POD, world.namespace):
        await world.remove_pod(pod["metadata"]["name"])
    for each in engines:
        await world.bring_pod(f"{made_by}-abc", labels, each, container=container)


def _isvc(args: list[str]) -> Object:
    model: dict[str, Any] = {"modelFormat": {"name": "huggingface"}, "storageUri": "pvc://models/target", "args": args}
    return {
        "apiVersion": ISVC[0],
        "kind": "InferenceService",
        "metadata": {"name": THEIRS},
        "spec": {"predictor": {"model": model}},
    }
