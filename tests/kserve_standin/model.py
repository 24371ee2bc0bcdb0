"""The words of KServe's API and the values that the stand-in's steps hand to each other.

Nothing here decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
Metadata: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str]  # namespace and name of an InferenceService

GROUP = "serving.kserve.io"
ISVC_API = f"{GROUP}/v1beta1"
ISVC_LABEL = f"{GROUP}/inferenceservice"
FINALIZER = "inferenceservice.finalizers"
SERVER_CONTAINER = "kserve-container"

AUTOSCALER_CLASS = f"{GROUP}/autoscalerClass"
DEPLOYMENT_MODE = f"{GROUP}/deploymentMode"
DISABLE_AUTO_UPDATE = f"{GROUP}/disable-auto-update"
STOP = f"{GROUP}/stop"
SERVER_TYPE = f"{GROUP}/server-type"
READ_ONLY_STORAGE = "storage.kserve.io/readonly"
DEFAULT_ACCOUNT = "default"
AGENT = f"internal.{GROUP}/agent"

# KServe copies every annotation of an InferenceService to its pods, except these.
NEVER_COPIED = frozenset(
    {
        "autoscaling.knative.dev/min-scale",
        "autoscaling.knative.dev/max-scale",
        f"internal.{GROUP}/storage-initializer-sourceuri",
        "kubectl.kubernetes.io/last-applied-configuration",
        "modelFormat",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What an administrator chooses in KServe's ConfigMap; the defaults are those of the recordings.

    oci_mode: how oci:// is served, empty where it is switched off. modelcar_user: the user of Modelcars and of the
    server beside them. s3_*: the names of the two keys in a secret, and the defaults of what a secret may say besides.
    secret_annotation: of an InferenceService, naming the secret to use in place of the account's.
    """

    ingress_domain: str = "example.com"
    storage_initializer_image: str = "localhost/storage-initializer:v0.20.0"
    storage_initializer_resources: Manifest = field(
        default_factory=lambda: resources(("100m", "100Mi"), limits=("1", "1Gi"))
    )
    oci_mode: str = "modelcar"
    modelcar_user: int | None = None
    modelcar_resources: Manifest = field(default_factory=lambda: resources(("10m", "15Mi")))
    s3_key_name: str = "awsAccessKeyID"
    s3_secret_name: str = "awsSecretAccessKey"  # noqa: S105 - a key's name
    s3_defaults: dict[str, str] = field(default_factory=dict)
    secret_annotation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What else of the cluster goes into a download: storage containers, the pod's account, its secrets by name."""

    containers: tuple[Manifest, ...] = ()
    account: Manifest | None = None
    secrets: dict[str, Manifest] = field(default_factory=dict)


def resources(requests: tuple[str, str], *, limits: tuple[str, str] | None = None) -> Manifest:
    """Return a container's resources from pairs of CPU and memory; without limits they are the requests."""
    names = ("cpu", "memory")
    asked = dict(zip(names, requests, strict=True))
    return {"limits": dict(zip(names, limits, strict=True)) if limits else dict(asked), "requests": asked}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A ServingRuntime, or a ClusterServingRuntime when it has no namespace."""

    name: str
    cluster_scoped: bool
    annotations: dict[str, str] = field(default_factory=dict)
    spec: Manifest


class RefusalKind(StrEnum):
    """How a refusal shows in the status of an InferenceService."""

    INVALID_SPEC = "InvalidSpec"  # in modelStatus only; the conditions stay as they were
    RECONCILE_FAILED = "ReconcileFailed"  # in the conditions PredictorReady and Ready


class Refused(Exception):
    """KServe would not make the objects of this InferenceService; the message is what it says."""

    def __init__(self, *, kind: RefusalKind, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.reason = reason


def reconcile_failed(message: str, *, step: str = "fails to create NewRawKubeReconciler for predictor: ") -> Refused:
    """Return a refusal as it shows in the conditions; most happen while KServe prepares the Deployment."""
    return Refused(kind=RefusalKind.RECONCILE_FAILED, message=step + message)


def not_covered(what: str) -> Refused:
    """Return the stand-in's own refusal of what only the real KServe does."""
    return reconcile_failed(f"the KServe stand-in does not cover {what}; use the real KServe for it", step="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What KServe sends to the API server for one InferenceService."""

    deployment: Manifest
    service: Manifest
    autoscaler: Manifest | None

    def objects(self) -> tuple[Manifest, ...]:
        """Return the objects in the order in which KServe's recordings list them."""
        some = (self.deployment, self.service, self.autoscaler)
        return tuple(manifest for manifest in some if manifest is not None)


def annotation(manifest: Manifest, key: str) -> str | None:
    """Return one annotation of an object, or None."""
    value: str | None = (manifest["metadata"].get("annotations") or {}).get(key)
    return value


def is_stopped(isvc: Manifest) -> bool:
    """Say whether the user asked KServe to take this InferenceService down and keep only its record."""
    return (annotation(isvc, STOP) or "").lower() == "true"


def is_ready(isvc: Manifest) -> bool:
    """Say whether an InferenceService calls itself Ready."""
    conditions = (isvc.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def app_label(isvc: Manifest) -> str:
    """Return the value of the label `app` by which KServe selects the predictor's pods."""
    return f"isvc.{predictor_name(isvc)}"


def predictor_name(isvc: Manifest) -> str:
    """Return the name that KServe gives the Deployment, the Service and the HPA."""
    return f"{isvc['metadata']['name']}-predictor"
