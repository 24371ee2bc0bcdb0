"""What sets the number of pods of an InferenceService, as KServe acts on it, and the same in a service."""

from typing import Any

import pytest

from specdec_command.importing.inference_service import InferenceServiceParts, read
from specdec_command.importing.source import Source

CLASS = "serving.kserve.io/autoscalerClass"
CPU: dict[str, Any] = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}


def parts(predictor: dict[str, Any], **annotations: str) -> InferenceServiceParts:
    """What is made of an InferenceService with this predictor; annotations by `scaler` and `mode`."""
    known = {"scaler": CLASS, "mode": "serving.kserve.io/deploymentMode"}
    meta = {"name": "x", "annotations": {known[key]: value for key, value in annotations.items()}}
    model = {"args": ["--model=/mnt/models"], "storageUri": "pvc://claim/x"}
    return read(Source(body={"metadata": meta, "spec": {"predictor": {"model": model, **predictor}}}))


@pytest.mark.parametrize(
    ("predictor", "scaler", "spec"),
    [
        ({}, "", {}),
        ({"minReplicas": 2}, "", {"replicas": 2}),
        ({"minReplicas": 2, "maxReplicas": 2, "scaleTarget": 50}, "", {"replicas": 2}),
        ({"minReplicas": 2, "maxReplicas": 5}, "none", {"replicas": 2}),
        (
            {"minReplicas": 1, "maxReplicas": 5},
            "",
            {"autoscaling": {"autoscalerClass": "hpa", "minReplicas": 1, "maxReplicas": 5}},
        ),
        (
            {"minReplicas": 0, "maxReplicas": 5, "scaleMetric": "memory", "scaleTarget": 60},
            "hpa",
            {
                "autoscaling": {
                    "autoscalerClass": "hpa",
                    "minReplicas": 1,
                    "maxReplicas": 5,
                    "scaleMetric": "memory",
                    "scaleTarget": 60,
                }
            },
        ),
        (
            {"maxReplicas": 5, "scaleMetric": "memory"},
            "hpa",
            {"autoscaling": {"autoscalerClass": "hpa", "minReplicas": 1, "maxReplicas": 5}},
        ),
        (
            {"maxReplicas": 5, "autoScaling": {"metrics": [CPU]}, "scaleTarget": 60},
            "hpa",
            {"autoscaling": {"autoscalerClass": "hpa", "minReplicas": 1, "maxReplicas": 5, "metrics": [CPU]}},
        ),
        (
            {"minReplicas": 0, "maxReplicas": 5, "autoScaling": {"metrics": [CPU]}},
            "keda",
            {"autoscaling": {"autoscalerClass": "keda", "minReplicas": 0, "maxReplicas": 5, "metrics": [CPU]}},
        ),
        ({"minReplicas": 2, "maxReplicas": 5}, "external", {"autoscaling": {"autoscalerClass": "external"}}),
    ],
)
def test_what_scales_is_carried_as_kserve_acts_on_it(predictor: dict[str, Any], scaler: str, spec: Any) -> None:
    """Without an annotation KServe makes an HPA. An HPA with equal bounds scales nothing. No setting is lost."""
    made = parts(predictor, **({"scaler": scaler} if scaler else {}))
    assert {key: made.spec[key] for key in ("replicas", "autoscaling") if key in made.spec} == spec
    assert [str(each) for each in made.lost] == []


@pytest.mark.parametrize(
    ("predictor", "mode"),
    [
        ({"minReplicas": 0, "maxReplicas": 4, "scaleTarget": 8}, "Knative"),
        ({"minReplicas": 0, "maxReplicas": 4, "scaleMetric": "concurrency", "scaleTarget": 8}, "Standard"),
    ],
)
def test_a_metric_of_knative_is_reported_by_name(predictor: dict[str, Any], mode: str) -> None:
    """An HPA and KEDA's CPU scaler do not know the number of concurrent requests."""
    made = parts(predictor, mode=mode)
    assert "autoscaling" not in made.spec
    lost = " ".join(str(each) for each in made.lost)
    assert all(f"spec.predictor.{name}" in lost for name in predictor)
