"""Who sets the number of pods instead of spec.replicas: KServe's HPA, KEDA, or another scaler.

The values are KServe's, and KServe defines what they do (docs/decisions/0027-who-counts-the-pods.md).
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field
from pydantic.config import JsonDict

from specdec_operator.api.types import Free, FreeList, Part, rule, rules

_MOST: Final = 1000
_Count = Annotated[int, Field(ge=1, le=_MOST)]
MESSAGE: Final = "spec.autoscaling sets the number of pods: remove replicas, or remove autoscaling"
_BY_RESOURCE: Final = ("scaleMetric", "scaleTarget", "scaleMetricType")


class ScalerClass(StrEnum):
    """Who scales. The values are those of KServe's annotation serving.kserve.io/autoscalerClass."""

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
    """Another scaler has its own numbers, so numbers here would have no effect."""
    said = ("minReplicas", "maxReplicas", *_BY_RESOURCE, "metrics", "behavior")
    none = " && ".join(f"!has(self.{each})" for each in said)
    message = (
        "with class external your own scaler sets the number of pods of Deployment NAME-predictor: remove the other "
        "fields"
    )
    return rule(f"self.autoscalerClass != 'external' || ({none})", message)


class Autoscaling(Part):
    """The number of pods, set by an autoscaler by what they do."""

    model_config = rules(
        _external_says_nothing(),
        rule(
            "self.autoscalerClass == 'external' || has(self.maxReplicas)",
            "an autoscaler needs an upper limit: set maxReplicas, within your quota and devices",
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
            "KEDA uses only metrics: set metrics instead of scaleMetric and scaleTarget",
            ".metrics",
        ),
        rule(
            _keda("(has(self.metrics) && self.metrics.size() > 0)"),
            "KEDA needs a metric: set metrics, in the format of KServe's predictor.autoScaling.metrics",
            ".metrics",
        ),
        rule(
            _hpa("!has(self.behavior)"),
            "KServe's HPA has no behavior field; use class keda, or class external with your own HPA",
            ".behavior",
        ),
        rule(
            _hpa("!has(self.metrics) || (" + " && ".join(f"!has(self.{each})" for each in _BY_RESOURCE) + ")"),
            "if metrics is set, KServe ignores scaleMetric, scaleTarget and scaleMetricType: remove them",
            ".metrics",
        ),
        rule(
            _hpa("!has(self.scaleMetric) || self.scaleMetric != 'memory' || has(self.scaleTarget)"),
            "KServe has no default target for memory and would scale by CPU: set scaleTarget, in percent of the "
            "request",
            ".scaleTarget",
        ),
    )

    autoscaler_class: ScalerClass = Field(
        ScalerClass.HPA,
        description="hpa: KServe creates a HorizontalPodAutoscaler for CPU or memory. keda: KServe creates a "
        "ScaledObject for metrics; KEDA must be installed. external: only your own scaler sets the number "
        "of pods of Deployment NAME-predictor. A change of the class replaces the pods.",
    )
    min_replicas: Annotated[int, Field(ge=0, le=_MOST)] | None = Field(
        None, description="Minimum number of pods. 0 (scaling to zero) works only with keda. Default: 1."
    )
    max_replicas: _Count | None = Field(None, description="Maximum number of pods. A rollout temporarily exceeds it.")
    scale_metric: ScaleMetric | None = Field(None, description="For hpa. Default: cpu.")
    scale_target: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None,
        description=(
            "For hpa: mean use of the pods, in percent of the requests of their containers. Default: 80 for cpu."
        ),
    )
    scale_metric_type: ScaleMetricType | None = Field(None, description="For hpa: Utilization. Default: Utilization.")
    metrics: FreeList | None = Field(
        None,
        description="The metrics to scale by, passed on as predictor.autoScaling.metrics: Resource for hpa; Resource, "
        "External (a query to Prometheus or Graphite) or PodMetric (OpenTelemetry) for keda.",
    )
    behavior: Free | None = Field(
        None,
        description="For keda, passed on as predictor.autoScaling.behavior; KServe uses the stabilization windows.",
    )

    @property
    def least(self) -> int:
        """Minimum number of pods, as far as it is known here: an external scaler may go down to zero."""
        if self.autoscaler_class is ScalerClass.EXTERNAL:
            return 0
        return 1 if self.min_replicas is None else self.min_replicas


def rules_of_scaling() -> tuple[JsonDict, ...]:
    """What the rest of a spec may contain in addition to it."""
    return (rule("!has(self.autoscaling) || self.replicas == 1", MESSAGE, ".replicas"),)
