"""Denials with Kubernetes' messages, as a real API server returns them (tests/wire/test_denials.py)."""

import pytest

from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.kube.denial import denial

QUOTA = 'inferenceservices "llama" is forbidden: exceeded quota: few, requested: n=1, used: n=1, limited: n=1'
WEBHOOK = 'admission webhook "isvc.example.com" denied the request: not on a Friday'
POLICY = "inferenceservices \"llama\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
LIMIT = 'persistentvolumeclaims "m" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi'
RIGHTS = 'inferenceservices "llama" is forbidden: User "op" cannot patch resource "inferenceservices" in API group "x"'
CLAIMS = (
    'persistentvolumeclaims "m" is forbidden: User "op" cannot patch resource "persistentvolumeclaims" in API group ""'
)
JOBS = 'jobs.batch is forbidden: User "op" cannot create resource "jobs" in API group "batch" in the namespace "team-a"'
BASELINE = (
    'deployments.apps "llama-predictor" is forbidden: User "op" cannot get resource "deployments" in API group "apps"'
)
DIAL = 'pods "llama-0" is forbidden: User "op" cannot patch resource "pods" in API group "" in the namespace "team-a"'
ENDING = "unable to create new content in namespace team-a because it is being terminated"


@pytest.mark.parametrize(
    ("answer", "kind", "reason", "way_out"),
    [
        (QUOTA, Invalid, "QuotaExceeded", "raise the ResourceQuota"),
        (WEBHOOK, Invalid, "AdmissionRefused", "change that policy"),
        (POLICY, Invalid, "AdmissionRefused", "change that policy"),
        (LIMIT, Invalid, "AdmissionRefused", "change that policy"),
        (RIGHTS, Unavailable, "Forbidden", "manifests/operator/rbac.yaml"),
        (CLAIMS, Unavailable, "Forbidden", "kubectl apply -k manifests/downloads"),
        (JOBS, Unavailable, "Forbidden", "rbac.downloads=true"),
        (BASELINE, Unavailable, "Forbidden", "NAMESPACE/NAME of this service to rbac.controlServices"),
        (DIAL, Unavailable, "Forbidden", "can limit to one annotation"),
        (ENDING, Unavailable, "NamespaceTerminating", "no object can be created in it"),
        ("no", Unavailable, "Forbidden", "InferenceService llama: no"),
    ],
)
def test_each_denial_has_its_reason_and_its_way_out(answer: str, kind: type, reason: str, way_out: str) -> None:
    """Only missing rights are called missing rights."""
    error = denial(answer, "InferenceService llama", final=True)
    assert (type(error), error.reason) == (kind, reason)
    assert answer in error.message
    assert way_out in error.message


@pytest.mark.parametrize(("answer", "seconds"), [(RIGHTS, 60), (QUOTA, 30), (WEBHOOK, 30), (ENDING, 0)])
def test_what_no_spec_fixes_is_retried_after_its_own_time(answer: str, seconds: float) -> None:
    """An Event or a status that admission refuses is not an error of the service."""
    error = denial(answer, "Event llama.1", final=False)
    assert isinstance(error, Unavailable)
    assert error.after == seconds
