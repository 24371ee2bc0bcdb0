"""Says what the stand-in does not cover, so that nobody takes its silence for KServe's behaviour.

It knows no rule of KServe: a refusal from here is the stand-in's own and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kserve_standin.model import (
    AUTOSCALER_CLASS,
    DEPLOYMENT_MODE,
    Manifest,
    annotation,
    not_covered,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_COVERED_MODES = {None, "Standard", "RawDeployment"}
_OTHER_PARTS = ("transformer", "explainer", "canary")
_OTHER_PREDICTOR_FIELDS = ("workerSpec", "logger", "batcher", "name", "autoScaling", "confidential")


def check_scope(isvc: Manifest) -> None:
    """Raise a refusal that names every part of the InferenceService which only the real KServe handles."""
    beyond = list(_beyond(isvc))
    if beyond:
        raise not_covered(", ".join(beyond))


def _beyond(isvc: Manifest) -> Iterator[str]:
    mode, scaler = annotation(isvc, DEPLOYMENT_MODE), annotation(isvc, AUTOSCALER_CLASS)
    if mode not in _COVERED_MODES:
        yield f"{DEPLOYMENT_MODE}={mode}"
    if scaler == "keda":
        yield f"{AUTOSCALER_CLASS}=keda"
    yield from (f"spec.{part}" for part in _OTHER_PARTS if isvc["spec"].get(part))
    predictor = isvc["spec"]["predictor"]
    yield from (f"spec.predictor.{name}" for name in _OTHER_PREDICTOR_FIELDS if predictor.get(name))
    model = predictor.get("model")
    if model is None:
        yield "a predictor without spec.predictor.model"
        return
    if not model.get("runtime"):
        yield "choosing a runtime (set spec.predictor.model.runtime)"
    yield from (f"spec.predictor.model.{name}" for name in ("storageUri", "storage") if model.get(name))
