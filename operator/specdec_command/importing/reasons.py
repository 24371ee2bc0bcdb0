"""Why a part of an InferenceService is not carried over, and what to do about it."""

from types import MappingProxyType
from typing import Final

from specdec_command.importing.manifest import Lost, Manifest
from specdec_command.importing.source import Source

RENDERED: Final = MappingProxyType(
    {
        "ports": "the operator's runtime listens on 8080, behind the same Service",
        "name": "KServe sets the container name",
        "command": "the operator's runtime starts vLLM; its flags are carried over",
        "modelFormat": "the operator chooses it together with the runtime",
        "protocolVersion": "vLLM serves the OpenAI protocol",
        "imagePullPolicy": "the operator's runtime sets it",
        "terminationMessagePolicy": "the operator sets it to the last lines of a failed start",
    }
)
_WHY: Final = MappingProxyType(
    {
        "image": (
            "the operator serves with its own runtime, which has the engine, the startup proof and the drain",
            "to keep this image set spec.engine.image; the operator adds the missing parts to its pods "
            "(docs/images.md#your-own-image)",
        ),
        "runtime": (
            "the operator serves with its own runtime, and the flags of this one were not read",
            "add its manifest to the file, or import isvc/NAME from the cluster, so that its flags are read; to keep "
            "this runtime set spec.engine.runtime (docs/images.md#your-own-image), or use `GUARD`",
        ),
        "readinessProbe": ("the operator's own probe reads /health", "see spec.engine.startTimeout"),
        "startupProbe": ("the operator's own probe waits for a first answer", "see spec.engine.startTimeout"),
        "lifecycle": ("the operator's own hook drains a pod before it stops", "see spec.rollout.grace"),
        "storage": (
            "only KServe can resolve a key of the Secret storage-config",
            "set spec.model.uri to the URI, and set a service account with the credentials in spec.pod",
        ),
        "deploymentStrategy": ("the operator renders its own strategy", "see spec.rollout.strategy"),
        "canaryTrafficPercent": ("a service has one revision at a time", "split the traffic in front of two services"),
        "transformer": ("a service has a predictor only", "keep it as a separate InferenceService"),
        "explainer": ("a service has a predictor only", "keep it as a separate InferenceService"),
        "initContainers": ("a service has the engine's container only", "add it to your own runtime"),
        "containers": ("a service has the engine's container only", "add it to your own runtime"),
        "strategy": ("the operator renders its own strategy", "see spec.rollout.strategy"),
        "selector": ("KServe selects the pods by labels of its own", "remove it"),
        "progressDeadlineSeconds": ("the operator has its own deadline", "see spec.rollout.deadline"),
        "minReadySeconds": ("the startup probe waits for a first answer", "see spec.engine.startTimeout"),
        "envFrom": ("engine.env lists each variable", "add them to spec.engine.env with valueFrom"),
    }
)
"""Why a field is not carried, and the way out, by its name."""
_UNKNOWN: Final = ("a service has no field for it", "see docs/api.md, or use `GUARD`")


def over_several(source: Source) -> str:
    """Why an engine over several pods is not imported."""
    return f"this engine runs over several pods, and a service has one pod for each replica; {source.way_out}"


def untaken(whole: Manifest, source: Source) -> tuple[list[Lost], list[str]]:
    """What nothing took of an InferenceService, and why there cannot be a service. source: the object."""
    lost, why_not = [], []
    for path, value in whole.left():
        if path.startswith("spec.predictor.workerSpec"):
            why_not.append(f"spec.predictor.workerSpec: {over_several(source)}")
        else:
            lost.append(reason(path, value, source.guard))
    return lost, why_not


def reason(path: str, value: object, guard: str, origin: str = "") -> Lost:
    """Why a field is not carried over. origin: what stands before its path."""
    steps = path.replace("]", "").replace("[", ".").split(".")
    why, way_out = next((_WHY[each] for each in reversed(steps) if each in _WHY), _UNKNOWN)
    shown = f"{path} ({value})" if isinstance(value, str | int | float) else path
    return Lost(field=origin + shown, why=why, way_out=way_out.replace("GUARD", guard))
