"""How many pods an InferenceService has, or who scales it, as the same of a service.

KServe's behaviour counts, not the manifest's text: without an annotation it makes an HPA, and one whose minimum equals
its maximum scales nothing (docs/decisions/0027-who-counts-the-pods.md).
"""

from typing import Any, Final, Protocol

from specdec_command.importing.manifest import Lost, Manifest, Replaced

_PREDICTOR: Final = ("spec", "predictor")
_NUMBERS: Final = ("minReplicas", "maxReplicas", "scaleMetric", "scaleTarget", "scaleMetricType", "autoScaling")
_RESOURCES: Final = ("cpu", "memory")
_SET: Final = "set spec.autoscaling, or set spec.replicas for the expected load"


class ImportedScaling(Protocol):
    """What is made of an InferenceService, as far as this needs it. scaler: its autoscaler class; knative: its mode."""

    lost: list[Lost]
    replaced: list[Replaced]
    scaler: str
    knative: bool

    def carry(self, value: object, to: str, source: str) -> None:
        """Sets a place of the spec."""


def carry_scaling(whole: Manifest, parts: ImportedScaling) -> None:
    """Carries what scales. Fields without effect there are listed as replaced, those without equivalent as lost."""
    least, most = whole.look(int, *_PREDICTOR, "minReplicas"), whole.look(int, *_PREDICTOR, "maxReplicas")
    metrics: list[Any] | None = whole.look(list, *_PREDICTOR, "autoScaling", "metrics")
    first = 1 if least is None else least
    if parts.knative or whole.look(str, *_PREDICTOR, "scaleMetric") in ("concurrency", "rps"):
        _knative(whole, parts, first)
    elif parts.scaler == "external":
        parts.carry("external", "autoscaling.autoscalerClass", _annotation())
        _replace(whole, parts, "your own scaler sets the number of pods")
    elif parts.scaler == "keda" and metrics:
        _carry(whole, parts, "keda", first, max(first, most or 0, 1))
    elif parts.scaler == "hpa" and (most or 0) > max(first, 1):
        _carry(whole, parts, "hpa", max(first, 1), most or 1)
    else:
        _fixed(whole, parts, first)


def _annotation() -> str:
    return "metadata.annotations[serving.kserve.io/autoscalerClass]"


def _fixed(whole: Manifest, parts: ImportedScaling, first: int) -> None:
    """Nothing scales: class none, an HPA whose minimum equals its maximum, or a ScaledObject without a metric."""
    if first > 1:
        parts.carry(first, "replicas", "spec.predictor.minReplicas")
    whole.take(int, *_PREDICTOR, "minReplicas")
    _replace(whole, parts, f"nothing scales it: it has {max(first, 1)} pods")


def _carry(whole: Manifest, parts: ImportedScaling, scaler: str, least: int, most: int) -> None:
    parts.carry(scaler, "autoscaling.autoscalerClass", _annotation())
    for name, value in (("minReplicas", least), ("maxReplicas", most)):
        whole.take(int, *_PREDICTOR, name)
        parts.carry(value, f"autoscaling.{name}", f"spec.predictor.{name}")
    if metrics := whole.take(list, *_PREDICTOR, "autoScaling", "metrics"):
        parts.carry(metrics, "autoscaling.metrics", "spec.predictor.autoScaling.metrics")
    elif scaler == "hpa":
        _by_resource(whole, parts)
    if scaler == "keda" and (behavior := whole.take(dict, *_PREDICTOR, "autoScaling", "behavior")):
        parts.carry(behavior, "autoscaling.behavior", "spec.predictor.autoScaling.behavior")
    by = "KServe uses only metrics" if metrics else f"KServe's {scaler} ignores it"
    _replace(whole, parts, by)


def _by_resource(whole: Manifest, parts: ImportedScaling) -> None:
    """scaleMetric and its target; by memory KServe scales only where there is one."""
    metric = whole.look(str, *_PREDICTOR, "scaleMetric")
    target = whole.look(int, *_PREDICTOR, "scaleTarget")
    if metric == "memory" and target is None:
        return
    if metric in _RESOURCES:
        parts.carry(whole.take(str, *_PREDICTOR, "scaleMetric"), "autoscaling.scaleMetric", _at("scaleMetric"))
    if isinstance(target, int) and 1 <= target <= 100:
        parts.carry(whole.take(int, *_PREDICTOR, "scaleTarget"), "autoscaling.scaleTarget", _at("scaleTarget"))
    if whole.look(str, *_PREDICTOR, "scaleMetricType") == "Utilization":
        kind = whole.take(str, *_PREDICTOR, "scaleMetricType")
        parts.carry(kind, "autoscaling.scaleMetricType", _at("scaleMetricType"))


def _at(name: str) -> str:
    return f"spec.predictor.{name}"


def _knative(whole: Manifest, parts: ImportedScaling, first: int) -> None:
    """Knative scales by requests at once; services run in Standard mode."""
    if first > 1:
        parts.carry(first, "replicas", "spec.predictor.minReplicas")
        whole.take(int, *_PREDICTOR, "minReplicas")
    why = "only Knative uses it, and a service runs in Standard mode"
    for name in _NUMBERS:
        value = whole.take(object, *_PREDICTOR, name)
        if value is not None and not (name == "minReplicas" and value == 1):
            parts.lost.append(Lost(field=f"{_at(name)} ({value})", why=why, way_out=_SET))


def _replace(whole: Manifest, parts: ImportedScaling, by: str) -> None:
    """What is left of it does nothing where it stands."""
    for name in _NUMBERS:
        if whole.take(object, *_PREDICTOR, name) is not None:
            parts.replaced.append(Replaced(field=_at(name), by=by))
