"""Plays an owner who serves with KServe, or with a Deployment, and does not know this operator."""

from typing import Final

from tests.wire.api import DEPLOYMENT, ISVC, Object
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World

THEIRS = "theirs"
SERVING_RUNTIME = "serving.kserve.io/v1alpha1", "servingruntimes"
_ENGINE: Final[Object] = {"name": "kserve-container", "image": "vllm/vllm-openai:v0.11.0"}
_RUNTIME: Final[Object] = {
    "apiVersion": SERVING_RUNTIME[0],
    "kind": "ServingRuntime",
    "metadata": {"name": THEIRS},
    "spec": {"supportedModelFormats": [{"name": "huggingface"}], "containers": [_ENGINE]},
}
_DIAL: Final[Object] = {
    "name": "specdec-dial",
    "downwardAPI": {
        "items": [
            {"path": "setting", "fieldRef": {"fieldPath": "metadata.annotations['specdec.io/dial']"}},
            {"path": "revision", "fieldRef": {"fieldPath": "metadata.labels['pod-template-hash']"}},
        ]
    },
}
"""The volume of docs/guests.md."""
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


async def serve(
    world: World,
    *engines: EngineStandIn,
    args: list[str],
    made_by: str = f"{THEIRS}-predictor",
    leave: bool = False,
    command: list[str] | None = None,
    dial: bool = False,
) -> None:
    """Their pods stand, and all older ones are gone. made_by: the Deployment, which KServe made unless it is theirs.

    leave: the guard may take the draft out. KServe copies that annotation to the pods, which it replaces for it.
    command: of a container of their own, such as a shell for the script in args; None: a ServingRuntime has it. dial:
    whether the pods ask for one.
    """
    if made_by == THEIRS:
        await world.api.apply(DEPLOYMENT, world.namespace, _deployment(args), "somebody")
    else:
        await world.api.apply(SERVING_RUNTIME, world.namespace, _RUNTIME, "somebody")
        await world.api.apply(ISVC, world.namespace, _isvc(args, command, leave=leave, dial=dial), "somebody")

    def starts_so(deployment: Object) -> bool:
        return bool(deployment["spec"]["template"]["spec"]["containers"][0]["args"] == args)

    await world.kubelet.bring(made_by, engines, ready=True, fits=starts_so)


def _deployment(args: list[str]) -> Object:
    template = {"metadata": {"labels": {"app": THEIRS}}, "spec": {"containers": [_ENGINE | {"args": args}]}}
    spec = {"selector": {"matchLabels": {"app": THEIRS}}, "template": template}
    return {"apiVersion": DEPLOYMENT[0], "kind": "Deployment", "metadata": {"name": THEIRS}, "spec": spec}


def _isvc(args: list[str], command: list[str] | None, *, leave: bool, dial: bool) -> Object:
    model = {"modelFormat": {"name": "huggingface"}, "runtime": THEIRS, "storageUri": "pvc://models/target"}
    container = _ENGINE | {"command": command, "args": args}
    predictor: Object = {"containers": [container]} if command else {"model": model | {"args": args}}
    if dial:
        predictor["model"]["volumeMounts"] = [{"name": "specdec-dial", "mountPath": "/etc/specdec/dial"}]
        predictor["volumes"] = [_DIAL]
    return {
        "apiVersion": ISVC[0],
        "kind": "InferenceService",
        "metadata": {"name": THEIRS, "annotations": {"specdec.io/enforce": "true"} if leave else {}},
        "spec": {"predictor": predictor},
    }
