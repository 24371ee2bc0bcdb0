"""A denial, by its source: missing permissions, a quota, admission, or a namespace that ends. Pure.

Kubernetes has one status for all of them, 403, and webhooks use 400 and 422 as well: only the message shows which it
is. Each has its own way out, and its own pause before it is asked again.
"""

import re
from typing import Final

from specdec_operator.errors import Invalid, OperatorError, Unavailable

QUOTA_EXCEEDED: Final = "QuotaExceeded"
QUOTA_PAUSE: Final = 30.0
"""Seconds after which a quota that was full is tried again: pods end, and PVCs are deleted."""
_RIGHTS_PAUSE: Final = 60.0
"""Seconds after which a missing permission is tried again: an administrator has to grant it."""
_QUOTA: Final = re.compile(r"exceeded quota:|status unknown for quota")
_RIGHTS: Final = re.compile(r" cannot [a-z]+ resource ")
_OF_DOWNLOADS: Final = re.compile(r' resource "(?:persistentvolumeclaims|jobs)" ')
_DOWNLOADS: Final = (
    "downloads into a PVC need a permission that is not granted by default: run `kubectl apply -k "
    "manifests/downloads`, or set rbac.downloads=true in the Helm chart; or remove staging.mode, and each pod "
    "downloads its own copy"
)
_OF_BASELINE_PODS: Final = re.compile(r' cannot (?:get|create|patch|delete) resource "deployments" ')
_CONTROL: Final = (
    "baseline pods need a permission to write Deployments that is not granted by default: in the Helm chart add "
    "NAMESPACE/NAME of this service to rbac.controlServices, or set rbac.control=true for all; without Helm run "
    "`kubectl apply -k manifests/control`; or set guard.control.mode Never, and a baseline of another time is compared"
)
_OF_DIAL: Final = re.compile(r' cannot patch resource "pods" ')
_DIAL: Final = "the dial of running pods needs a permission that Kubernetes 1.30 or newer can limit to one annotation"
_ENDING: Final = re.compile(r"is being terminated")
_ADMISSION: Final = re.compile(
    r"admission webhook .* denied the request|ValidatingAdmissionPolicy .* denied request|violates PodSecurity"
    r"|(?:maximum|minimum) .* (?:per|usage)"
)
"""A webhook, a policy, Pod Security, a LimitRange."""


def is_of_admission(answer: str) -> bool:
    """Whether a webhook, a policy or a LimitRange refused, whatever the status."""
    return _ADMISSION.search(answer) is not None


def denial(answer: str, what: str, *, final: bool) -> OperatorError:
    """The error for a denial. answer: the API server's message; what: the object, as `Kind name`.

    final: whether the object was made of the service's spec, so that a change of the spec is the fix. Else, and for
    what is missing in the cluster, it is Unavailable.
    """
    if _ENDING.search(answer):
        return Unavailable("NamespaceTerminating", f"{answer}: no object can be created in it any more")
    if _QUOTA.search(answer):
        way_out = (
            f"raise the ResourceQuota, or free resources that it counts; the operator retries every {QUOTA_PAUSE:.0f} s"
        )
        return _refused(answer, what, QUOTA_EXCEEDED, way_out, final=final)
    if _ADMISSION.search(answer):
        way_out = "change that policy, or the service; the operator retries every five minutes"
        return _refused(answer, what, "AdmissionRefused", way_out, final=final)
    if _RIGHTS.search(answer):
        return Unavailable("Forbidden", f"{answer}: {_grant_for(answer)}", after=_RIGHTS_PAUSE)
    return Unavailable("Forbidden", f"{what}: {answer}", after=_RIGHTS_PAUSE)


def _grant_for(answer: str) -> str:
    """What grants the permission that is missing."""
    if _OF_DOWNLOADS.search(answer):
        return _DOWNLOADS
    if _OF_BASELINE_PODS.search(answer):
        return _CONTROL
    if _OF_DIAL.search(answer):
        return _DIAL
    return "grant the permission (manifests/operator/rbac.yaml, or the Helm chart)"


def _refused(answer: str, what: str, reason: str, way_out: str, *, final: bool) -> OperatorError:
    if final:
        return Invalid(what, "denied", f"{answer}: {way_out}", reason=reason)
    return Unavailable(reason, f"{what}: {answer}: {way_out}", after=QUOTA_PAUSE)
