"""Why a part of an InferenceService is not carried over, and what to do about it."""

from types import MappingProxyType
from typing import Final

from specdec_operator.importing.manifest import Lost, Manifest

RENDERED: Final = MappingProxyType(
    {
        "ports": "the operator's runtime listens on 8080, behind the same Service",
        "name": "KServe's name of the container",
        "command": "the operator's runtime starts vLLM; its flags are carried over",
        "modelFormat": "the operator chooses it together with the runtime",
        "protocolVersion": "OpenAI's, as vLLM speaks it",
        "imagePullPolicy": "that of the operator's runtime",
        "terminationMessagePolicy": "the operator's: the last lines of a failed start",
    }
)
_WHY: Final = MappingProxyType(
    {
        "image": (
            "the operator serves with its own runtime, which holds the engine and what proves and drains it",
            "to keep this image set spec.engine.image, and what it lacks is brought into its pods (docs/own-image.md)",
        ),
        "runtime": (
            "the operator serves with its own runtime",
            "to keep this one set spec.engine.runtime (docs/own-image.md), or use `specdec guard isvc/NAME`",
        ),
        "readinessProbe": ("the operator's own asks /health", "see spec.engine.startTimeout"),
        "livenessProbe": ("the runtime ends with an engine that died, and the kubelet starts it anew", "leave it out"),
        "startupProbe": ("the operator's own waits for a first answer", "see spec.engine.startTimeout"),
        "lifecycle": ("the operator's own hook drains a pod that is to stop", "see spec.rollout.grace"),
        "storage": (
            "a key of the Secret storage-config is known to KServe alone",
            "write the URI into spec.model.uri, and a service account with the credentials into spec.pod",
        ),
        "deploymentStrategy": ("the operator renders its own", "see spec.rollout.strategy"),
        "canaryTrafficPercent": ("a service has one revision at a time", "split traffic in front of two services"),
        "transformer": ("a service is one predictor", "keep it as an InferenceService of its own"),
        "explainer": ("a service is one predictor", "keep it as an InferenceService of its own"),
        "initContainers": ("a service has the engine's container alone", "put it into a runtime of yours"),
        "containers": ("a service has the engine's container alone", "put it into a runtime of yours"),
        "envFrom": ("engine.env names each variable", "write them into spec.engine.env with valueFrom"),
    }
)
"""Why a field is not carried, and the way out, by its name."""
_UNKNOWN: Final = ("it has no place in a service", "see docs/api.md, or use `specdec guard isvc/NAME`")
_WORKERS: Final = (
    "spec.predictor.workerSpec: this engine runs over several pods, and a service has one pod for each replica; guard "
    "it where it is: `specdec guard isvc/NAME`"
)


def untaken(whole: Manifest, name: str) -> tuple[list[Lost], list[str]]:
    """What nothing took of an InferenceService, and why there cannot be a service. name: of the InferenceService."""
    lost, why_not = [], []
    for path, value in whole.left():
        if path.startswith("spec.predictor.workerSpec"):
            why_not.append(_WORKERS.replace("NAME", name))
            continue
        steps = path.replace("]", "").replace("[", ".").split(".")
        why, way_out = next((_WHY[each] for each in reversed(steps) if each in _WHY), _UNKNOWN)
        shown = f"{path} ({value})" if isinstance(value, str | int | float) else path
        lost.append(Lost(field=shown, why=why, way_out=way_out.replace("NAME", name)))
    return lost, why_not
