"""Who sets the number of pods besides spec.replicas: KServe's HPA or KEDA, or somebody else's scaler.

The words are KServe's, and what they lead to is KServe's too (docs/decisions/0027-who-counts-the-pods.md).
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field
from pydantic.config import JsonDict

from specdec_operator.api.types import Free, FreeList, Part, rule, rules

_MOST: Final = 1000
_Count = Annotated[int, Field(ge=1, le=_MOST)]
MESSAGE: Final = "spec.autoscaling sets the number of pods: leave replicas out, or take autoscaling out"
_BY_RESOURCE: Final = ("scaleMetric", "scaleTarget", "scaleMetricType")


class ScalerClass(StrEnum):
    """Who scales, in KServe's words (annotation serving.kserve.io/autoscalerClass)."""

    HPA = "hpa"
    KEDA = "keda"
    EXTERNAL = "external"


class ScaleMetric(StrEnum):
    """What KServe's HPA scales by."""

    CPU = "cpu"
    MEMORY = "memory"


class ScaleMetricType(StrEnum):
    """What the target of a scaleMetric is. KServe 0.20 knows Utilization alone there; `metrics` has the others."""

    UTILIZATION = "Utilization"


def _hpa(expression: str) -> str:
    return f"self.autoscalerClass != 'hpa' || {expression}"


def _keda(expression: str) -> str:
    return f"self.autoscalerClass != 'keda' || {expression}"


def _external_says_nothing() -> JsonDict:
    """Another scaler has its own numbers; one here would be written for nobody."""
    said = ("minReplicas", "maxReplicas", *_BY_RESOURCE, "metrics", "behavior")
    none = " && ".join(f"!has(self.{each})" for each in said)
    message = "with class external your own scaler sets the pods of Deployment NAME-predictor: leave the numbers to it"
    return rule(f"self.autoscalerClass != 'external' || ({none})", message)


class Autoscaling(Part):
    """The number of pods, set by an autoscaler by what they do."""

    model_config = rules(
        _external_says_nothing(),
        rule(
            "self.autoscalerClass == 'external' || has(self.maxReplicas)",
            "an autoscaler needs an upper end: set maxReplicas to what quota and devices allow",
            ".maxReplicas",
        ),
        rule(
            "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
            "minReplicas must not be above maxReplicas",
            ".minReplicas",
        ),
        rule(
            "!has(self.minReplicas) || self.minReplicas > 0 || self.autoscalerClass == 'keda'",
            "only KEDA scales to zero: with class hpa at least one pod stays, so minReplicas is 1 or more",
            ".minReplicas",
        ),
        rule(
            _keda(" && ".join(f"!has(self.{each})" for each in _BY_RESOURCE)),
            "KEDA scales by metrics alone: write there what scaleMetric and scaleTarget would say",
            ".metrics",
        ),
        rule(
            _keda("(has(self.metrics) && self.metrics.size() > 0)"),
            "KEDA needs something to scale by: name it in metrics, as KServe's predictor.autoScaling.metrics does",
            ".metrics",
        ),
        rule(
            _hpa("!has(self.behavior)"),
            "KServe's HPA has no behavior of its own; use class keda, or class external with an HPA that you write",
            ".behavior",
        ),
        rule(
            _hpa("!has(self.metrics) || (" + " && ".join(f"!has(self.{each})" for each in _BY_RESOURCE) + ")"),
            "KServe heeds metrics alone where there are some: leave scaleMetric, scaleTarget and scaleMetricType out",
            ".metrics",
        ),
        rule(
            _hpa("!has(self.scaleMetric) || self.scaleMetric != 'memory' || has(self.scaleTarget)"),
            "KServe has no default for memory, and would scale by CPU: set scaleTarget, in percent of the request",
            ".scaleTarget",
        ),
    )

    autoscaler_class: ScalerClass = Field(
        ScalerClass.HPA,
        description="hpa: KServe makes a HorizontalPodAutoscaler, by CPU or memory. keda: KServe makes a ScaledObject, "
        "by metrics; KEDA must be installed. external: your own scaler sets the number of pods of Deployment "
        "NAME-predictor, and nobody else touches it. Another class replaces the pods.",
    )
    min_replicas: Annotated[int, Field(ge=0, le=_MOST)] | None = Field(
        None, description="Fewest pods; 0, scaling to zero, with keda alone. Default: 1."
    )
    max_replicas: _Count | None = Field(None, description="Most pods. During a rollout there are more for a while.")
    scale_metric: ScaleMetric | None = Field(None, description="For hpa. Default: cpu.")
    scale_target: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None,
        description="For hpa: mean use of the pods, in percent of what their containers request. Default: 80 for cpu.",
    )
    scale_metric_type: ScaleMetricType | None = Field(None, description="For hpa: Utilization, which is the default.")
    metrics: FreeList | None = Field(
        None,
        description="What is scaled by, passed on as predictor.autoScaling.metrics: Resource for hpa; Resource, "
        "External (a query to Prometheus or Graphite) or PodMetric (OpenTelemetry) for keda.",
    )
    behavior: Free | None = Field(
        None,
        description="For keda, passed on as predictor.autoScaling.behavior; KServe heeds the stabilization windows.",
    )

    @property
    def least(self) -> int:
        """Pods that there are at least, as far as is known here: a scaler of somebody else's may go down to none."""
        if self.autoscaler_class is ScalerClass.EXTERNAL:
            return 0
        return 1 if self.min_replicas is None else self.min_replicas


def rules_of_scaling() -> tuple[JsonDict, ...]:
    """What the rest of a spec may say beside it."""
    return (rule("!has(self.autoscaling) || self.replicas == 1", MESSAGE, ".replicas"),)
