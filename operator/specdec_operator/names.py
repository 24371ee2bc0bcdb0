"""Names that the operator, its users and the cluster share: group, kind, labels, annotations, field managers."""

from typing import Any, Final, TypeAlias

GROUP: Final = "serving.specdec.io"
VERSION: Final = "v1alpha1"
KIND: Final = "SpeculativeInferenceService"
PLURAL: Final = "speculativeinferenceservices"
SINGULAR: Final = "speculativeinferenceservice"
SHORT_NAME: Final = "sis"
API_VERSION: Final = f"{GROUP}/{VERSION}"

KSERVE_GROUP: Final = "serving.kserve.io"
KSERVE_VERSION: Final = "v1beta1"
KSERVE_API_VERSION: Final = f"{KSERVE_GROUP}/{KSERVE_VERSION}"

OWNER_LABEL: Final = f"{GROUP}/name"
"""On every rendered object and pod: the name of the service that it belongs to."""
REVISION_LABEL: Final = f"{GROUP}/revision"
"""On every pod: which rendering of the predictor it runs."""
STAGING_LABEL: Final = f"{GROUP}/staging"
"""On every download Job and its pods: which artifact it brings, `target` or `draft`."""
BASELINE_LABEL: Final = f"{GROUP}/arm"
"""On the Deployment and the pods of the baseline arm: `plain`."""

ANNOTATION_PREFIX: Final = "specdec.io/"
SYNTHETIC_ANNOTATION: Final = f"{ANNOTATION_PREFIX}allow-synthetic"
"""`true` lets the engine pretend an acceptance: its answers are garbage, and only tests want that."""
RETRY_ANNOTATION: Final = f"{ANNOTATION_PREFIX}retry"
"""Any new value asks for speculation again after a rollback. The value handled last is in status."""
ROLLBACK_ANNOTATION: Final = f"{ANNOTATION_PREFIX}rollback"
"""Any new value takes speculation out. The value handled last is in status."""
HOLD_ANNOTATION: Final = f"{ANNOTATION_PREFIX}hold"
"""While it is there, the guard measures and reports, and changes nothing by itself."""
DIAL_ANNOTATION: Final = f"{ANNOTATION_PREFIX}dial"
"""On a service: the draft tokens that the user asks its running engines for. On a pod: its setting (guard/dial.py)."""
ATTEMPT_ANNOTATION: Final = f"{ANNOTATION_PREFIX}attempt"
"""On every download Job: how often it has been made, the first time being 1."""
MADE_OF_ANNOTATION: Final = f"{ANNOTATION_PREFIX}made-of"
"""On every download Job: a digest of its spec, which shows a Job of another spec."""
FAILED_ANNOTATION: Final = f"{ANNOTATION_PREFIX}failed"
"""On a download Job that was made again: why the one before failed."""
CLAIM_ANNOTATION: Final = f"{ANNOTATION_PREFIX}claim"
"""On every download Job: the UID of the PVC that it downloads into, which shows another PVC of this name."""

ADOPT_ANNOTATION: Final = f"{GROUP}/adopt"
"""`true` lets a service take over the InferenceService and PVC of its names that no object controls."""

KSERVE_NAME_LABEL: Final = f"{KSERVE_GROUP}/inferenceservice"
"""On every pod of an InferenceService: its name. KServe's own label."""
ENFORCE_ANNOTATION: Final = f"{ANNOTATION_PREFIX}enforce"
"""`true` on an InferenceService of another owner: the guard may take its speculative flag out."""
TAKEN_OUT_ANNOTATION: Final = f"{ANNOTATION_PREFIX}taken-out"
"""On such an InferenceService: what was taken out of it, by which service, as JSON."""

CHILD_MANAGER: Final = "specdec-operator"
GUARD_MANAGER: Final = "specdec-guard"
"""Writes what is guarded and not served."""
STATUS_MANAGER: Final = "specdec-operator-status"
FINALIZER: Final = f"{GROUP}/operator"
"""What older versions put on every service. It is taken off: nothing waits for the operator any more."""

Key: TypeAlias = tuple[str, str]
"""Namespace and name of a service."""


def literal(text: str) -> str:
    """Text of a container in which Kubernetes does not put the values of variables for `$(NAME)`."""
    return text.replace("$", "$$")


def services_path(namespace: str, name: str = "") -> str:
    """The path in the API of a service, or of all of a namespace; of the whole cluster where no namespace is named."""
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{API_VERSION}{place}/{PLURAL}" + (f"/{name}" if name else "")


def inference_services_path(namespace: str, name: str = "") -> str:
    """The path in the API of an InferenceService, as `services_path`."""
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{KSERVE_API_VERSION}{place}/inferenceservices" + (f"/{name}" if name else "")


def inference_service(namespace: str, name: str) -> dict[str, Any]:
    """An InferenceService by what names it, to be looked up or patched."""
    meta = {"namespace": namespace, "name": name}
    return {"apiVersion": KSERVE_API_VERSION, "kind": "InferenceService", "metadata": meta}
