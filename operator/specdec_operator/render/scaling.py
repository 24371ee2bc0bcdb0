"""How many pods the InferenceService asks for, or who decides that; and how they are replaced where there is no room.

KServe keeps the number of a Deployment's pods unless the autoscaler class is `none`: a rollback under an autoscaler
replaces as many pods as serve.
"""

from typing import Any, Final, TypeAlias

from specdec_operator.api.autoscaling import Autoscaling, ScalerClass
from specdec_operator.api.spec import Spec
from specdec_operator.names import KSERVE_GROUP

Manifest: TypeAlias = dict[str, Any]

SCALER: Final = f"{KSERVE_GROUP}/autoscalerClass"
_NOBODY: Final = "none"
BESIDE_PODS: Final = frozenset(
    {"minReplicas", "maxReplicas", "scaleMetric", "scaleTarget", "scaleMetricType", "autoScaling"}
)
"""Parts of the predictor about the number of pods. Changing them restarts none."""


def scaler_class(spec: Spec) -> str:
    """The value of KServe's annotation. It reaches the pods: another one replaces them."""
    return spec.autoscaling.autoscaler_class.value if spec.autoscaling else _NOBODY


def class_of_pods(spec: Spec) -> Manifest:
    """The part of that by which revisions differ; nothing without an autoscaler."""
    return {"autoscalerClass": scaler_class(spec)} if spec.autoscaling else {}


def number_of_pods(spec: Spec, fewer: int = 0) -> Manifest:
    """The predictor's part about it. fewer: pods that give way to baseline pods; an autoscaler's never do."""
    if spec.autoscaling is None:
        number = max(1, spec.replicas - fewer) if fewer else spec.replicas
        return {"minReplicas": number, "maxReplicas": number}
    if spec.autoscaling.autoscaler_class is ScalerClass.EXTERNAL:
        return {}
    return _of_kserves(spec.autoscaling)


def _of_kserves(asked: Autoscaling) -> Manifest:
    said = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
    more = {name: said[name] for name in ("metrics", "behavior") if name in said}
    named = ("maxReplicas", "scaleMetric", "scaleTarget", "scaleMetricType")
    return {
        "minReplicas": asked.least,
        **{name: said[name] for name in named if name in said},
        **({"autoScaling": more} if more else {}),
    }


def in_place(spec: Spec) -> Manifest:
    """The strategy by which old pods go before new ones come. An autoscaler's number changes, and this must not."""
    if spec.replicas == 1 and spec.autoscaling is None:
        return {"type": "Recreate"}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
